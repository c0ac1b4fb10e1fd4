"""The resource usage of nodes and pods in this process, for metrics.k8s.io and autoscalers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from steersman.cluster.node.agent import NodeAgent
from steersman.cluster.node.nodes import Nodes
from steersman.objects.usage import Usage
from steersman.runtime import Key

__all__ = ["NodeStats", "PodUsage", "node_usage"]

#: What a node that is not measured uses besides its pods.
_IDLE = Usage(0.05, 256 << 20)


class PodUsage(NamedTuple):
    """The usage of a pod's containers."""

    key: Key
    node: str
    containers: Mapping[str, Usage]


def node_usage(agent: NodeAgent) -> Usage:
    """What a node uses: as measured, or else what its pods do and a little."""
    if agent.host.machine_usage is not None:
        return agent.host.machine_usage()
    used = _IDLE
    for uid in agent.workers:
        for usage in agent.host.runtime.pod_sandbox_stats(uid).values():
            used = used + usage
    return used


class NodeStats:
    """Reads the current usage of running pods. Nothing is sampled in between."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    def node(self, name: str) -> Usage | None:
        """None for a node that is not of this process, or cannot be reached."""
        agent = self._nodes.agents.get(name)
        if agent is None or not agent.host.online:
            return None
        return node_usage(agent)

    def nodes(self) -> Iterator[tuple[str, Usage]]:
        for name in self._nodes.agents:
            if (usage := self.node(name)) is not None:
                yield name, usage

    def pods(self, namespace: str | None = None) -> Iterator[PodUsage]:
        """Pods with running containers, of one namespace or of all."""
        for agent in self._nodes.agents.values():
            if not agent.host.online:
                continue
            for worker in list(agent.workers.values()):
                if namespace is None or worker.key.namespace == namespace:
                    containers = agent.host.runtime.pod_sandbox_stats(worker.uid)
                    if containers:
                        yield PodUsage(worker.key, agent.name, containers)

    def pod(self, namespace: str, name: str) -> PodUsage | None:
        return next((one for one in self.pods(namespace) if one.key.name == name), None)
