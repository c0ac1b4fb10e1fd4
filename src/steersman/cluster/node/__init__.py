"""Nodes: what registers them, keeps them alive and runs their pods, over whatever engine runs containers.

Start reading at `agent` (one node), `worker` (one pod on it) and `cri` (what an engine has to do); the
decisions are pure functions in `actions`, `phase`, `pod_conditions`, `pod_status` and `pod_admission`. The
engine that runs nothing is in `simulated`.
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
