"""All nodes of this process: they share informers, timers, status senders and the schedule of heartbeats.

`Nodes.add` takes an agent; a manager runs `Nodes.run`. Heartbeats of many nodes are spread evenly over their
period, so that a thousand nodes never renew at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final

from steersman.aio import Scope
from steersman.client import ClientError
from steersman.cluster.node.agent import NodeAgent
from steersman.cluster.node.pod_head import PodHead
from steersman.cluster.node.status_manager import StatusManager
from steersman.cluster.node.timers import Timers
from steersman.objects.resources import NODES, PODS
from steersman.runtime import Change, Manager, Writes

__all__ = ["WRITER", "Nodes"]

_log = logging.getLogger(__name__)

#: By this name nodes write, and are not told of what they wrote.
WRITER: Final = "kubelet"
#: How soon a node that is not registered yet tries again.
_RETRY_S: Final = 1.0
#: Nodes beat in groups of those whose turns are so close, and the process sleeps in between.
_TICK_S: Final = 0.1
#: Heartbeats under way at the same time.
_BEATS: Final = 16


class Nodes:
    """All nodes of one manager."""

    def __init__(self, manager: Manager, *, only: str = "") -> None:
        """`only` is the name of the single node of this process: nothing of others is looked at."""
        self.manager = manager
        self.client = manager.client.named(WRITER)
        self.timers = Timers(manager.clock)
        self.pods = manager.informers.get(PODS, fields=f"spec.nodeName={only}" if only else "")
        self.nodes = manager.informers.get(NODES, fields=f"metadata.name={only}" if only else "")
        caches = {PODS: self.pods.cache, NODES: self.nodes.cache}
        self.writes = Writes(self.client, WRITER, caches.get)
        self.statuses = StatusManager(self.writes, manager.clock, self.start)
        self.agents: dict[str, NodeAgent] = {}
        self._scope: Scope | None = None
        self._beats = asyncio.Semaphore(_BEATS)

    def add(self, agent: NodeAgent) -> NodeAgent:
        """Run a node, from now on or from when the manager runs."""
        if agent.name in self.agents:
            raise ValueError(f"there is a node {agent.name!r} already")
        self.agents[agent.name] = agent
        if self._scope is not None:
            agent.on_node(self.nodes.cache.get(("", agent.name)))
            self._scope.start(self._register(agent, 0.0))
            for cached in self.pods.cache:
                head = PodHead(cached)
                if head.node == agent.name:
                    agent.on_pod(Change("added", cached.key, None, cached, initial=True), head)
            self._sweep(agent)
        return agent

    def _sweep(self, agent: NodeAgent) -> None:
        """All of a node's pods are known: whatever it has of others is nobody's."""
        agent.host.preparation.sweep(agent.workers)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something on behalf of a node."""
        assert self._scope is not None
        return self._scope.start(work)

    async def run(self) -> None:
        """Run all nodes until cancelled."""
        await self.nodes.wait_synced()
        await self.pods.wait_synced()
        try:
            async with Scope(on_error=_report) as self._scope:
                self._scope.start(self.timers.run(), name="node timers")
                for number, agent in enumerate(self.agents.values()):
                    # All register as soon as it is their turn; later beats are spread.
                    self._scope.start(self._register(agent, number / len(self.agents)))
                self.nodes.add_handler(self._on_node, writer=WRITER)
                self.pods.add_handler(self._on_pod, writer=WRITER)
                for agent in self.agents.values():
                    self._sweep(agent)
                await asyncio.get_running_loop().create_future()
        finally:
            self.nodes.remove_handler(self._on_node)
            self.pods.remove_handler(self._on_pod)
            self._scope = None

    async def _register(self, agent: NodeAgent, share: float) -> None:
        await self._beat(agent)
        self._turn(agent.name, share * agent.heartbeat.period_s if agent.known else _RETRY_S)

    def _turn(self, name: str, delay_s: float) -> None:
        """Have a node beat then, and from then on."""
        due = round((self.timers.clock.monotonic() + delay_s) / _TICK_S) * _TICK_S
        self.timers.at(due, ("beat", name), lambda: self._start_beat(name, due))

    def _start_beat(self, name: str, due: float) -> None:
        self.start(self._beat_and_go_on(self.agents[name], due))

    async def _beat_and_go_on(self, agent: NodeAgent, due: float) -> None:
        try:
            await self._beat(agent)
        finally:
            # A beat that was late does not move those after it; those that it missed are not made up for.
            late_s = self.timers.clock.monotonic() - due
            period_s = agent.heartbeat.period_s if agent.registered else _RETRY_S
            self._turn(agent.name, period_s - late_s % period_s)

    async def _beat(self, agent: NodeAgent) -> None:
        async with self._beats:
            try:
                await agent.beat()
            except ClientError as error:
                _log.warning("node %s could not renew its lease: %s", agent.name, error)

    def _on_node(self, change: Change) -> None:
        agent = self.agents.get(change.key.name)
        if agent is not None:
            agent.on_node(change.new)

    def _on_pod(self, change: Change) -> None:
        old = None if change.old is None else PodHead(change.old)
        new = None if change.new is None else PodHead(change.new)
        if old is not None and (new is None or new.uid != old.uid) and (agent := self.agents.get(old.node)):
            agent.on_pod_gone(old.uid)
        if new is not None and (agent := self.agents.get(new.node)):
            agent.on_pod(change, new)


def _report(error: BaseException) -> None:
    _log.error("something on a node failed", exc_info=error)
