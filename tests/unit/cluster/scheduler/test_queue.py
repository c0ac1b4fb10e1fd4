"""Which pod is tried when."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.scheduler.framework import ClusterEvent, EventKind, Refusal
from steersman.cluster.scheduler.model import PodInfo
from steersman.cluster.scheduler.plugins.scheduling_gates import SchedulingGates
from steersman.cluster.scheduler.queue import QueuedPodInfo, SchedulingQueue

from .worlds import a_node, a_pod

_gates = SchedulingGates()


def _queue() -> SchedulingQueue:
    """Of plugins `Fit` (helped by bigger nodes only) and `Any` (by whatever happens)."""
    hints = {
        "Fit": {
            EventKind.NODE_ALLOCATABLE: lambda pod, what: pod.labels.get("small") == "yes",
            EventKind.POD_DELETED: None,
        },
        "Any": None,
        "SchedulingGates": _gates.hints,
    }
    return SchedulingQueue(
        lambda pod, queued_at: (-pod.priority, queued_at), _gates.pre_enqueue, {"default-scheduler": hints}
    )


def _next(queue: SchedulingQueue, now: float) -> str | None:
    entry = queue.pop(now)
    return None if entry is None else entry.pod.name


def _refused(queue: SchedulingQueue, pod: PodInfo, now: float, *plugins: str) -> QueuedPodInfo:
    queue.add(pod, now)
    entry = queue.pop(now)
    assert entry is not None
    queue.refused(entry, plugins, now)
    return entry


def test_important_pods_come_first_then_those_that_wait_longer() -> None:
    queue = _queue()
    for number, (name, priority) in enumerate([("a", 0), ("b", 5), ("c", 0), ("d", 5)]):
        queue.add(a_pod(name, priority=priority), float(number))
    assert [_next(queue, 10.0) for _ in range(5)] == ["b", "d", "a", "c", None]


def test_a_refused_pod_waits_for_what_may_help() -> None:
    queue = _queue()
    entry = _refused(queue, a_pod("p", labels={"small": "yes"}), 0.0, "Fit")
    queue.happened(ClusterEvent(EventKind.NODE_LABELS), 20.0)
    assert _next(queue, 20.0) is None
    queue.happened(ClusterEvent(EventKind.NODE_ALLOCATABLE, None, a_node()), 20.0)
    assert _next(queue, 20.0) == "p"
    assert entry.tries == 2


def test_a_plugin_may_say_that_it_does_not_help_this_pod() -> None:
    queue = _queue()
    _refused(queue, a_pod("p"), 0.0, "Fit")
    queue.happened(ClusterEvent(EventKind.NODE_ALLOCATABLE, None, a_node()), 20.0)
    assert _next(queue, 20.0) is None


@pytest.mark.parametrize(
    "plugins", [("Any",), (), ("Fit", "Any")], ids=["no hints", "nobody refused", "one of two"]
)
def test_where_nothing_is_known_everything_may_help(plugins: tuple[str, ...]) -> None:
    queue = _queue()
    _refused(queue, a_pod("p"), 0.0, *plugins)
    queue.happened(ClusterEvent(EventKind.CSI_NODE), 20.0)
    assert _next(queue, 20.0) == "p"


def test_nobody_waits_longer_than_five_minutes() -> None:
    queue = _queue()
    _refused(queue, a_pod("p"), 100.0, "Fit")
    assert queue.next_due() == 400.0
    assert _next(queue, 399.0) is None
    assert _next(queue, 400.0) == "p"


def test_a_pod_whose_try_went_wrong_backs_off_longer_each_time() -> None:
    queue = _queue()
    queue.add(a_pod("p"), 0.0)
    now, waits = 0.0, []
    for _ in range(6):
        entry = queue.pop(now)
        assert entry is not None
        queue.failed(entry, now)
        due = queue.next_due()
        assert due is not None
        assert queue.pop(due - 0.01) is None
        waits.append(due - now)
        now = due
    assert waits == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_refused_pod_that_backs_off_is_tried_early_if_nobody_else_waits() -> None:
    queue = _queue()
    _refused(queue, a_pod("p"), 0.0, "Fit")
    queue.happened(ClusterEvent(EventKind.POD_DELETED), 0.5)
    queue.add(a_pod("q"), 0.5)
    assert _next(queue, 0.5) == "q"
    assert _next(queue, 0.5) == "p"


def test_a_gated_pod_is_not_looked_at_until_its_gates_are_gone() -> None:
    queue = _queue()
    queue.add(a_pod("p", schedulingGates=[{"name": "a"}, {"name": "b"}]), 0.0)
    queue.happened(ClusterEvent(EventKind.POD_DELETED), 1.0)
    queue.add(a_pod("p", schedulingGates=[{"name": "b"}]), 2.0)
    assert _next(queue, 1000.0) is None
    queue.add(a_pod("p"), 1001.0)
    assert _next(queue, 1001.0) == "p"


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({"labels": {"a": "b"}}, True),
        ({"tolerations": [{"operator": "Exists"}]}, True),
        ({"status": {"phase": "Pending"}}, False),
        ({"metadata": {"annotations": {"a": "b"}}}, False),
    ],
    ids=["labels", "tolerations", "status", "annotations"],
)
def test_a_change_of_the_pod_itself_may_help(change: dict[str, Any], again: bool) -> None:
    queue = _queue()
    _refused(queue, a_pod("p"), 0.0, "Any")
    queue.add(a_pod("p", **change), 20.0)
    assert (_next(queue, 20.0) == "p") is again


def test_a_held_pod_is_tried_when_it_is_released_if_something_happened_meanwhile() -> None:
    queue = _queue()
    pod = a_pod("p")
    _refused(queue, pod, 0.0, "Fit")
    queue.hold(pod.key)
    queue.happened(ClusterEvent(EventKind.POD_DELETED), 20.0)
    assert _next(queue, 20.0) is None
    queue.release(pod.key, 21.0)
    assert _next(queue, 21.0) == "p"


def test_a_released_pod_waits_on_if_nothing_happened() -> None:
    queue = _queue()
    pod = a_pod("p")
    _refused(queue, pod, 0.0, "Fit")
    queue.hold(pod.key)
    queue.release(pod.key, 21.0)
    assert _next(queue, 21.0) is None


def test_a_held_pod_is_not_tried_after_five_minutes_either() -> None:
    queue = _queue()
    pod = a_pod("p")
    _refused(queue, pod, 0.0, "Fit")
    queue.hold(pod.key)
    assert _next(queue, 300.0) is None
    assert queue.next_due() == 600.0
    queue.release(pod.key, 301.0)
    assert _next(queue, 301.0) == "p"


@pytest.mark.parametrize("when", ["active", "tried", "refused", "backing off"])
def test_a_pod_that_is_gone_is_not_tried(when: str) -> None:
    queue = _queue()
    pod = a_pod("p")
    queue.add(pod, 0.0)
    if when != "active":
        entry = queue.pop(0.0)
        assert entry is not None
        if when != "tried":
            queue.refused(entry, ["Fit"], 0.0)
        if when == "backing off":
            queue.happened(ClusterEvent(EventKind.POD_DELETED), 0.1)
        queue.remove(pod.key)
        if when == "tried":
            queue.refused(entry, ["Fit"], 0.0)
    queue.remove(pod.key)
    assert len(queue) == 0
    assert _next(queue, 1000.0) is None
    assert queue.next_due() is None


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    queue = _queue()
    _refused(queue, a_pod("p", uid="1"), 0.0, "Fit")
    queue.add(a_pod("p", uid="2"), 1.0)
    entry = queue.pop(1.0)
    assert entry is not None
    assert (entry.pod.uid, entry.tries) == ("2", 1)


def test_gates_are_listed_as_people_know_them() -> None:
    refusal = _gates.pre_enqueue(a_pod(schedulingGates=[{"name": "a"}, {"name": "b"}]))
    assert isinstance(refusal, Refusal)
    assert refusal.message == "waiting for scheduling gates: [a b]"
