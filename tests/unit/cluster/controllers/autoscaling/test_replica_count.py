"""How many replicas bring a metric to its target."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from steersman.cluster.controllers.autoscaling.replica_count import (
    Scaling,
    Tolerances,
    by_average,
    by_ratio,
    by_total,
    by_utilization,
)
from steersman.cluster.controllers.metrics_source import MetricsError, PodMetric
from tests.unit.cluster.controllers.workload_objects import NOW, ago

Object = dict[str, Any]


def _pod(number: int, phase: str = "Running", *, started_s: float = 900, ready: str = "True") -> Object:
    requests = {"resources": {"requests": {"cpu": "1"}}}
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": ago(started_s - 1)}
    return {
        "metadata": {"name": f"p{number}"},
        "spec": {"containers": [{"name": "c", **requests}]},
        "status": {"phase": phase, "startTime": ago(started_s), "conditions": [condition]},
    }


def _scaling(*pods: Object, current: int | None = None) -> Scaling:
    return Scaling(len(pods) if current is None else current, pods, Tolerances(), NOW)


def _used(*milli: int | None) -> dict[str, PodMetric]:
    return {f"p{number}": PodMetric(one, NOW) for number, one in enumerate(milli) if one is not None}


RUNNING = tuple(_pod(number) for number in range(3))


@pytest.mark.parametrize(
    ("pods", "used", "expected"),
    [
        pytest.param(RUNNING, (900, 900, 900), (6, 90, 900), id="busy"),
        pytest.param(RUNNING, (500, 500, 520), (3, 50, 506), id="within tolerance"),
        pytest.param(RUNNING, (100, 100, 100), (1, 10, 100), id="idle"),
        pytest.param(RUNNING, (900, 900, None), (4, 90, 900), id="unknown ones count as idle to grow"),
        pytest.param(RUNNING, (100, 100, None), (3, 10, 100), id="unknown ones count as busy to shrink"),
        pytest.param(
            (*RUNNING[:2], _pod(2, "Pending")), (900, 900, None), (4, 90, 900), id="pending counts as idle"
        ),
        pytest.param(
            (*RUNNING[:2], _pod(2, "Failed")), (900, 900, 900), (4, 90, 900), id="failed does not count"
        ),
        pytest.param(
            (*RUNNING[:2], _pod(2, started_s=30)), (900, 900, 2000), (4, 90, 900), id="the use of a start"
        ),
        pytest.param(
            (*RUNNING[:2], _pod(2, ready="False")), (900, 900, 2000), (4, 90, 900), id="never ready"
        ),
    ],
)
def test_by_utilization(
    pods: tuple[Object, ...], used: tuple[int | None, ...], expected: tuple[int, int, int]
) -> None:
    assert by_utilization(_scaling(*pods), _used(*used), "cpu", "", 50) == expected


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        pytest.param((30, 30, 30), (9, 30), id="busy"),
        pytest.param((10, 10, 11), (3, 10), id="within tolerance"),
        pytest.param((2, 2, None), (2, 2), id="unknown ones count as at their target"),
    ],
)
def test_by_average(used: tuple[int | None, ...], expected: tuple[int, int]) -> None:
    assert by_average(_scaling(*RUNNING), _used(*used), "", 10) == expected


@pytest.mark.parametrize(
    ("pods", "used", "container", "message"),
    [
        pytest.param((), (), "", "no pods returned by selector while calculating replica count", id="pods"),
        pytest.param(
            (_pod(0, "Pending"),),
            (500,),
            "",
            "did not receive metrics for targeted pods (pods might be unready)",
            id="metrics",
        ),
        pytest.param(RUNNING, (1,), "x", "container x not found in Pod p0", id="container"),
        pytest.param(
            ({**_pod(0), "spec": {"containers": [{"name": "c"}]}},),
            (1,),
            "",
            "missing request for cpu in container c of Pod p0",
            id="request",
        ),
    ],
)
def test_what_is_missing_is_told(
    pods: tuple[Object, ...], used: tuple[int, ...], container: str, message: str
) -> None:
    with pytest.raises(MetricsError) as caught:
        by_utilization(_scaling(*pods), _used(*used), "cpu", container, 50)
    assert str(caught.value) == message


def test_by_a_value_of_something_else() -> None:
    scaling = _scaling(*RUNNING)
    assert by_ratio(scaling, 200, 100) == 6
    assert by_ratio(scaling, 105, 100) == 3
    assert by_ratio(_scaling(current=0), 250, 100) == 3
    assert by_total(3, 50, 10, Tolerances()) == (5, 17)
    assert by_total(3, 31, 10, Tolerances()) == (3, 11)
    assert by_total(0, 31, 10, Tolerances()) == (4, 31)
    assert by_total(10, 50, 10, Tolerances(down=0.6)) == (10, 5)


def test_a_sample_from_before_a_pod_was_ready_says_nothing() -> None:
    fresh = _pod(2, started_s=100)
    metrics = _used(900, 900, 2000)
    metrics["p2"] = PodMetric(2000, NOW - timedelta(seconds=50))
    scaling = _scaling(*RUNNING[:2], fresh)
    assert by_utilization(scaling, metrics, "cpu", "", 50)[0] == 4
    metrics["p2"] = PodMetric(2000, NOW)
    assert by_utilization(scaling, metrics, "cpu", "", 50)[0] == 8
