"""Who goes first: each rule alone, and the rules against each other."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from steersman.cluster.controllers.deletion_order import DELETION_COST, first_to_go
from steersman.cluster.controllers.pod_states import PodState
from tests.unit.cluster.controllers.workload_objects import NOW, pod_state

_SIDECAR = {"initContainers": [{"name": "c", "restartPolicy": "Always"}]}


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        pytest.param({"node": "", "phase": "Pending", "ready": False}, {}, id="no node"),
        pytest.param({"phase": "Pending"}, {}, id="pending"),
        pytest.param({"phase": "Unknown"}, {}, id="unknown"),
        pytest.param({"ready": False}, {}, id="not ready"),
        pytest.param({"annotations": {DELETION_COST: "-1"}}, {}, id="cheaper than nothing said"),
        pytest.param({}, {"annotations": {DELETION_COST: "10"}}, id="the other is dear"),
        pytest.param(
            {"annotations": {DELETION_COST: "1"}, "ready_for_s": 5000},
            {"annotations": {DELETION_COST: "2"}, "ready_for_s": 1},
            id="cost before time",
        ),
        pytest.param(
            {"annotations": {DELETION_COST: "+05"}, "ready_for_s": 1},
            {"ready_for_s": 5000},
            id="a cost that is none counts as 0",
        ),
        pytest.param({"ready_for_s": 10}, {"ready_for_s": 1000}, id="ready for less time"),
        pytest.param({"restarts": 3}, {"restarts": 1}, id="more restarts"),
        pytest.param({"age_s": 10, "ready_for_s": 5}, {"age_s": 5000, "ready_for_s": 5}, id="younger"),
        pytest.param({"ready": False, "annotations": {DELETION_COST: "9"}}, {}, id="not ready before cost"),
    ],
)
def test_the_first_difference_decides(goes: dict[str, Any], stays: dict[str, Any]) -> None:
    first, second = pod_state("zz", **goes), pod_state("aa", **stays)
    for pods in ([first, second], [second, first]):
        assert first_to_go(pods, 1, (), NOW) == [first]


def test_the_crowded_node_is_relieved_first() -> None:
    crowded = [pod_state("a", node="n1"), pod_state("b", node="n1")]
    alone = pod_state("c", node="n2", ready_for_s=1)
    others = [pod_state("other", node="n1"), pod_state("gone", node="n2", deleting=True)]
    assert alone not in first_to_go([alone, *crowded], 2, [alone, *crowded, *others], NOW)


def test_times_are_compared_by_powers_of_two_and_then_by_chance() -> None:
    nearly_alike = [
        pod_state("b", ready_for_s=1000, age_s=5000),
        pod_state("a", ready_for_s=1010, age_s=5000),
    ]
    assert first_to_go(nearly_alike, 1, (), NOW)[0].name == "a"


def test_restarts_of_sidecars_decide_when_those_of_containers_do_not() -> None:
    def with_sidecar(name: str, restarts: int) -> PodState:
        pod = pod_state(name, spec=_SIDECAR)
        restarted = pod_state(restarts=restarts).status.container_statuses
        status = msgspec.structs.replace(pod.status, init_container_statuses=restarted)
        return msgspec.structs.replace(pod, status=status)

    calm, restless = with_sidecar("a", 0), with_sidecar("b", 4)
    assert first_to_go([calm, restless], 1, (), NOW) == [restless]


def test_all_go_without_sorting_when_all_must() -> None:
    pods = [pod_state("b"), pod_state("a", ready=False)]
    assert first_to_go(pods, 2, (), NOW) == pods
