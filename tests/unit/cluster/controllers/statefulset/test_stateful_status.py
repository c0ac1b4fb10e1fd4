"""What a StatefulSet's status says."""

from __future__ import annotations

from steersman.cluster.controllers.statefulset.status import stateful_status
from tests.unit.cluster.controllers.statefulset.sets import stateful_set
from tests.unit.cluster.controllers.workload_objects import NOW, pod_state

OLD, NEW = {"controller-revision-hash": "db-1"}, {"controller-revision-hash": "db-2"}


def test_pods_are_counted_by_revision() -> None:
    pods = [
        pod_state("db-0", labels=OLD),
        pod_state("db-1", labels=OLD, deleting=True),
        pod_state("db-2", labels=NEW, ready_for_s=1),
        pod_state("db-3", labels=NEW, ready=False, phase="Pending"),
    ]
    assert stateful_status(stateful_set(4, minReadySeconds=10), pods, "db-1", "db-2", 0, NOW) == {
        "observedGeneration": 2,
        "replicas": 4,
        "readyReplicas": 3,
        "currentReplicas": 1,
        "updatedReplicas": 2,
        "currentRevision": "db-1",
        "updateRevision": "db-2",
        "collisionCount": 0,
        "availableReplicas": 2,
    }


def test_an_update_is_complete_when_all_pods_are_new_and_ready() -> None:
    pods = [pod_state(f"db-{number}", labels=NEW) for number in range(3)]
    status = stateful_status(stateful_set(3), pods, "db-1", "db-2", 0, NOW)
    assert (status["currentRevision"], status["currentReplicas"]) == ("db-2", 3)
    status = stateful_status(stateful_set(4), pods, "db-1", "db-2", 0, NOW)
    assert status["currentRevision"] == "db-1"
