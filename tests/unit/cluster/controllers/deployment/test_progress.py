"""What a Deployment's status says."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.deployment import progress
from tests.unit.cluster.controllers.deployment.rollouts import deployment, replica_set
from tests.unit.cluster.controllers.workload_objects import NOW, ago

Object = dict[str, Any]


def _condition(reason: str, value: str = "True", age_s: float = 10) -> Object:
    return {
        "type": "Progressing",
        "status": value,
        "reason": reason,
        "message": "",
        "lastUpdateTime": ago(age_s),
        "lastTransitionTime": ago(1000),
    }


def _told(status: Object, kind: str = "Progressing") -> tuple[str, str, str]:
    [condition] = [one for one in status["conditions"] if one["type"] == kind]
    return condition["status"], condition["reason"], condition["message"]


def test_replicas_are_added_up() -> None:
    old = replica_set("old", 4, 3, readyReplicas=3, terminatingReplicas=1)
    new = replica_set("new", 6, 2, readyReplicas=2, terminatingReplicas=0)
    status = progress.counted(deployment(10, 0, 2), [old, new], new, NOW)
    status.pop("conditions")
    assert status == {
        "observedGeneration": 2,
        "replicas": 10,
        "updatedReplicas": 6,
        "readyReplicas": 5,
        "availableReplicas": 5,
        "unavailableReplicas": 5,
        "terminatingReplicas": 1,
    }


def test_pods_on_their_way_are_not_told_if_a_set_does_not_tell() -> None:
    assert "terminatingReplicas" not in progress.counted(deployment(), [replica_set("a", 1)], None, NOW)
    unseen = replica_set("a", 1, observedGeneration=0)
    assert progress.counted(deployment(), [unseen], None, NOW)["terminatingReplicas"] == 0


@pytest.mark.parametrize(
    ("available", "told"),
    [
        pytest.param(
            8, ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."), id="enough"
        ),
        pytest.param(
            7,
            ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
            id="too few",
        ),
    ],
)
def test_minimum_availability(available: int, told: tuple[str, str, str]) -> None:
    new = replica_set("new", 10, available)
    assert _told(progress.counted(deployment(10, 0, 2), [new], new, NOW), "Available") == told


@pytest.mark.parametrize(
    ("before", "size", "available", "told"),
    [
        pytest.param(
            {},
            10,
            10,
            ("True", "NewReplicaSetAvailable", 'ReplicaSet "new" has successfully progressed.'),
            id="complete",
        ),
        pytest.param(
            {"updatedReplicas": 10, "availableReplicas": 4, "replicas": 10},
            10,
            5,
            ("True", "ReplicaSetUpdated", 'ReplicaSet "new" is progressing.'),
            id="one more available",
        ),
        pytest.param(
            {
                "updatedReplicas": 10,
                "availableReplicas": 5,
                "replicas": 10,
                "conditions": [_condition("X", age_s=700)],
            },
            10,
            5,
            ("False", "ProgressDeadlineExceeded", 'ReplicaSet "new" has timed out progressing.'),
            id="too long without progress",
        ),
        pytest.param(
            {
                "updatedReplicas": 10,
                "availableReplicas": 5,
                "replicas": 10,
                "conditions": [_condition("X", age_s=500)],
            },
            10,
            5,
            ("True", "X", ""),
            id="not too long yet",
        ),
        pytest.param(
            {
                "updatedReplicas": 10,
                "availableReplicas": 9,
                "replicas": 10,
                "conditions": [_condition("NewReplicaSetAvailable", age_s=9000)],
            },
            10,
            5,
            ("True", "NewReplicaSetAvailable", ""),
            id="pods that fail after the rollout are no rollout",
        ),
        pytest.param(
            {
                "updatedReplicas": 10,
                "availableReplicas": 5,
                "replicas": 12,
                "conditions": [_condition("ProgressDeadlineExceeded", "False", 9000)],
            },
            10,
            5,
            ("True", "ReplicaSetUpdated", 'ReplicaSet "new" is progressing.'),
            id="progress after all",
        ),
    ],
)
def test_progress(before: Object, size: int, available: int, told: tuple[str, str, str]) -> None:
    subject = {**deployment(10), "status": before}
    new = replica_set("new", size, available)
    assert _told(progress.rolled_out(subject, [new], new, NOW)) == told


def test_every_step_moves_the_update_time_but_not_the_transition_time() -> None:
    subject = {**deployment(10), "status": {"conditions": [_condition("ReplicaSetUpdated", age_s=100)]}}
    new = replica_set("new", 10, 5)
    [_, condition] = progress.rolled_out(subject, [new], new, NOW)["conditions"]
    assert (condition["lastUpdateTime"], condition["lastTransitionTime"]) == (ago(0), ago(1000))


def test_without_a_deadline_nothing_is_said_about_progress() -> None:
    subject = deployment(10, progressDeadlineSeconds=2**31 - 1)
    subject["status"] = {"conditions": [_condition("ReplicaSetUpdated")]}
    status = progress.rolled_out(subject, [], None, NOW)
    assert [condition["type"] for condition in status["conditions"]] == ["Available"]


def test_failures_of_the_new_set_go_before_those_of_old_ones() -> None:
    def failing(name: str) -> Object:
        failure = {
            "type": "ReplicaFailure",
            "status": "True",
            "reason": "FailedCreate",
            "message": name,
            "lastTransitionTime": ago(5),
        }
        return replica_set(name, 1, 0, conditions=[failure])

    old, new = failing("old"), failing("new")
    status = progress.rolled_out(deployment(10), [old, new], new, NOW)
    assert _told(status, "ReplicaFailure") == ("True", "FailedCreate", "new")
    healed = progress.rolled_out({**deployment(10), "status": status}, [replica_set("new", 10)], None, NOW)
    assert "ReplicaFailure" not in {condition["type"] for condition in healed["conditions"]}


@pytest.mark.parametrize(
    ("paused", "before", "reason"),
    [
        pytest.param(True, "ReplicaSetUpdated", "DeploymentPaused", id="paused"),
        pytest.param(True, "DeploymentPaused", "DeploymentPaused", id="still paused"),
        pytest.param(False, "DeploymentPaused", "DeploymentResumed", id="resumed"),
        pytest.param(True, "ProgressDeadlineExceeded", "ProgressDeadlineExceeded", id="a timeout stays"),
        pytest.param(False, "ReplicaSetUpdated", "ReplicaSetUpdated", id="never paused"),
    ],
)
def test_pausing(paused: bool, before: str, reason: str) -> None:
    subject = deployment(paused=paused)
    subject["status"] = {"conditions": [_condition(before, "Unknown")]}
    assert _told(progress.pausing(subject, NOW))[1] == reason


@pytest.mark.parametrize(
    ("reason", "age_s", "expected"),
    [
        pytest.param("ReplicaSetUpdated", 100, 501, id="when the deadline is over"),
        pytest.param("ReplicaSetUpdated", 900, 1, id="at once"),
        pytest.param("ProgressDeadlineExceeded", 100, None, id="it was"),
    ],
)
def test_the_deadline_is_looked_at_in_time(reason: str, age_s: float, expected: float | None) -> None:
    status = {"conditions": [_condition(reason, age_s=age_s)]}
    assert progress.progress_check_s(deployment(), status, NOW) == expected


def test_a_complete_rollout_has_no_deadline() -> None:
    new = replica_set("new", 10)
    status = progress.rolled_out(deployment(10), [new], new, NOW)
    assert progress.is_complete(deployment(10), status)
    assert progress.progress_check_s(deployment(10), status, NOW) is None
