"""Validation of node.k8s.io: what rules.txt cannot say about runtime classes."""

from __future__ import annotations

from steersman.cluster.schema.validation.pods.affinity import validate_tolerations
from steersman.cluster.schema.validation.pods.internal import internal_form
from steersman.cluster.schema.validation.pods.resources import validate_container_resources
from steersman.objects.fields import FieldError, Path, duplicate
from steersman.objects.kinds import Object

__all__ = ["validate_different_tolerations", "validate_overhead"]


def validate_overhead(overhead: Object, path: Path) -> list[FieldError]:
    """Kubernetes checks it as the limits of a container, and its errors say so."""
    return validate_container_resources({"limits": overhead.get("podFixed") or {}}, (), path)


def validate_different_tolerations(tolerations: list[Object], path: Path) -> list[FieldError]:
    errors = validate_tolerations(tolerations, path)
    seen = set()
    for number, toleration in enumerate(tolerations):
        identity = tuple(toleration.get(field, "") for field in ("key", "operator", "value", "effect"))
        if identity in seen:
            errors.append(duplicate(path.index(number), internal_form("Toleration", toleration)))
        seen.add(identity)
    return errors
