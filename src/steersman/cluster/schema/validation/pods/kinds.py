"""The rules of the kinds that are pods or templates of them."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.pods.pod import validate_new_pod, validate_pod_update
from steersman.cluster.schema.validation.pods.status import validate_pod_status
from steersman.cluster.schema.validation.pods.subresources import (
    validate_ephemeral_containers,
    validate_resize,
)
from steersman.cluster.schema.validation.pods.template import (
    validate_controller_late,
    validate_controller_spec,
    validate_controller_status,
    validate_template_object,
)
from steersman.cluster.schema.validation.rules import Object, Rules
from steersman.objects.fields import FieldError
from steersman.objects.names import name_is_path_segment

__all__ = ["RULES"]


def _declared_name(name: str, prefix: bool) -> list[str]:
    """The name of a ReplicationController is among its declared rules, a prefix for names is not."""
    return name_is_path_segment(name, prefix) if prefix else []


def _template_update(new: Object, old: Object) -> list[FieldError]:
    return validate_template_object(new)


def _controller_update(new: Object, old: Object) -> list[FieldError]:
    return validate_controller_spec(new)


RULES: Final[dict[tuple[str, str], Rules]] = {
    ("", "Pod"): Rules(
        create=validate_new_pod,
        update=validate_pod_update,
        status=validate_pod_status,
        subresources={"ephemeralcontainers": validate_ephemeral_containers, "resize": validate_resize},
    ),
    ("", "PodTemplate"): Rules(create=validate_template_object, update=_template_update),
    ("", "ReplicationController"): Rules(
        name=_declared_name,
        create=validate_controller_spec,
        update=_controller_update,
        status=validate_controller_status,
        late=validate_controller_late,
    ),
}
