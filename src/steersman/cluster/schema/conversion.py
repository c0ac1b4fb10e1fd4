"""Conversion between the served versions of one resource.

Two resources are served under two names: autoscalers (autoscaling/v1 and v2, stored as v2) and events
(v1 and events.k8s.io/v1, stored as v1). What a version cannot express travels in annotations, so nothing
is lost on the way there and back. The registry converts on decoding, and again on answering.
Everything here takes and gives objects in normal form and leaves its argument alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

from steersman.cluster.schema.decode import decode_type
from steersman.cluster.schema.defaults.autoscaling import ROUND_TRIP, cpu_utilization_metric
from steersman.cluster.schema.errors import DecodeError
from steersman.objects.kinds import Object

__all__ = ["convert", "from_storage", "to_storage"]


_STORED_AS: Final = {
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): ("autoscaling", "v2"),
    ("events.k8s.io", "v1", "Event"): ("", "v1"),
}


def to_storage(group: str, version: str, kind: str, obj: Object) -> Object:
    """An object as it is stored; the object itself where this version is the stored one."""
    stored = _STORED_AS.get((group, version, kind))
    return obj if stored is None else convert(obj, group, version, kind, *stored)


def from_storage(group: str, version: str, kind: str, obj: Object) -> Object:
    """A stored object as this version shows it."""
    stored = _STORED_AS.get((group, version, kind))
    return obj if stored is None else convert(obj, *stored, kind, group, version)


def convert(
    obj: Object, group_from: str, version_from: str, kind: str, group_to: str, version_to: str
) -> Object:
    """An object in another version of its resource; the object itself if that is the version it has."""
    if (group_from, version_from) == (group_to, version_to):
        return obj
    step = _STEPS[kind, (group_from, version_from), (group_to, version_to)]
    return step(obj) | {"apiVersion": f"{group_to}/{version_to}" if group_to else version_to}


# --- Events

_EVENT_NAMES: Final = {
    "involvedObject": "regarding",
    "source": "deprecatedSource",
    "message": "note",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_EVENT_NAMES: Final = {new: old for old, new in _EVENT_NAMES.items()}
#: v1 always writes these, events.k8s.io/v1 only where they say something.
_REPORTING: Final = ("reportingController", "reportingInstance")


def _event_to_new(event: Object) -> Object:
    new = {_EVENT_NAMES.get(key, key): value for key, value in event.items()}
    for key in _REPORTING:
        if not new.get(key):
            new.pop(key, None)
    if (series := event.get("series")) is not None:
        new["series"] = {"count": 0, "lastObservedTime": None} | series
    return new


def _event_to_core(event: Object) -> Object:
    core = {_CORE_EVENT_NAMES.get(key, key): value for key, value in event.items()}
    core = {"reportingComponent": "", "reportingInstance": ""} | core
    if (series := event.get("series")) is not None:
        core["series"] = {key: value for key, value in series.items() if key != "count" or value}
    return core


# --- Autoscalers

#: Where v1 keeps what only v2 has a field for.
_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT_METRICS: Final = "autoscaling.alpha.kubernetes.io/current-metrics"
_CONDITIONS: Final = "autoscaling.alpha.kubernetes.io/conditions"
_BEHAVIOR: Final = "autoscaling.alpha.kubernetes.io/behavior"

#: Kind of metric → rows of v1 field, v2 path, and what v1 writes where there is no value (None: nothing).
#: The order is that of the annotation's text.
_Rows = tuple[tuple[str, tuple[str, ...], Any], ...]
_SOURCES: Final[dict[str, _Rows]] = {
    "object": (
        ("target", ("describedObject",), None),
        ("metricName", ("metric", "name"), ""),
        ("targetValue", ("target", "value"), "0"),
        ("selector", ("metric", "selector"), None),
        ("averageValue", ("target", "averageValue"), None),
    ),
    "pods": (
        ("metricName", ("metric", "name"), ""),
        ("targetAverageValue", ("target", "averageValue"), "0"),
        ("selector", ("metric", "selector"), None),
    ),
    "resource": (
        ("name", ("name",), ""),
        ("targetAverageUtilization", ("target", "averageUtilization"), None),
        ("targetAverageValue", ("target", "averageValue"), None),
    ),
    "containerResource": (
        ("name", ("name",), ""),
        ("targetAverageUtilization", ("target", "averageUtilization"), None),
        ("targetAverageValue", ("target", "averageValue"), None),
        ("container", ("container",), ""),
    ),
    "external": (
        ("metricName", ("metric", "name"), ""),
        ("metricSelector", ("metric", "selector"), None),
        ("targetValue", ("target", "value"), None),
        ("targetAverageValue", ("target", "averageValue"), None),
    ),
}
_STATUSES: Final[dict[str, _Rows]] = {
    "object": (
        ("target", ("describedObject",), None),
        ("metricName", ("metric", "name"), ""),
        ("currentValue", ("current", "value"), "0"),
        ("selector", ("metric", "selector"), None),
        ("averageValue", ("current", "averageValue"), None),
    ),
    "pods": (
        ("metricName", ("metric", "name"), ""),
        ("currentAverageValue", ("current", "averageValue"), "0"),
        ("selector", ("metric", "selector"), None),
    ),
    "resource": (
        ("name", ("name",), ""),
        ("currentAverageUtilization", ("current", "averageUtilization"), None),
        ("currentAverageValue", ("current", "averageValue"), "0"),
    ),
    "containerResource": (
        ("name", ("name",), ""),
        ("currentAverageUtilization", ("current", "averageUtilization"), None),
        ("currentAverageValue", ("current", "averageValue"), "0"),
        ("container", ("container",), ""),
    ),
    "external": (
        ("metricName", ("metric", "name"), ""),
        ("metricSelector", ("metric", "selector"), None),
        ("currentValue", ("current", "value"), "0"),
        ("currentAverageValue", ("current", "averageValue"), None),
    ),
}
#: The annotation spells behavior as Go's internal type, which has no JSON names.
_RULES: Final = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_POLICY: Final = ("Type", "Value", "PeriodSeconds")
_REFERENCE: Final = ("kind", "name", "apiVersion")
_CONDITION: Final = ("type", "status", "lastTransitionTime", "reason", "message", "observedGeneration")


def _at(obj: Object, path: tuple[str, ...]) -> Any:
    value: Any = obj
    for key in path:
        value = value.get(key) if value is not None else None
    return value


def _metric_to_v1(metric: Object, tables: dict[str, _Rows]) -> Object:
    written: Object = {"type": metric.get("type", "")}
    # In the order of v1's fields.
    for kind in ("object", "pods", "resource", "containerResource", "external"):
        if (source := metric.get(kind)) is None:
            continue
        fields: Object = {}
        for name, path, empty in tables[kind]:
            value = _at(source, path)
            if name == "target":
                value = {key: value[key] for key in _REFERENCE if key in value}
            if value is None:
                value = empty
            if value is not None:
                fields[name] = value
        written[kind] = fields
    return written


def _metric_to_v2(metric: Object, tables: dict[str, _Rows]) -> Object:
    read: Object = {"type": metric.get("type", "")}
    for kind, rows in tables.items():
        if (fields := metric.get(kind)) is None:
            continue
        source: Object = {}
        for name, path, empty in rows:
            value = fields.get(name, empty)
            if value is None:
                continue
            holder = source.setdefault(path[0], {}) if len(path) == 2 else source
            holder[path[-1]] = value
        if tables is _SOURCES:
            _settle_target(kind, source.setdefault("target", {}))
        read[kind] = source
    return read


def _settle_target(kind: str, target: Object) -> None:
    """v1 tells by which field is set what v2 also says by type."""
    average = target.get("averageValue") is not None
    if kind in ("resource", "containerResource"):
        target["type"] = "AverageValue" if target.get("averageUtilization") is None else "Utilization"
    elif kind == "pods":
        target["type"] = "AverageValue"
    elif kind == "external":
        target["type"] = "AverageValue" if target.get("value") is None else "Value"
    else:
        target["type"] = "AverageValue" if average else "Value"
        # v1 cannot leave the value out, so beside an average a zero means none.
        if average and target.get("value") in ("0", 0):
            del target["value"]


def _is_cpu_utilization(metric: Object) -> bool:
    resource = metric.get("resource") or {}
    return (
        metric.get("type") == "Resource"
        and resource.get("name") == "cpu"
        and _at(resource, ("target", "averageUtilization")) is not None
    )


def _text(value: Any) -> str:
    """JSON as Go writes it into an annotation: compact, and safe inside HTML."""
    text = orjson.dumps(value).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _behavior_to_v1(behavior: Object) -> Object:
    def lower(name: str) -> str:
        return name[0].lower() + name[1:]

    def rules(found: Object | None) -> Object | None:
        if found is None:
            return None
        written = {name: found.get(lower(name)) for name in _RULES}
        policies = found.get("policies")
        if policies is not None:
            written["Policies"] = [{name: item.get(lower(name)) for name in _POLICY} for item in policies]
        return written

    return {"ScaleUp": rules(behavior.get("scaleUp")), "ScaleDown": rules(behavior.get("scaleDown"))}


def _autoscaler_to_v1(autoscaler: Object) -> Object:
    spec, status, metadata = autoscaler["spec"], autoscaler["status"], autoscaler["metadata"]
    metrics = spec.get("metrics") or []
    cpu = [metric for metric in metrics if _is_cpu_utilization(metric)]
    other = [_metric_to_v1(metric, _SOURCES) for metric in metrics if not _is_cpu_utilization(metric)]
    current = status.get("currentMetrics") or []
    conditions = status.get("conditions") or []
    kept = {
        _METRICS: other,
        _CURRENT_METRICS: [_metric_to_v1(metric, _STATUSES) for metric in current],
        _BEHAVIOR: _behavior_to_v1(spec["behavior"]) if spec.get("behavior") is not None else None,
        _CONDITIONS: [{key: item[key] for key in _CONDITION if key in item} for item in conditions],
    }
    annotations = {key: _text(value) for key, value in kept.items() if value}
    new_spec = {key: value for key, value in spec.items() if key not in ("metrics", "behavior")}
    if cpu:
        new_spec["targetCPUUtilizationPercentage"] = cpu[0]["resource"]["target"]["averageUtilization"]
    new_status = {k: v for k, v in status.items() if k not in ("currentMetrics", "conditions")}
    new_status.setdefault("currentReplicas", 0)
    for metric in current:
        resource = metric.get("resource") or {}
        percent = _at(resource, ("current", "averageUtilization"))
        if metric.get("type") == "Resource" and resource.get("name") == "cpu" and percent is not None:
            new_status["currentCPUUtilizationPercentage"] = percent
    return autoscaler | {
        "metadata": _with_annotations(metadata, annotations),
        "spec": new_spec,
        "status": new_status,
    }


def _with_annotations(metadata: Object, more: dict[str, str]) -> Object:
    """Metadata whose round-trip annotations are exactly these."""
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in ROUND_TRIP}
    annotations |= more
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    return rest | {"annotations": annotations} if annotations else rest


def _annotated(annotations: Object, key: str, type_name: str, read: Callable[[Any], Any]) -> list[Any] | None:
    """What an annotation holds, as v2 values. One that does not parse is treated as absent."""
    if key not in annotations:
        return None
    try:
        found = orjson.loads(annotations[key])
        return [decode_type(f"io.k8s.api.autoscaling.v2.{type_name}", read(item)).obj for item in found or ()]
    except (orjson.JSONDecodeError, DecodeError, AttributeError, KeyError, TypeError):
        return None


def _lowered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: _lowered(item) for key, item in value.items()}
    return [_lowered(item) for item in value] if isinstance(value, list) else value


def _autoscaler_to_v2(autoscaler: Object) -> Object:
    spec, status, metadata = dict(autoscaler["spec"]), dict(autoscaler["status"]), autoscaler["metadata"]
    annotations = metadata.get("annotations") or {}
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    metrics = [] if percent is None else [cpu_utilization_metric(percent)]
    more = _annotated(annotations, _METRICS, "MetricSpec", lambda item: _metric_to_v2(item, _SOURCES))
    spec["metrics"] = [*(more or ()), *metrics] or [cpu_utilization_metric()]
    behavior = _annotated(
        {_BEHAVIOR: f"[{annotations[_BEHAVIOR]}]"} if _BEHAVIOR in annotations else {},
        _BEHAVIOR,
        "HorizontalPodAutoscalerBehavior",
        _lowered,
    )
    if behavior and behavior[0]:
        spec["behavior"] = behavior[0]
    percent = status.pop("currentCPUUtilizationPercentage", None)
    status["currentMetrics"] = None
    if percent is not None:
        current = {"name": "cpu", "current": {"averageUtilization": percent}}
        status["currentMetrics"] = [{"type": "Resource", "resource": current}]
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    current_metrics = _annotated(
        annotations, _CURRENT_METRICS, "MetricStatus", lambda item: _metric_to_v2(item, _STATUSES)
    )
    if current_metrics is not None:
        status["currentMetrics"] = current_metrics
    conditions = _annotated(annotations, _CONDITIONS, "HorizontalPodAutoscalerCondition", lambda item: item)
    if conditions:
        status["conditions"] = conditions
    return autoscaler | {"metadata": _with_annotations(metadata, {}), "spec": spec, "status": status}


_STEPS: Final[dict[tuple[str, tuple[str, str], tuple[str, str]], Callable[[Object], Object]]] = {
    ("Event", ("", "v1"), ("events.k8s.io", "v1")): _event_to_new,
    ("Event", ("events.k8s.io", "v1"), ("", "v1")): _event_to_core,
    ("HorizontalPodAutoscaler", ("autoscaling", "v2"), ("autoscaling", "v1")): _autoscaler_to_v1,
    ("HorizontalPodAutoscaler", ("autoscaling", "v1"), ("autoscaling", "v2")): _autoscaler_to_v2,
}
