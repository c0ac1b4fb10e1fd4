"""What a ReplicaSet's status says."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.replica_status import replica_status
from tests.unit.cluster.controllers.workload_objects import NOW, ago, pod_state


def _owner(replicas: int = 3, min_ready_s: int = 0, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "rs", "generation": 4},
        "spec": {
            "replicas": replicas,
            "minReadySeconds": min_ready_s,
            "template": {"metadata": {"labels": {"app": "web", "tier": "x"}}},
        },
        "status": status,
    }


def test_pods_are_counted_by_labels_readiness_and_availability() -> None:
    full = {"app": "web", "tier": "x", "more": "y"}
    pods = [
        pod_state("a", labels=full, ready_for_s=100),
        pod_state("b", labels=full, ready_for_s=1),
        pod_state("c", labels={"app": "web"}, ready=False),
    ]
    assert replica_status(_owner(min_ready_s=10), pods, 2, None, NOW) == {
        "replicas": 3,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "terminatingReplicas": 2,
        "observedGeneration": 4,
    }


def test_nothing_is_said_about_pods_on_their_way_where_it_is_not_told() -> None:
    assert replica_status(_owner(), [], None, None, NOW) == {"replicas": 0, "observedGeneration": 4}


@pytest.mark.parametrize(
    ("active", "reason"),
    [pytest.param(2, "FailedCreate", id="too few"), pytest.param(4, "FailedDelete", id="too many")],
)
def test_a_failure_is_a_condition(active: int, reason: str) -> None:
    status = replica_status(_owner(), [pod_state()] * active, 0, "no way", NOW)
    assert status["conditions"] == [
        {
            "type": "ReplicaFailure",
            "status": "True",
            "reason": reason,
            "message": "no way",
            "lastTransitionTime": ago(0),
        }
    ]


def test_the_first_failure_stays_until_nothing_fails() -> None:
    first = [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "first"}]
    assert replica_status(_owner(conditions=first), [], 0, "second", NOW)["conditions"] == first
    assert "conditions" not in replica_status(_owner(conditions=first), [], 0, None, NOW)
