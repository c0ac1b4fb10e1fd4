"""The TTL controller: sets the annotation node.alpha.kubernetes.io/ttl, which grows with the number of nodes.

It is the time for which a kubelet may cache Secrets and ConfigMaps. A node gets a new value only when it
changes for another reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from steersman.client import NotFound
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.resources import NODES
from steersman.runtime import Cached, Change, Key, Request, RetryPolicy

__all__ = ["ANNOTATION", "Size", "add"]

ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"


class _Step(NamedTuple):
    """A TTL for `least` to `most` nodes; steps overlap, so that one node more or less changes little."""

    least: int
    most: float
    seconds: int


_STEPS: Final = (
    _Step(0, 100, 0),
    _Step(90, 500, 15),
    _Step(450, 1000, 30),
    _Step(900, 2000, 60),
    _Step(1800, float("inf"), 300),
)


class Size:
    """The number of nodes, and the TTL that follows from it."""

    __slots__ = ("_nodes", "_step")

    def __init__(self) -> None:
        self._nodes = 0
        self._step = 0

    def add(self) -> None:
        self._nodes += 1
        if self._nodes > _STEPS[self._step].most:
            self._step += 1

    def remove(self) -> None:
        self._nodes -= 1
        if self._nodes < _STEPS[self._step].least:
            self._step -= 1

    @property
    def seconds(self) -> int:
        return _STEPS[self._step].seconds


def add(setup: Setup) -> None:
    times = _NodeTimes(setup)
    controller = setup.controller("ttl", retrying_conflicts(times.reconcile), retry=RetryPolicy.client_go())
    controller.watches(times.nodes, times.on_node)


class _NodeTimes:
    """Reconciles the TTL annotation of nodes."""

    def __init__(self, setup: Setup) -> None:
        self.nodes = setup.informer(NODES)
        self._writes = setup.writes("ttl", self.nodes)
        self._size = Size()
        self.nodes.add_handler(self._follow)

    def _follow(self, change: Change) -> None:
        if change.new is None:
            self._size.remove()
        elif change.old is None:
            self._size.add()

    def on_node(self, change: Change) -> Iterable[Key]:
        return (change.key,) if change.new is not None and self._is_wrong(change.new) else ()

    async def reconcile(self, request: Request) -> None:
        cached = self.nodes.cache.get(request.key)
        if cached is None or not self._is_wrong(cached):
            return
        annotations = {ANNOTATION: str(self._size.seconds)}
        patch = {"metadata": {"uid": cached.uid, "annotations": annotations}}
        try:
            await self._writes.patch(NODES, request.key, patch)
        except NotFound:
            return

    def _is_wrong(self, node: Cached) -> bool:
        annotations = node.metadata().get("annotations") or {}
        return annotations.get(ANNOTATION) != str(self._size.seconds)
