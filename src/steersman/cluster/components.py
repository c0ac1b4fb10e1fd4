"""The components of a cluster besides its API server: controllers, scheduler, nodes. All are its clients.

`LocalCluster` runs them in its own process; `steer component` runs some of them in another, any number of
times, with leader election. They share one manager and so their caches.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from steersman.aio import Clock, SystemClock
from steersman.client import Client
from steersman.cluster.controllers.metrics_source import MetricsSource, NodeUsage
from steersman.cluster.controllers.registry import CLOUD, add_controllers
from steersman.cluster.controllers.setup import Options, Setup
from steersman.election import Elector
from steersman.objects.resources import PODS
from steersman.objects.selectors import LabelSelector
from steersman.runtime import Key, Manager

if TYPE_CHECKING:
    from steersman.cluster.machine_nodes import MachineNodes
    from steersman.cluster.node.nodes import Nodes

__all__ = ["Components", "components_manager"]

#: Whose the fields are that controllers write, as in Kubernetes.
_NAME: Final = "kube-controller-manager"


@dataclass(frozen=True, slots=True)
class Components:
    """The components to run, with their options."""

    controllers: Collection[str] = ()
    scheduler: bool = False
    #: Simulated nodes.
    nodes: int = 0
    #: Nodes of this machine, which really run pods.
    machine: MachineNodes | None = None
    #: Nodes are numbered from here on; another process's have other numbers.
    first_node: int = 1
    heartbeat_s: float = 10.0
    options: Options = field(default_factory=Options)

    def __bool__(self) -> bool:
        return bool(self.controllers or self.scheduler or self.nodes or self.machine)


@asynccontextmanager
async def components_manager(
    client: Client,
    components: Components,
    *,
    clock: Clock | None = None,
    elector: Elector | None = None,
    address: str | None = None,
    lasting: bool = False,
) -> AsyncIterator[Manager]:
    """A manager that runs these parts, to be run inside of this. Their code is loaded here, so what does not
    run costs nothing. `lasting`: the API server is in this process."""
    client.ignore_warnings()
    clock = clock or SystemClock()
    manager = Manager(client.named(_NAME), elector=elector, clock=clock, address=address, lasting=lasting)
    async with AsyncExitStack() as stack:
        options = components.options
        if components.nodes or components.machine:
            nodes = _add_nodes(manager, components)
            options = replace(options, metrics=_metrics_of(nodes))
            if components.machine is not None:
                from steersman.cluster.machine_nodes import machine_nodes

                await stack.enter_async_context(machine_nodes(nodes, components.machine))
        add_controllers(Setup(manager, options), components.controllers)
        if cloud := [name for name in CLOUD if name in components.controllers]:
            _add_cloud(manager, components, cloud)
        if components.scheduler:
            from steersman.cluster.scheduler.setup import add_scheduler

            add_scheduler(manager)
        yield manager


def _add_cloud(manager: Manager, components: Components, names: Sequence[str]) -> None:
    from steersman.cluster.cloud import add_cloud
    from steersman.cluster.cloud.local import USUAL, local_provider

    lent = USUAL if components.machine is None else components.machine.machine.ranges.load_balancers
    add_cloud(manager, local_provider(manager, lent), names)


def _add_nodes(manager: Manager, components: Components) -> Nodes:
    """Simulated nodes, if any, and what other nodes share with them."""
    from steersman.cluster.metrics_api import add_metrics_api
    from steersman.cluster.node.nodes import Nodes
    from steersman.cluster.node.stats import NodeStats

    nodes = Nodes(manager)
    manager.add_service("nodes", nodes.run)
    if components.nodes:
        from steersman.cluster.node.simulated import FleetConfig, add_simulated_nodes

        fleet = FleetConfig(first=components.first_node, heartbeat_s=components.heartbeat_s)
        add_simulated_nodes(manager, components.nodes, fleet, nodes=nodes)
    add_metrics_api(manager, NodeStats(nodes))
    return nodes


def _metrics_of(nodes: Nodes) -> MetricsSource:
    """What autoscalers can know of nodes."""
    from steersman.cluster.controllers.autoscaling.api_metrics import ApiMetrics
    from steersman.cluster.node.stats import NodeStats

    manager = nodes.manager
    stats, pods = NodeStats(nodes), manager.informers.get(PODS).cache

    def is_selected(key: Key, selector: LabelSelector) -> bool:
        return (pod := pods.get(key)) is not None and selector.matches(pod.labels())

    def now() -> datetime:
        return datetime.fromtimestamp(manager.clock.wall(), UTC)

    return NodeUsage(stats.pods, is_selected, now, ApiMetrics(manager.client))
