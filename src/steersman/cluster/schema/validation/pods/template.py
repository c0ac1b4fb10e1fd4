"""Templates of pods, and the controllers that hold one."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.pods.annotations import (
    validate_pod_annotations,
    validate_profiles_match,
)
from steersman.cluster.schema.validation.pods.spec import validate_pod_spec
from steersman.objects.errors import SelectorError
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_annotations, validate_labels
from steersman.objects.selectors import LabelSelector

__all__ = [
    "selector_of",
    "validate_always_restarting",
    "validate_controller_spec",
    "validate_pod_template",
    "validate_template_labels",
]

_SPEC: Final = Path("spec")
_UNMATCHED: Final = "`selector` does not match template `labels`"


def validate_pod_template(template: Object, path: Path) -> list[FieldError]:
    metadata: Object = template.get("metadata") or {}
    spec: Object = template.get("spec") or {}
    annotations: dict[str, str] = metadata.get("annotations") or {}
    errors: list[FieldError] = []
    if labels := metadata.get("labels"):
        errors += validate_labels(labels, path.child("labels"))
    if annotations:
        errors += validate_annotations(annotations, path.child("annotations"))
        errors += validate_pod_annotations(annotations, spec, path.child("annotations"))
    here = path.child("spec")
    errors += validate_pod_spec(spec, here)
    errors += validate_profiles_match(annotations, spec, here)
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(here.child("ephemeralContainers"), text))
    return errors


def selector_of(spec: Object) -> LabelSelector | None:
    """The selector of a controller; none if it cannot be read. A missing one selects nothing."""
    try:
        return LabelSelector.from_object(spec.get("selector"))
    except SelectorError:
        return None


def validate_template_labels(selector: LabelSelector, template: Object, path: Path) -> list[FieldError]:
    """A controller must select the pods it makes."""
    labels: dict[str, str] | None = (template.get("metadata") or {}).get("labels")
    if selector.matches(labels or {}):
        return []
    shown = None if labels is None else dict(sorted(labels.items()))
    return [invalid(path.child("metadata", "labels"), shown, _UNMATCHED)]


def validate_always_restarting(template: Object, path: Path, owner: str) -> list[FieldError]:
    """Pods of a controller that keeps them running neither end nor expire."""
    spec: Object = template.get("spec") or {}
    errors: list[FieldError] = []
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        errors.append(not_supported(path.child("spec", "restartPolicy"), policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {owner} is not Supported"
        errors.append(forbidden(path.child("spec", "activeDeadlineSeconds"), text))
    return errors


# --- ReplicationController


def validate_controller_spec(obj: Object, path: Path) -> list[FieldError]:
    spec: Object = obj.get("spec") or {}
    labels: dict[str, str] = spec.get("selector") or {}
    errors: list[FieldError] = []
    if not labels:
        errors.append(required(_SPEC.child("selector")))
    template = spec.get("template")
    here = _SPEC.child("template")
    if template is None:
        return [*errors, required(here)]
    errors += validate_template_labels(LabelSelector.from_labels(labels), template, here)
    errors += validate_pod_template(template, here)
    return errors + validate_always_restarting(template, here, "ReplicationController")
