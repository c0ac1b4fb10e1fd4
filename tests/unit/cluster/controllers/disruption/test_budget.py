"""What disruption budgets allow."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.disruption.budget import (
    budget_status,
    desired_healthy,
    disrupted_pods,
    failed_status,
)
from steersman.cluster.controllers.disruption.stale_conditions import stale_after_s
from tests.unit.cluster.controllers.workload_objects import NOW, ago, pod_state

Object = dict[str, Any]


def _budget(status: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"generation": 3}, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("spec", "expected", "desired"),
    [
        pytest.param({"minAvailable": 3}, 10, 3, id="a number"),
        pytest.param({"minAvailable": "25%"}, 10, 3, id="a part, rounded up"),
        pytest.param({"maxUnavailable": 3}, 10, 7, id="but a number"),
        pytest.param({"maxUnavailable": "25%"}, 10, 7, id="but a part, rounded up"),
        pytest.param({"maxUnavailable": 30}, 10, 0, id="never less than none"),
        pytest.param({}, 10, 0, id="nothing is asked for"),
    ],
)
def test_how_many_must_stay_healthy(spec: Object, expected: int, desired: int) -> None:
    assert desired_healthy(_budget(**spec), expected) == desired


@pytest.mark.parametrize(
    ("ready", "expected", "desired", "allowed"),
    [
        pytest.param(3, 3, 2, 1, id="one"),
        pytest.param(2, 3, 2, 0, id="none"),
        pytest.param(1, 3, 2, 0, id="fewer than needed"),
        pytest.param(3, 0, 0, 0, id="pods that nobody expects"),
    ],
)
def test_how_many_may_go(ready: int, expected: int, desired: int, allowed: int) -> None:
    budget = _budget()
    pods = [pod_state(f"p{number}") for number in range(ready)]
    pods += [pod_state("going", deleting=True), pod_state("unready", ready=False)]
    status = budget_status(budget, pods, expected, desired, disrupted_pods(budget, pods, NOW), NOW)
    assert (status["disruptionsAllowed"], status["currentHealthy"]) == (allowed, ready)
    assert status["observedGeneration"] == 3
    (condition,) = status["conditions"]
    assert condition["status"] == ("True" if allowed else "False")
    again = budget_status(
        _budget(status), pods, expected, desired, disrupted_pods(budget, pods, NOW), NOW.replace(year=2027)
    )
    assert again == status


def test_pods_whose_eviction_was_allowed_do_not_count_for_two_minutes() -> None:
    listed = {"fresh": ago(30), "old": ago(121), "going": ago(30), "gone": ago(30)}
    budget = _budget({"disruptedPods": listed})
    pods = [pod_state("fresh"), pod_state("old"), pod_state("going", deleting=True)]
    disrupted = disrupted_pods(budget, pods, NOW)
    assert disrupted.pods == {"fresh": listed["fresh"]}
    assert [pod.name for pod in disrupted.kept] == ["old"]
    assert disrupted.recheck_s == 90
    assert budget_status(budget, pods, 3, 0, disrupted, NOW)["currentHealthy"] == 1


def test_a_failure_allows_nothing() -> None:
    status = failed_status(_budget({"disruptionsAllowed": 2, "currentHealthy": 4}), "no idea", NOW)
    assert (status["disruptionsAllowed"], status["currentHealthy"]) == (0, 4)
    assert (status["conditions"][0]["reason"], status["conditions"][0]["message"]) == (
        "SyncFailed",
        "no idea",
    )


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param({}, 70, id="not yet"),
        pytest.param({"age_s": 500}, 0, id="by now"),
        pytest.param({"status": "False"}, None, id="taken back"),
        pytest.param({"reason": "TerminationByKubelet"}, None, id="by its node"),
        pytest.param({"phase": "Failed"}, None, id="ended"),
        pytest.param({"deleting": True}, None, id="it goes"),
    ],
)
def test_when_a_disruption_did_not_happen(pod: Object, expected: float | None) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": pod.get("status", "True"),
        "reason": pod.get("reason", "x"),
        "lastTransitionTime": ago(pod.get("age_s", 50)),
    }
    metadata = {"deletionTimestamp": ago(0)} if pod.get("deleting") else {}
    status = {"phase": pod.get("phase", "Running"), "conditions": [condition]}
    assert stale_after_s({"metadata": metadata, "status": status}, NOW) == expected
