"""How fast autoscalers may change a size."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from steersman.cluster.controllers.autoscaling.limits import ScaleHistory, limit
from tests.unit.cluster.controllers.workload_objects import NOW

Object = dict[str, Any]


def _spec(**spec: Any) -> Object:
    return {"minReplicas": 2, "maxReplicas": 20, **spec}


def _policies(*policies: tuple[str, int], choice: str = "Max", window_s: int = 0) -> Object:
    return {
        "selectPolicy": choice,
        "stabilizationWindowSeconds": window_s,
        "policies": [{"type": kind, "value": value, "periodSeconds": 60} for kind, value in policies],
    }


@pytest.mark.parametrize(
    ("current", "desired", "replicas", "reason"),
    [
        pytest.param(5, 6, 6, "DesiredWithinRange", id="within"),
        pytest.param(5, 1, 2, "TooFewReplicas", id="too few"),
        pytest.param(5, 15, 10, "ScaleUpLimit", id="at most doubled"),
        pytest.param(1, 15, 4, "ScaleUpLimit", id="or four"),
        pytest.param(15, 25, 20, "TooManyReplicas", id="too many"),
    ],
)
def test_without_policies(current: int, desired: int, replicas: int, reason: str) -> None:
    limited = limit(_spec(), ScaleHistory(), current, desired, NOW)
    assert (limited.replicas, limited.reason[0]) == (replicas, reason)
    assert limited.limited is (reason != "DesiredWithinRange")
    assert limited.stabilized[0] == "ReadyForNewScale"


@pytest.mark.parametrize(
    ("rules", "current", "desired", "replicas", "reason"),
    [
        pytest.param({"scaleUp": _policies(("Pods", 3))}, 5, 15, 8, "ScaleUpLimit", id="pods"),
        pytest.param({"scaleUp": _policies(("Percent", 50))}, 5, 15, 8, "ScaleUpLimit", id="rounded up"),
        pytest.param(
            {"scaleUp": _policies(("Pods", 3), ("Percent", 100))}, 5, 15, 10, "ScaleUpLimit", id="the most"
        ),
        pytest.param(
            {"scaleUp": _policies(("Pods", 3), ("Percent", 100), choice="Min")},
            5,
            15,
            8,
            "ScaleUpLimit",
            id="the least",
        ),
        pytest.param(
            {"scaleUp": _policies(("Pods", 3), choice="Disabled")}, 5, 15, 5, "ScaleUpLimit", id="not at all"
        ),
        pytest.param({"scaleUp": _policies(("Pods", 50))}, 5, 25, 20, "TooManyReplicas", id="too many"),
        pytest.param({"scaleDown": _policies(("Pods", 3))}, 15, 4, 12, "ScaleDownLimit", id="down by pods"),
        pytest.param(
            {"scaleDown": _policies(("Percent", 50))}, 15, 4, 7, "ScaleDownLimit", id="down, rounded down"
        ),
        pytest.param(
            {"scaleDown": _policies(("Pods", 3), ("Percent", 50), choice="Min")},
            15,
            4,
            12,
            "ScaleDownLimit",
            id="down by the least",
        ),
        pytest.param({"scaleDown": _policies(("Pods", 50))}, 15, 1, 2, "TooFewReplicas", id="too few"),
        pytest.param({"scaleDown": _policies(("Pods", 50))}, 15, 4, 4, "DesiredWithinRange", id="within"),
    ],
)
def test_with_policies(rules: Object, current: int, desired: int, replicas: int, reason: str) -> None:
    behavior = {"scaleUp": _policies(("Pods", 4)), "scaleDown": _policies(("Percent", 100)), **rules}
    limited = limit(_spec(behavior=behavior), ScaleHistory(), current, desired, NOW)
    assert (limited.replicas, limited.reason[0]) == (replicas, reason)


def test_what_was_done_lately_counts() -> None:
    behavior = {"scaleUp": _policies(("Pods", 4)), "scaleDown": _policies(("Percent", 100))}
    history = ScaleHistory()
    history.scaled(behavior, 5, 8, NOW - timedelta(seconds=30))
    assert limit(_spec(behavior=behavior), history, 8, 15, NOW).replicas == 9
    assert limit(_spec(behavior=behavior), history, 8, 15, NOW + timedelta(seconds=31)).replicas == 12


def test_a_high_recommendation_holds_for_a_while() -> None:
    history = ScaleHistory()
    history.begin(8, NOW - timedelta(seconds=200))
    limited = limit(_spec(), history, 8, 3, NOW)
    assert limited.replicas == 8
    assert limited.stabilized[0] == "ScaleDownStabilized"
    assert limit(_spec(), history, 8, 3, NOW + timedelta(seconds=200)).replicas == 3


def test_a_low_recommendation_can_hold_too() -> None:
    behavior = {"scaleUp": _policies(("Pods", 40), window_s=60), "scaleDown": _policies(("Pods", 40))}
    history = ScaleHistory()
    history.begin(5, NOW - timedelta(seconds=30))
    limited = limit(_spec(behavior=behavior), history, 5, 15, NOW)
    assert (limited.replicas, limited.stabilized[0]) == (5, "ScaleUpStabilized")
    later = limit(_spec(behavior=behavior), history, 5, 15, NOW + timedelta(seconds=31))
    assert later.replicas == 15
