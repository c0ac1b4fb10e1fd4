"""The node agent (kubelet): registers nodes, renews their leases and runs their pods, over any container
runtime.

Start reading at `agent` (one node), `worker` (one pod on it) and `cri` (the interface of a container
runtime); the decisions are pure functions in `actions`, `phase`, `pod_conditions`, `pod_status` and
`pod_admission`. The simulated runtime is in `simulated`.
"""

from __future__ import annotations

from steersman.cluster.node.agent import Heartbeat, NodeAgent
from steersman.cluster.node.cri import ImageService, RuntimeService
from steersman.cluster.node.node_object import NodeConfig, NodeHealth
from steersman.cluster.node.nodes import Nodes
from steersman.cluster.node.stats import NodeStats, PodUsage
from steersman.objects.usage import Usage

__all__ = [
    "Heartbeat",
    "ImageService",
    "NodeAgent",
    "NodeConfig",
    "NodeHealth",
    "NodeStats",
    "Nodes",
    "PodUsage",
    "RuntimeService",
    "Usage",
]
