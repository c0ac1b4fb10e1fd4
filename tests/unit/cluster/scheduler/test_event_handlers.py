"""What changes in the caches mean for nodes and for pods that wait."""

from __future__ import annotations

from typing import Any

from steersman.cluster.scheduler.event_handlers import EventHandlers
from steersman.cluster.scheduler.model import NodeTable
from steersman.cluster.scheduler.model.nominations import Nominations
from steersman.cluster.scheduler.permits import Permits
from steersman.cluster.scheduler.queue import SchedulingQueue
from steersman.objects.resources import NAMESPACES, NODES, PODS
from steersman.runtime import Cached, Change, Key
from steersman.runtime.cached import Intake

from .worlds import node_object, pod_object


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now

    async def sleep(self, delay_s: float) -> None:
        self.now += delay_s


class Seen:
    """A scheduler's view of a cluster that changes."""

    def __init__(self) -> None:
        self.queue = SchedulingQueue(lambda pod, at: (at,), lambda pod: None, {"default-scheduler": {}})
        self.nodes = NodeTable()
        self.handlers = EventHandlers(
            self.nodes, self.queue, Nominations(), Permits(), Clock(), ["default-scheduler"]
        )

    def pod(self, name: str, **parts: Any) -> None:
        self._tell(self.handlers.on_pod, Intake(PODS).read_object(pod_object(name, **parts)))

    def no_pod(self, name: str) -> None:
        self.handlers.on_pod(Change("deleted", Key("default", name), None, None))

    def node(self, name: str, **parts: Any) -> None:
        self._tell(self.handlers.on_node, Intake(NODES).read_object(node_object(name, **parts)))

    @staticmethod
    def _tell(handler: Any, cached: Cached) -> None:
        handler(Change("modified", cached.key, None, cached))

    @property
    def waiting(self) -> list[str]:
        names = []
        while (entry := self.queue.pop(0.0)) is not None:
            names.append(entry.pod.name)
        return names

    def on(self, node: str) -> list[str]:
        found = self.nodes.get(node)
        assert found is not None
        return [pod.name for pod in found.pods.values()]


def test_pods_are_where_they_say_or_wait() -> None:
    seen = Seen()
    seen.pod("early", nodeName="a")
    seen.node("a")
    seen.pod("placed", nodeName="a")
    seen.pod("waiting")
    seen.pod("foreign", schedulerName="other")
    seen.pod("over", nodeName="a", status={"phase": "Succeeded"})
    seen.pod("leaving", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert seen.on("a") == ["early", "placed"]
    assert seen.waiting == ["waiting"]


def test_a_pod_that_is_over_takes_nothing_any_more() -> None:
    seen = Seen()
    seen.node("a")
    seen.pod("p", nodeName="a", cpu="1")
    seen.pod("p", nodeName="a", cpu="1", status={"phase": "Failed"})
    node = seen.nodes.get("a")
    assert node is not None
    assert (node.cpu, seen.on("a")) == (0, [])


def test_the_apis_word_on_an_assumed_pod_changes_nothing() -> None:
    seen = Seen()
    seen.node("a")
    seen.pod("p", cpu="1")
    entry = seen.queue.pop(0.0)
    assert entry is not None
    seen.nodes.place(entry.pod, "a")
    seen.handlers.assumed[entry.key] = entry.pod.uid
    seen.queue.done(entry.key)
    generation = seen.nodes.generation
    seen.pod("p", cpu="1", status={"phase": "Pending"})
    seen.pod("p", cpu="1", nodeName="a")
    assert (seen.on("a"), seen.waiting, seen.handlers.assumed) == (["p"], [], {})
    assert seen.nodes.generation == generation


def test_a_pod_that_was_made_anew_is_another_one() -> None:
    seen = Seen()
    seen.node("a")
    seen.pod("p", uid="1", nodeName="a")
    seen.pod("p", uid="2")
    assert (seen.on("a"), seen.waiting) == ([], ["p"])


def test_a_pod_that_goes_leaves_nothing_behind() -> None:
    seen = Seen()
    seen.node("a")
    seen.pod("p", nodeName="a")
    seen.pod("q", status={"nominatedNodeName": "a"})
    assert [pod.name for pod in seen.handlers.nominations.on("a")] == ["q"]
    for name in ("p", "q", "never seen"):
        seen.no_pod(name)
    assert (seen.on("a"), seen.waiting, seen.handlers.nominations.on("a")) == ([], [], [])


def test_a_heartbeat_of_a_node_is_no_reason_to_look_at_it_again() -> None:
    seen = Seen()
    seen.node("a")
    generation = seen.nodes.generation
    seen.node("a")
    assert seen.nodes.generation == generation
    seen.node("a", labels={"b": "c"})
    assert seen.nodes.generation > generation


def test_labels_of_namespaces_are_known() -> None:
    seen = Seen()
    cached = Intake(NAMESPACES).read_object({"metadata": {"name": "x", "labels": {"team": "a"}}})
    for _ in range(2):
        seen.handlers.on_namespace(Change("modified", cached.key, None, cached))
    assert (seen.handlers.namespaces["x"], seen.handlers.namespaces_changed) == ({"team": "a"}, 1)
    seen.handlers.on_namespace(Change("deleted", cached.key, cached, None))
    assert (seen.handlers.namespaces, seen.handlers.namespaces_changed) == ({}, 2)
