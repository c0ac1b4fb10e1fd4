"""Which ReplicaSet is which."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.deployment import revisions
from tests.unit.cluster.controllers.deployment.rollouts import deployment, replica_set, template


def test_the_new_set_is_the_oldest_with_the_same_template() -> None:
    sets = [
        replica_set("younger", 1, image="new", age_s=1),
        replica_set("older", 1, image="new", age_s=2),
        replica_set("other", 1, age_s=3),
    ]
    found = revisions.find_new(deployment(), sets)
    assert found is sets[1]
    assert revisions.find_new(deployment(), sets[2:]) is None


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        pytest.param({}, {"revision": "3"}, id="first"),
        pytest.param({"revision": "3"}, {"revision": "3"}, id="has it"),
        pytest.param({"revision": "7"}, {"revision": "7"}, id="never goes back"),
        pytest.param({"revision": "1"}, {"revision": "3", "revision-history": "1"}, id="rolled back to"),
        pytest.param(
            {"revision": "2", "revision-history": "1"},
            {"revision": "3", "revision-history": "1,2"},
            id="rolled back to again",
        ),
        pytest.param({"revision": "x"}, {"revision": "x"}, id="somebody else's words"),
    ],
)
def test_the_revision_of_the_new_set(present: dict[str, str], expected: dict[str, str]) -> None:
    annotations = revisions.annotated(replica_set("new", 1, annotations=present), deployment(), 3)
    assert annotations == {f"deployment.kubernetes.io/{key}": value for key, value in expected.items()}


def test_annotations_are_shared_but_for_the_deployments_own() -> None:
    subject = deployment()
    subject["metadata"]["annotations"] = {
        "kubernetes.io/change-cause": "because",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        revisions.REVISION: "9",
    }
    annotations = revisions.annotated(replica_set("new", 1), subject, 1)
    assert annotations == {"kubernetes.io/change-cause": "because", revisions.REVISION: "1"}


def test_a_long_history_loses_its_beginning() -> None:
    history = ",".join(map(str, range(1000, 1400)))
    annotated = revisions.annotated(
        replica_set("new", 1, annotations={"revision": "1400", "revision-history": history}),
        deployment(),
        1500,
    )
    kept = annotated["deployment.kubernetes.io/revision-history"].split(",")
    assert len(",".join(kept)) <= 2000
    assert kept[-1] == "1400"
    assert kept[0] == "1001"


def test_a_new_set_is_named_and_selected_by_its_hash() -> None:
    made = revisions.new_replica_set(deployment(minReadySeconds=5))
    hashed = made["metadata"]["labels"]["pod-template-hash"]
    assert made["metadata"]["name"] == f"web-{hashed}"
    assert made["metadata"]["ownerReferences"][0]["uid"] == "d"
    assert made["spec"]["selector"] == {"matchLabels": {"app": "web", "pod-template-hash": hashed}}
    assert made["spec"]["template"] == template(**{"pod-template-hash": hashed})
    assert made["spec"]["minReadySeconds"] == 5


def test_a_collision_makes_another_name() -> None:
    subject = deployment()
    first = revisions.new_replica_set(subject)["metadata"]["name"]
    subject["status"] = {"collisionCount": 1}
    assert revisions.new_replica_set(subject)["metadata"]["name"] != first


def test_a_long_name_is_cut() -> None:
    subject = deployment()
    subject["metadata"]["name"] = "w" * 253
    assert len(revisions.new_replica_set(subject)["metadata"]["name"]) == 253


def _old(*revisions_of: tuple[str, int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        replica_set(f"r{revision}", size, annotations={"revision": revision}, **status)
        for revision, size, status in revisions_of
    ]


@pytest.mark.parametrize(
    ("limit", "deleted"),
    [
        pytest.param(10, [], id="room"),
        pytest.param(3, ["r1"], id="the lowest revision"),
        pytest.param(1, ["r1", "r3"], id="none with pods"),
        pytest.param(0, ["r1", "r3"], id="none whose controller has not looked"),
        pytest.param(None, [], id="no limit"),
        pytest.param(2**31 - 1, [], id="limit that means none"),
    ],
)
def test_history_is_limited(limit: int | None, deleted: list[str]) -> None:
    old = _old(("10", 0, {"observedGeneration": 0}), ("3", 0, {}), ("1", 0, {}), ("2", 1, {}))
    found = revisions.history_to_delete(deployment(revisionHistoryLimit=limit), old)
    assert [one["metadata"]["name"] for one in found] == deleted


def test_the_last_but_one_revision() -> None:
    assert revisions.last_but_one(_old(("3", 0, {}), ("1", 0, {}), ("2", 0, {}))) == 2
    assert revisions.last_but_one(_old(("3", 0, {}))) == 0
