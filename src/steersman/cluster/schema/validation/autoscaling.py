"""Validation of autoscaling: horizontal pod autoscalers, in the shape of version v2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.cluster.schema.validation.resource_names import validate_container_resource_name
from steersman.cluster.schema.validation.rules import Object, Rules, invalids
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.metadata import validate_nonnegative
from steersman.objects.names import is_dns1123_label, is_path_segment_name
from steersman.objects.quantities import Quantity

__all__ = ["RULES"]

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_LONGEST_PERIOD_S: Final = 1800
_LONGEST_WINDOW_S: Final = 3600
_SELECT_POLICIES: Final = ("Disabled", "Max", "Min")
_POLICY_TYPES: Final = ("Percent", "Pods")
_TARGET_TYPES: Final = ("Utilization", "Value", "AverageValue")


def _autoscaler(obj: Object) -> list[FieldError]:
    return _spec(obj, None)


def _autoscaler_update(obj: Object, old: Object) -> list[FieldError]:
    return _spec(obj, old)


def _spec(obj: Object, old: Object | None) -> list[FieldError]:
    spec = obj.get("spec") or {}
    fewest, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    errors = []
    if fewest is not None and most < fewest:
        text = "must be greater than or equal to `minReplicas`"
        errors.append(invalid(_SPEC.child("maxReplicas"), most, text))
    errors += _scale_target(spec, (old or {}).get("spec"))
    errors += _metrics(spec, _lenient_about_objects(old))
    behavior = spec.get("behavior") or {}
    for direction in ("scaleUp", "scaleDown"):
        if behavior.get(direction) is not None:
            errors += _scaling_rules(behavior[direction], _SPEC.child("behavior", direction))
    return errors


# --- References to objects


def _scale_target(spec: Object, old: Object | None) -> list[FieldError]:
    target = spec.get("scaleTargetRef") or {}
    before = None if old is None else old.get("scaleTargetRef") or {}
    path = _SPEC.child("scaleTargetRef")
    errors = _reference(target, path)
    # What was accepted once is not looked at again while it stays as it was.
    if before is not None and all(before.get(key) == target.get(key) for key in ("apiVersion", "kind")):
        return errors
    # The one kind of the core group that can be scaled.
    may_be_core = target.get("kind") == "ReplicationController"
    return errors + _api_version(target, path, may_be_core)


def _reference(reference: Object, path: Path) -> list[FieldError]:
    errors = []
    for key in ("kind", "name"):
        value = reference.get(key, "")
        if value:
            errors += invalids(path.child(key), value, is_path_segment_name(value))
        else:
            errors.append(required(path.child(key)))
    return errors


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


def _lenient_about_objects(old: Object | None) -> bool:
    """Whether the object replaced already had an API version that would not be accepted now."""
    metrics = ((old or {}).get("spec") or {}).get("metrics") or ()
    described = [metric["object"].get("describedObject") or {} for metric in metrics if _is_object(metric)]
    return any(_api_version(reference, _SPEC, True) for reference in described)


def _is_object(metric: Object) -> bool:
    return metric.get("type") == "Object" and metric.get("object") is not None


# --- Metrics


def _metrics(spec: Object, lenient: bool) -> list[FieldError]:
    path = _SPEC.child("metrics")
    metrics = spec.get("metrics") or ()
    errors = []
    for number, metric in enumerate(metrics):
        errors += _metric(metric, lenient, path.index(number))
    # Pods that are not there have no resources to measure.
    if spec.get("minReplicas") == 0 and not any(
        metric.get("type") in ("Object", "External") for metric in metrics
    ):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden(path, text))
    return errors


def _metric(metric: Object, lenient: bool, path: Path) -> list[FieldError]:
    kind = metric.get("type", "")
    wanted = _SOURCE_OF_TYPE.get(kind)
    errors = []
    if not kind:
        errors.append(required(path.child("type"), "must specify a metric source type"))
    if wanted is None:
        errors.append(not_supported(path.child("type"), kind, _METRIC_TYPES))
    present = [source for source in _SOURCES if metric.get(source) is not None]
    if present:
        first = present[0]
        errors += _SOURCES[first](metric[first], lenient, path.child(first))
    if wanted is None:
        errors.append(not_supported(path.child("type"), kind, _METRIC_TYPES))
    elif wanted not in present:
        errors.append(required(path.child(wanted), "must populate information for the given metric source"))
    if len(present) != 1:
        text = "must populate the given metric source only"
        errors += [forbidden(path.child(source), text) for source in present if source != wanted]
    return errors


def _object_source(source: Object, lenient: bool, path: Path) -> list[FieldError]:
    described = source.get("describedObject") or {}
    errors = _reference(described, path.child("describedObject"))
    if not lenient:
        errors += _api_version(described, path.child("describedObject"), True)
    errors += _identified_target(source, path)
    target = source.get("target") or {}
    if target.get("value") is None and target.get("averageValue") is None:
        text = "must set either a target value or averageValue"
        errors.append(required(path.child("target", "averageValue"), text))
    return errors


def _external_source(source: Object, lenient: bool, path: Path) -> list[FieldError]:
    errors = _identified_target(source, path)
    target = source.get("target") or {}
    given = [target.get(key) is not None for key in ("value", "averageValue")]
    if not any(given):
        text = "must set either a target value for metric or a per-pod target"
        errors.append(required(path.child("target", "averageValue"), text))
    if all(given):
        text = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden(path.child("target", "value"), text))
    return errors


def _pods_source(source: Object, lenient: bool, path: Path) -> list[FieldError]:
    errors = _identified_target(source, path)
    if (source.get("target") or {}).get("averageValue") is None:
        text = "must specify a positive target averageValue"
        errors.append(required(path.child("target", "averageValue"), text))
    return errors


def _resource_source(source: Object, lenient: bool, path: Path) -> list[FieldError]:
    errors = [] if source.get("name") else [required(path.child("name"), "must specify a resource name")]
    return errors + _resource_target(source, path)


def _container_resource_source(source: Object, lenient: bool, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    name, container = source.get("name", ""), source.get("container", "")
    if name:
        errors += validate_container_resource_name(name, path.child("name"))
    else:
        errors.append(required(path.child("name"), "must specify a resource name"))
    if container:
        errors += invalids(path.child("container"), container, is_dns1123_label(container))
    else:
        errors.append(required(path.child("container"), "must specify a container"))
    return errors + _resource_target(source, path)


_Source = Callable[[Object, bool, Path], list[FieldError]]

#: In the order in which Kubernetes looks for them.
_SOURCES: Final[dict[str, _Source]] = {
    "object": _object_source,
    "external": _external_source,
    "pods": _pods_source,
    "resource": _resource_source,
    "containerResource": _container_resource_source,
}
_SOURCE_OF_TYPE: Final = {source[0].upper() + source[1:]: source for source in _SOURCES}
_METRIC_TYPES: Final = tuple(sorted(_SOURCE_OF_TYPE))


def _identified_target(source: Object, path: Path) -> list[FieldError]:
    name = (source.get("metric") or {}).get("name", "")
    at = path.child("metric", "name")
    errors = (
        invalids(at, name, is_path_segment_name(name))
        if name
        else [required(at, "must specify a metric name")]
    )
    return errors + _target(source.get("target") or {}, path.child("target"))


def _resource_target(source: Object, path: Path) -> list[FieldError]:
    target, at = source.get("target") or {}, path.child("target")
    errors = _target(target, at)
    given = [target.get(key) is not None for key in ("averageUtilization", "averageValue")]
    if not any(given):
        text = "must set either a target raw value or a target utilization"
        errors.append(required(at.child("averageUtilization"), text))
    if all(given):
        text = "may not set both a target raw value and a target utilization"
        errors.append(forbidden(at.child("averageValue"), text))
    return errors


def _target(target: Object, path: Path) -> list[FieldError]:
    kind = target.get("type", "")
    errors = []
    if not kind:
        errors.append(required(path.child("type"), "must specify a metric target type"))
    if kind not in _TARGET_TYPES:
        text = "must be either Utilization, Value, or AverageValue"
        errors.append(invalid(path.child("type"), kind, text))
    for key in ("value", "averageValue"):
        amount = target.get(key)
        if amount is not None and Quantity.parse(amount).sign <= 0:
            errors.append(invalid(path.child(key), amount, "must be positive"))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(invalid(path.child("averageUtilization"), utilization, "must be greater than 0"))
    return errors


# --- Behavior


def _scaling_rules(rules: Object, path: Path) -> list[FieldError]:
    window, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    errors = []
    at = path.child("stabilizationWindowSeconds")
    if window is not None and window < 0:
        errors.append(invalid(at, window, "must be greater than or equal to zero"))
    if window is not None and window > _LONGEST_WINDOW_S:
        errors.append(invalid(at, window, f"must be less than or equal to {_LONGEST_WINDOW_S}"))
    if select is not None and select not in _SELECT_POLICIES:
        errors.append(not_supported(path.child("selectPolicy"), select, _SELECT_POLICIES))
    policies = rules.get("policies") or ()
    if not policies:
        errors.append(required(path.child("policies"), "must specify at least one Policy"))
    for number, policy in enumerate(policies):
        errors += _scaling_policy(policy, path.child("policies").index(number))
    tolerance = rules.get("tolerance")
    if tolerance is not None and Quantity.parse(tolerance).sign < 0:
        errors.append(invalid(path.child("tolerance"), tolerance, "must be greater than or equal to 0"))
    return errors


def _scaling_policy(policy: Object, path: Path) -> list[FieldError]:
    kind, period = policy.get("type", ""), policy.get("periodSeconds", 0)
    errors = []
    if kind not in _POLICY_TYPES:
        errors.append(not_supported(path.child("type"), kind, _POLICY_TYPES))
    for key in ("value", "periodSeconds"):
        amount = policy.get(key, 0)
        if amount <= 0:
            errors.append(invalid(path.child(key), amount, "must be greater than zero"))
    if period > _LONGEST_PERIOD_S:
        text = f"must be less than or equal to {_LONGEST_PERIOD_S}"
        errors.append(invalid(path.child("periodSeconds"), period, text))
    return errors


# --- Declared rules and status


def _declared(obj: Object, old: Object | None) -> list[FieldError]:
    spec, before = obj.get("spec") or {}, None if old is None else old.get("spec") or {}
    errors = []
    fewest, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if fewest is not None and fewest < 0 and (before is None or before.get("minReplicas") != fewest):
        errors.append(invalid(_SPEC.child("minReplicas"), fewest, "must be greater than or equal to 0"))
    if before is None or before.get("maxReplicas", 0) != most:
        if most == 0:
            errors.append(required(_SPEC.child("maxReplicas")))
        elif most < 1:
            errors.append(invalid(_SPEC.child("maxReplicas"), most, "must be greater than or equal to 1"))
    return errors


def _autoscaler_status(obj: Object, old: Object) -> list[FieldError]:
    status = obj.get("status") or {}
    errors = []
    for number, condition in enumerate(status.get("conditions") or ()):
        path = _STATUS.child("conditions").index(number).child("observedGeneration")
        errors += validate_nonnegative(condition.get("observedGeneration", 0), path)
    for key in ("currentReplicas", "desiredReplicas"):
        errors += validate_nonnegative(status.get(key, 0), _STATUS.child(key))
    return errors


RULES: Final = {
    ("autoscaling", "HorizontalPodAutoscaler"): Rules(
        create=_autoscaler, update=_autoscaler_update, status=_autoscaler_status, late=_declared
    ),
}
