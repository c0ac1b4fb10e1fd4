"""Which daemons come and go: tables of nodes with their pods, and the changes they lead to."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from steersman.cluster.controllers.daemonset.placement import DaemonNodeState, pinned
from steersman.cluster.controllers.daemonset.rollout import (
    Changes,
    DaemonSetView,
    daemon_status,
    placed,
    updated,
)
from steersman.cluster.controllers.pod_states import PodState
from tests.unit.cluster.controllers.workload_objects import NOW, pod_state

#: One letter a pod: available, running but not ready, failed, succeeded, deleting, waiting for its node;
#: capital letters are of the old revision.
_PODS: dict[str, dict[str, Any]] = {
    "a": {},
    "r": {"ready": False},
    "f": {"phase": "Failed", "ready": False},
    "c": {"phase": "Succeeded", "ready": False},
    "d": {"deleting": True},
    "w": {"phase": "Pending", "ready": False, "node": ""},
}


def _pods(words: str) -> list[PodState]:
    """A word for each node, from n0 on, a letter for each of its pods, older first."""
    return [
        pod_state(
            f"{node}-{number}{letter}",
            labels={"controller-revision-hash": "old" if letter.isupper() else "new"},
            age_s=100 - number,
            **{
                "node": f"n{node}",
                "spec": {"affinity": pinned(None, f"n{node}")},
                **_PODS[letter.lower()],
            },
        )
        for node, word in enumerate(words.split())
        for number, letter in enumerate(word.strip("-"))
    ]


def _view(
    words: str, nodes: int | None = None, surge: int | str = 0, unavailable: int | str = 1, **more: Any
) -> DaemonSetView:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = more.get("strategy", {"type": "RollingUpdate", "rollingUpdate": rolling})
    taints: dict[int, str] = more.get("taints", {})
    daemon_set = {
        "metadata": {"name": "d"},
        "spec": {"updateStrategy": strategy, "template": {"spec": {}}},
    }
    count = len(words.split()) if nodes is None else nodes
    made = [
        msgspec.convert(
            {
                "metadata": {"name": f"n{number}"},
                "spec": {"taints": [{"key": "k", "effect": taints[number]}] if number in taints else []},
            },
            DaemonNodeState,
        )
        for number in range(count)
    ]
    return DaemonSetView(daemon_set, "new", made, _pods(words), NOW)


def _told(changes: Changes) -> str:
    """+node for pods that come, -pod for those that go."""
    return " ".join([*(f"+{node}" for node in changes.create), *(f"-{pod.name}" for pod in changes.delete)])


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        pytest.param("- -", "+n0 +n1", id="each node gets one"),
        pytest.param("a a", "", id="each has one"),
        pytest.param("r w", "", id="each has one that will run"),
        pytest.param("a d", "", id="one that goes is waited for"),
        pytest.param("aa a", "-0-1a", id="the older of two stays"),
        pytest.param("wa a", "-0-0w", id="the one with a node stays"),
        pytest.param("f a", "-0-0f", id="a failed one is replaced"),
        pytest.param("c a", "-0-0c", id="one that ended is replaced"),
    ],
)
def test_one_pod_on_each_node(words: str, changes: str) -> None:
    assert _told(placed(_view(words), lambda node: True)) == changes


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        pytest.param("A", "", id="an old one alone stays"),
        pytest.param("Ar", "", id="a new one comes up beside it"),
        pytest.param("Aa", "-0-0A", id="and replaces it when available"),
        pytest.param("Rr", "-0-0R", id="or when the old one is of no use"),
        pytest.param("AAra", "-0-3a -0-1A", id="not more than one of each"),
        pytest.param("D", "+n0", id="one that goes is replaced at once"),
    ],
)
def test_two_pods_while_surging(words: str, changes: str) -> None:
    assert _told(placed(_view(words, surge=1, unavailable=0), lambda node: True)) == changes


def test_failed_pods_are_not_replaced_before_their_time() -> None:
    changes = placed(_view("f c"), lambda node: False)
    assert _told(changes) == "-1-0c"
    assert [(pod.phase, node) for pod, node in changes.ended] == [("Succeeded", "n1")]


def test_nodes_with_taints() -> None:
    view = _view("a a - -", taints={0: "NoSchedule", 1: "NoExecute", 2: "NoSchedule"})
    assert _told(placed(view, lambda node: True)) == "+n3 -1-0a"


def test_pods_that_wait_for_a_node_that_is_gone() -> None:
    assert _told(placed(_view("a w a", nodes=1), lambda node: True)) == "-1-0w"


@pytest.mark.parametrize(
    ("words", "unavailable", "changes"),
    [
        pytest.param("A A A", 1, "-0-0A", id="one at a time"),
        pytest.param("A A A", 2, "-0-0A -1-0A", id="two at a time"),
        pytest.param("A A A", "67%", "-0-0A -1-0A -2-0A", id="a percentage, rounded up"),
        pytest.param("a A A", 1, "-1-0A", id="the next"),
        pytest.param("r A A", 1, "", id="not before the new one is available"),
        pytest.param("D A A", 1, "", id="nor while a node has none"),
        pytest.param("A R A", 1, "-1-0R", id="broken ones first"),
        pytest.param("R R A", 1, "-0-0R -1-0R", id="however many"),
        pytest.param("a a a", 1, "", id="done"),
    ],
)
def test_replacing(words: str, unavailable: int | str, changes: str) -> None:
    assert _told(updated(_view(words, unavailable=unavailable))) == changes


@pytest.mark.parametrize(
    ("words", "surge", "changes"),
    [
        pytest.param("A A A", 1, "+n0", id="one more at a time"),
        pytest.param("A A A", "50%", "+n0 +n1", id="a percentage, rounded up"),
        pytest.param("Ar A A", 1, "", id="not before it is available"),
        pytest.param("Aa A A", 1, "+n1 -0-0A", id="then the old one goes, and the next comes"),
        pytest.param("R R A", 1, "+n0 +n1 +n2", id="broken ones are replaced at once"),
    ],
)
def test_surging(words: str, surge: int | str, changes: str) -> None:
    assert _told(updated(_view(words, surge=surge, unavailable=0))) == changes


def test_on_delete_replaces_nothing() -> None:
    assert not updated(_view("A A", strategy={"type": "OnDelete"}))


def test_surging_away_from_nodes_that_are_not_wanted_any_more() -> None:
    view = _view("A a", surge=1, unavailable=0, taints={0: "NoSchedule"})
    assert _told(updated(view)) == "-0-0A"
    view = _view("A r", surge=1, unavailable=0, taints={0: "NoSchedule"})
    assert _told(updated(view)) == ""


def test_pods_of_the_same_template_generation_are_not_old() -> None:
    view = _view("A")
    view._generation = "3"
    [pod] = view.pods["n0"]
    pod.labels["pod-template-generation"] = "3"
    assert view.is_new(pod)


def test_status() -> None:
    view = _view("A r a d - a", taints={5: "NoSchedule"})
    assert daemon_status(view, {"collisionCount": 2}, 7) == {
        "currentNumberScheduled": 4,
        "numberMisscheduled": 1,
        "desiredNumberScheduled": 5,
        "numberReady": 3,
        "observedGeneration": 7,
        "updatedNumberScheduled": 3,
        "numberAvailable": 3,
        "numberUnavailable": 2,
        "collisionCount": 2,
    }
