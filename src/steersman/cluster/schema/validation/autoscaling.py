"""Validation of autoscaling: what rules.txt cannot say about horizontal pod autoscalers."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.compiled import Check, compiled_check
from steersman.cluster.schema.validation.resource_names import validate_container_resource_name
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.kinds import Object

__all__ = [
    "is_lenient",
    "validate_container_resource_name",
    "validate_described_version",
    "validate_scaling_to_zero",
    "validate_source",
    "validate_target_version",
]

#: The sources of metrics, in the order in which Kubernetes looks for them.
_SOURCES: Final[dict[str, Check]] = {
    "object": compiled_check("autoscaling.v2.ObjectMetricSource"),
    "external": compiled_check("autoscaling.v2.ExternalMetricSource"),
    "pods": compiled_check("autoscaling.v2.PodsMetricSource"),
    "resource": compiled_check("autoscaling.v2.ResourceMetricSource"),
    "containerResource": compiled_check("autoscaling.v2.ContainerResourceMetricSource"),
}
_SOURCE_OF_TYPE: Final = {source[0].upper() + source[1:]: source for source in _SOURCES}
_METRIC_TYPES: Final = tuple(sorted(_SOURCE_OF_TYPE))


# --- API versions of references


def is_lenient(new: Object, old: Object | None) -> bool:
    """Whether the object replaced already had an API version that would not be accepted now."""
    metrics = ((old or {}).get("spec") or {}).get("metrics") or ()
    described = [metric["object"].get("describedObject") or {} for metric in metrics if _is_object(metric)]
    return any(_api_version(reference, Path(), True) for reference in described)


def _is_object(metric: Object) -> bool:
    return metric.get("type") == "Object" and metric.get("object") is not None


def validate_target_version(spec: Object, path: Path, old: Object | None) -> list[FieldError]:
    """What was accepted once is not looked at again while it stays as it was."""
    target = spec.get("scaleTargetRef") or {}
    before = None if old is None else old.get("scaleTargetRef") or {}
    if before is not None and all(before.get(key) == target.get(key) for key in ("apiVersion", "kind")):
        return []
    # The one kind of the core group that can be scaled.
    may_be_core = target.get("kind") == "ReplicationController"
    return _api_version(target, path.child("scaleTargetRef"), may_be_core)


def validate_described_version(reference: Object, path: Path, lenient: bool) -> list[FieldError]:
    return [] if lenient else _api_version(reference, path, True)


def _api_version(reference: Object, path: Path, may_be_core: bool) -> list[FieldError]:
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        text = f"unexpected GroupVersion string: {version}"
    elif not may_be_core and not _group(version):
        text = "apiVersion must specify API group"
    else:
        return []
    return [invalid(path.child("apiVersion"), version, text)]


def _group(version: str) -> str:
    group, slash, _ = version.partition("/")
    return group if slash else ""


# --- Metrics


def validate_scaling_to_zero(spec: Object, path: Path) -> list[FieldError]:
    """Pods that are not there have no resources to measure."""
    if spec.get("minReplicas") != 0 or any(
        metric.get("type") in ("Object", "External") for metric in spec.get("metrics") or ()
    ):
        return []
    text = "must specify at least one Object or External metric to support scaling to zero replicas"
    return [forbidden(path.child("metrics"), text)]


def validate_source(metric: Object, path: Path, lenient: bool) -> list[FieldError]:
    """One source, that of the type."""
    kind = metric.get("type", "")
    wanted = _SOURCE_OF_TYPE.get(kind)
    errors: list[FieldError] = []
    present = [source for source in _SOURCES if metric.get(source) is not None]
    if present:
        first = present[0]
        errors += _SOURCES[first](metric[first], path.child(first), lenient)
    if wanted is None:
        errors.append(not_supported(path.child("type"), kind, _METRIC_TYPES))
    elif wanted not in present:
        errors.append(required(path.child(wanted), "must populate information for the given metric source"))
    if len(present) != 1:
        text = "must populate the given metric source only"
        errors += [forbidden(path.child(source), text) for source in present if source != wanted]
    return errors
