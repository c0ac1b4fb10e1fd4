"""What makes a cluster of an API server: controllers, a scheduler, nodes. All of them are its clients.

`LocalCluster` runs them in its own process; `steer component` runs some of them in another, any number of
times, with leader election. They share one manager and so their caches.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from steersman.aio import Clock, SystemClock
from steersman.client import Client
from steersman.cluster.controllers.metrics_source import MetricsSource, NodeUsage
from steersman.cluster.controllers.registry import CLOUD, add_controllers
from steersman.cluster.controllers.setup import Options, Setup
from steersman.election import Elector
from steersman.objects.resources import PODS
from steersman.objects.selectors import LabelSelector
from steersman.runtime import Key, Manager

__all__ = ["Components", "components_manager"]


@dataclass(frozen=True, slots=True)
class Components:
    """Which parts to run."""

    controllers: Collection[str] = ()
    scheduler: bool = False
    #: Simulated nodes.
    nodes: int = 0
    #: Nodes are numbered from here on; another process's have other numbers.
    first_node: int = 1
    heartbeat_s: float = 10.0
    options: Options = field(default_factory=Options)

    def __bool__(self) -> bool:
        return bool(self.controllers or self.scheduler or self.nodes)


def components_manager(
    client: Client,
    components: Components,
    *,
    clock: Clock | None = None,
    elector: Elector | None = None,
    address: str | None = None,
) -> Manager:
    """A manager that runs these parts. Their code is loaded here, so what does not run costs nothing."""
    client.ignore_warnings()
    clock = clock or SystemClock()
    manager = Manager(client, elector=elector, clock=clock, address=address)
    options = components.options
    if components.nodes:
        options = replace(options, metrics=_add_nodes(manager, components))
    add_controllers(Setup(manager, options), components.controllers)
    if cloud := [name for name in CLOUD if name in components.controllers]:
        from steersman.cluster.cloud import add_cloud
        from steersman.cluster.cloud.local import local_provider

        add_cloud(manager, local_provider(manager), cloud)
    if components.scheduler:
        from steersman.cluster.scheduler.setup import add_scheduler

        add_scheduler(manager)
    return manager


def _add_nodes(manager: Manager, components: Components) -> MetricsSource:
    """Simulated nodes, and what autoscalers can know of them."""
    from steersman.cluster.controllers.autoscaling.api_metrics import ApiMetrics
    from steersman.cluster.node.simulated import FleetConfig, add_simulated_nodes
    from steersman.cluster.node.stats import NodeStats

    fleet = FleetConfig(first=components.first_node, heartbeat_s=components.heartbeat_s)
    stats = NodeStats(add_simulated_nodes(manager, components.nodes, fleet))
    pods = manager.informers.get(PODS).cache

    def is_selected(key: Key, selector: LabelSelector) -> bool:
        return (pod := pods.get(key)) is not None and selector.matches(pod.labels())

    def now() -> datetime:
        return datetime.fromtimestamp(manager.clock.wall(), UTC)

    return NodeUsage(stats.pods, is_selected, now, ApiMetrics(manager.client))
