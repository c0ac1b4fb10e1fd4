"""The services and state that the pod workers of one node share. Made by `NodeAgent`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from steersman.cluster.node.container_statuses import time_text
from steersman.cluster.node.cri import ImageService, RuntimeService
from steersman.cluster.node.events import NodeEvents
from steersman.cluster.node.health import Prober
from steersman.cluster.node.hooks import HookRunner
from steersman.cluster.node.node_object import NodeConfig, NodeHealth, initial_node
from steersman.cluster.node.pod_admission import NodeLoad, PodDemand, PodRejection, refusal
from steersman.cluster.node.preparation import Preparation
from steersman.cluster.node.timers import Timers
from steersman.objects.kinds.types.core_v1 import Node, Pod
from steersman.objects.usage import Usage
from steersman.runtime import Cache, Key

if TYPE_CHECKING:
    from steersman.cluster.node.status_manager import StatusManager

__all__ = ["NodeContext"]


@dataclass(slots=True)
class NodeContext:
    """The dependencies of one node's pod workers: container runtime, images, probes, volumes, events,
    caches.
    """

    config: NodeConfig
    timers: Timers
    runtime: RuntimeService
    images: ImageService
    prober: Prober
    hooks: HookRunner
    preparation: Preparation
    events: NodeEvents
    pods: Cache
    nodes: Cache
    statuses: StatusManager
    #: Runs a pod's work as a task.
    start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    #: Shows the engine a pod that is to run: it may have run it before this process was started.
    notice: Callable[[Pod], None]
    #: What pods hold until nothing of them runs any more, by uid.
    claims: dict[str, tuple[Key, PodDemand]] = field(default_factory=dict)
    #: What the whole machine uses, where that is measured.
    machine_usage: Callable[[], Usage] | None = None
    #: A node that is cut off hears nothing and says nothing.
    online: bool = True

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def host_ips(self) -> tuple[str, ...]:
        return self.config.addresses

    def now(self) -> float:
        return self.timers.clock.wall()

    @property
    def load(self) -> NodeLoad:
        """What is taken. A pod that is gone from the API has left its place, whatever of it still runs: the
        scheduler has given that place away."""
        load = NodeLoad()
        for uid, (key, claim) in self.claims.items():
            cached = self.pods.get(key)
            if cached is not None and cached.uid == uid:
                load.add(claim)
        return load

    def refusal(self, pod: Pod, claim: PodDemand) -> PodRejection | None:
        """Why this node does not take a pod."""
        cached = self.nodes.get(("", self.name))
        if cached is not None:
            node = cast("Node", cached.object())
        else:
            # Before it is registered, a node is what it will register as.
            node = initial_node(self.config, self.runtime.version(), NodeHealth(), time_text(self.now()))
        return refusal(pod, claim, node, self.load)
