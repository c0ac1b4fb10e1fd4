"""Defaults of horizontal pod autoscalers in both served versions."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

from steersman.cluster.schema.defaults.filling import unset
from steersman.objects.kinds import Object

__all__ = ["ROUND_TRIP", "cpu_utilization_metric", "default_autoscaler_v1", "default_autoscaler_v2"]

#: Annotations in which v1 keeps what only v2 has fields for. In v2 they are noise.
ROUND_TRIP: Final = frozenset(
    f"autoscaling.alpha.kubernetes.io/{name}"
    for name in (
        "behavior",
        "conditions",
        "current-metrics",
        "metrics",
        "scale-down-tolerance",
        "scale-up-tolerance",
    )
)
_PERIOD_S: Final = 15
_BEHAVIOR: Final[dict[str, dict[str, Any]]] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": _PERIOD_S},
            {"type": "Percent", "value": 100, "periodSeconds": _PERIOD_S},
        ],
    },
    # No window: how long scaling down waits is the controller's setting unless the user gives one.
    "scaleDown": {
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": _PERIOD_S}],
    },
}


def cpu_utilization_metric(percent: int = 80) -> Object:
    """What an autoscaler without metrics watches."""
    return {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}},
    }


def default_autoscaler_v1(autoscaler: Object) -> None:
    unset(autoscaler["spec"], "minReplicas", 1)


def default_autoscaler_v2(autoscaler: Object) -> None:
    spec: Object = autoscaler["spec"]
    annotations = autoscaler["metadata"].get("annotations")
    if annotations and not ROUND_TRIP.isdisjoint(annotations):
        kept = {key: value for key, value in annotations.items() if key not in ROUND_TRIP}
        autoscaler["metadata"].pop("annotations")
        autoscaler["metadata"] |= {"annotations": kept} if kept else {}
    unset(spec, "minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = [cpu_utilization_metric()]
    if (behavior := spec.get("behavior")) is not None:
        for direction, rules in _BEHAVIOR.items():
            unset(behavior, direction, {})
            for key, value in rules.items():
                unset(behavior[direction], key, deepcopy(value))
