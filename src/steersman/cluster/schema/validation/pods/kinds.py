"""The functions that rules.txt names for the kinds that are pods or templates of them."""

from __future__ import annotations

from steersman.cluster.schema.validation.pods.pod import validate_new_pod, validate_pod_update
from steersman.cluster.schema.validation.pods.status import validate_pod_status
from steersman.cluster.schema.validation.pods.subresources import (
    validate_ephemeral_containers,
    validate_resize,
)
from steersman.cluster.schema.validation.pods.template import validate_controller_spec, validate_pod_template
from steersman.objects.fields import FieldError, Path
from steersman.objects.kinds import Object
from steersman.objects.names import name_is_path_segment

__all__ = [
    "declared_name",
    "validate_controller_spec",
    "validate_new_ephemeral_containers",
    "validate_new_pod",
    "validate_new_size",
    "validate_pod_status",
    "validate_pod_template",
    "validate_pod_update",
]


def validate_new_ephemeral_containers(pod: Object, path: Path, old: Object) -> list[FieldError]:
    return validate_ephemeral_containers(pod, old)


def validate_new_size(pod: Object, path: Path, old: Object) -> list[FieldError]:
    return validate_resize(pod, old)


def declared_name(name: str, prefix: bool) -> list[str]:
    """The name of a ReplicationController is among its declared rules, a prefix for names is not."""
    return name_is_path_segment(name, prefix) if prefix else []
