"""The table of horizontal pod autoscalers: each metric's current value against its target."""

from __future__ import annotations

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    name_of,
)
from steersman.objects.kinds import Object

__all__ = ["TABLES"]

#: Metric type → the field that holds its source, in the spec and in the status.
_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}

#: How Go prints a quantity that is not there.
_NIL = "<nil>"
_SHOWN = 2


def _autoscaler(obj: Object, now: float) -> Cells:
    target = at(obj, "spec", "scaleTargetRef", default={})
    return [
        name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _targets(*_metrics(obj)),
        str(at(obj, "spec", "minReplicas", default=UNSET)),
        at(obj, "spec", "maxReplicas", default=0),
        at(obj, "status", "currentReplicas", default=0),
        age(obj, now),
    ]


def _metrics(obj: Object) -> tuple[list[Object], list[Object]]:
    """Specs and statuses of the metrics; version v1 knows only the processor's utilization."""
    specs = at(obj, "spec", "metrics", default=[])
    statuses = at(obj, "status", "currentMetrics", default=[])
    wanted = at(obj, "spec", "targetCPUUtilizationPercentage")
    if wanted is None:
        return specs, statuses
    current = at(obj, "status", "currentCPUUtilizationPercentage")
    return [_cpu("target", wanted), *specs], (
        [_cpu("current", current), *statuses] if current is not None else statuses
    )


def _cpu(side: str, percentage: int) -> Object:
    return {"type": "Resource", "resource": {"name": "cpu", side: {"averageUtilization": percentage}}}


def _targets(specs: list[Object], statuses: list[Object]) -> str:
    if not specs:
        return NONE
    texts = [_metric(spec, statuses[i] if i < len(statuses) else {}) for i, spec in enumerate(specs)]
    more = f" + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _metric(spec: Object, status: Object) -> str:
    source = _SOURCES.get(spec.get("type", ""))
    if source is None:
        return "<unknown type>"
    target = at(spec, source, "target", default={})
    # None where the status does not speak of this metric at all.
    current = at(status, source, "current", default={}) if status.get(source) is not None else None
    average = target.get("averageValue")
    if source == "pods":
        return f"{_shown(current, 'averageValue')}/{_NIL if average is None else average}"
    if source in ("external", "object"):
        if average is not None:
            known = at(current, "averageValue", default=UNKNOWN)
            return f"{known}/{average} (avg)"
        return f"{_shown(current, 'value')}/{target.get('value', _NIL)}"
    name = at(spec, source, "name", default="")
    if average is not None:
        return f"{name}: {_shown(current, 'averageValue')}/{average}"
    return f"{name}: {_percentage(current, UNKNOWN)}/{_percentage(target, '<auto>')}"


def _shown(current: Object | None, key: str) -> str:
    return UNKNOWN if current is None else str(current.get(key, _NIL))


def _percentage(values: Object | None, otherwise: str) -> str:
    utilization = at(values, "averageUtilization")
    return otherwise if utilization is None else f"{utilization}%"


TABLES = {
    ("autoscaling", "horizontalpodautoscalers"): Table(
        (
            NAME,
            ColumnDefinition("Reference", "The object it scales."),
            ColumnDefinition("Targets", "Each metric: its value now, and the one to keep."),
            ColumnDefinition("MinPods", "The fewest pods it scales to."),
            ColumnDefinition("MaxPods", "The most pods it scales to."),
            ColumnDefinition("Replicas", "How many pods there are."),
            AGE,
        ),
        _autoscaler,
    ),
}
