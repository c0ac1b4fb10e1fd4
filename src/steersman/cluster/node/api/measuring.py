"""The resource usage of a node and its pods, with accumulated CPU time.

Runtimes report current usage; the CPU time so far is the sum of that over the times of measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from steersman.cluster.node.agent import NodeAgent
from steersman.cluster.node.stats import node_usage
from steersman.objects.usage import Usage
from steersman.runtime import Key

__all__ = ["Measured", "Measurer", "NodeMeasured", "PodMeasured"]


@dataclass(frozen=True, slots=True)
class Measured:
    """The usage of a container, pod or node."""

    name: str
    started_at: float
    usage: Usage
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class PodMeasured:
    """The usage of a pod and its containers."""

    key: Key
    uid: str
    started_at: float
    containers: tuple[Measured, ...]

    @property
    def usage(self) -> Usage:
        return sum((one.usage for one in self.containers), start=Usage(0.0, 0))

    @property
    def cpu_seconds(self) -> float:
        return sum(one.cpu_seconds for one in self.containers)


@dataclass(frozen=True, slots=True)
class NodeMeasured:
    """The usage of a node and its pods."""

    time: float
    node: Measured
    pods: tuple[PodMeasured, ...]


class _Total:
    """The accumulated CPU time of a container."""

    __slots__ = ("at", "seconds")

    def __init__(self, at: float) -> None:
        self.at = at
        self.seconds = 0.0


class Measurer:
    """Measures the nodes of one kubelet API."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` is the time since the epoch."""
        self._now = now
        self._begun_at = now()
        self._totals: dict[str, dict[Hashable, _Total]] = {}

    async def measure(self, agent: NodeAgent) -> NodeMeasured:
        runtime, now = agent.host.runtime, self._now()
        before = self._totals.get(agent.name, {})
        totals = self._totals[agent.name] = {}

        def total(key: Hashable, cores: float, started_at: float) -> float:
            counted = totals[key] = before.get(key) or _Total(started_at)
            counted.seconds += cores * max(0.0, now - counted.at)
            counted.at = now
            return counted.seconds

        pods = []
        for worker in list(agent.workers.values()):
            used = runtime.pod_sandbox_stats(worker.uid)
            if not used:
                continue
            latest = {one.name: one for one in reversed(await runtime.list_containers(worker.uid))}
            containers = []
            for name, usage in used.items():
                one = latest.get(name)
                at = one.started_at if one is not None else now
                key = (worker.uid, one.id if one is not None else name)
                containers.append(Measured(name, at, usage, total(key, usage.cpu_cores, at)))
            began = min(one.started_at for one in containers)
            pods.append(PodMeasured(worker.key, worker.uid, began, tuple(containers)))
        usage = node_usage(agent)
        seconds = total(agent.name, usage.cpu_cores, self._begun_at)
        return NodeMeasured(now, Measured(agent.name, self._begun_at, usage, seconds), tuple(pods))
