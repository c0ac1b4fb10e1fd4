"""Validation of node.k8s.io: runtime classes."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.pods.affinity import validate_tolerations
from steersman.cluster.schema.validation.pods.internal import internal_form
from steersman.cluster.schema.validation.pods.resources import validate_container_resources
from steersman.cluster.schema.validation.rules import Object, Revalidation, Rules, invalids
from steersman.objects.fields import FieldError, Path, duplicate, invalid, required
from steersman.objects.metadata import validate_labels
from steersman.objects.names import is_dns1123_label, is_short_name

__all__ = ["RULES"]

_HANDLER: Final = Path("handler")
_SCHEDULING: Final = Path("scheduling")


def _runtime_class(obj: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    overhead, scheduling = obj.get("overhead"), obj.get("scheduling")
    if overhead is not None:
        # Kubernetes checks it as the limits of a container, and its errors say so.
        errors += validate_container_resources(
            {"limits": overhead.get("podFixed") or {}}, (), Path("overhead")
        )
    if scheduling is not None:
        errors += validate_labels(scheduling.get("nodeSelector") or {}, _SCHEDULING.child("nodeSelector"))
        errors += _tolerations(scheduling.get("tolerations") or [], _SCHEDULING.child("tolerations"))
    return errors


def _tolerations(tolerations: list[Object], path: Path) -> list[FieldError]:
    errors = validate_tolerations(tolerations, path)
    seen = set()
    for number, toleration in enumerate(tolerations):
        identity = tuple(toleration.get(field, "") for field in ("key", "operator", "value", "effect"))
        if identity in seen:
            errors.append(duplicate(path.index(number), internal_form("Toleration", toleration)))
        seen.add(identity)
    return errors


def _runtime_class_update(obj: Object, old: Object) -> list[FieldError]:
    """The declared rule for the handler's form is not asked about one that may not change anyway."""
    handler = obj.get("handler", "")
    if not handler or handler == old.get("handler", ""):
        return []
    return invalids(_HANDLER, handler, is_dns1123_label(handler))


def _declared(obj: Object, old: Object | None) -> list[FieldError]:
    handler = obj.get("handler", "")
    if old is not None:
        if handler == old.get("handler", ""):
            return []
        immutable = invalid(_HANDLER, None, "field is immutable")
        return [immutable] if handler else [immutable, required(_HANDLER)]
    return invalids(_HANDLER, handler, is_short_name(handler)) if handler else [required(_HANDLER)]


RULES: Final = {
    ("node.k8s.io", "RuntimeClass"): Rules(
        create=_runtime_class,
        update=_runtime_class_update,
        late=_declared,
        revalidation=Revalidation.BEFORE,
        standard_finalizers=False,
    ),
}
