"""Constructs any number of simulated nodes on a manager, in one process.

Annotations on a Node simulate its failures, `simulated.steersman.dev/<what>`:

| what              | value  | meaning                                                                      |
|-------------------|--------|------------------------------------------------------------------------------|
| `offline`         | "true" | it is disconnected: no heartbeats, no work on its pods, no status updates     |
| `not-ready`       | text   | it is not ready, for this reason                                             |
| `memory-pressure` | "true" | it has the condition MemoryPressure                                          |
| `disk-pressure`   | "true" | … DiskPressure                                                               |
| `pid-pressure`    | "true" | … PIDPressure                                                                |

While a node is under pressure it takes no new pods (those that ask for memory it does, if memory is what it
lacks) and evicts what it has, the least important first.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from steersman.cluster.node.agent import Heartbeat, NodeAgent
from steersman.cluster.node.events import NodeEvents, Told
from steersman.cluster.node.hooks import SleepingHooks
from steersman.cluster.node.node_context import NodeContext
from steersman.cluster.node.node_object import NodeConfig, NodeHealth
from steersman.cluster.node.nodes import WRITER, Nodes
from steersman.cluster.node.preparation import NoPreparation
from steersman.cluster.node.simulated.addresses import SimulatedPodAddresses, node_address, own_range
from steersman.cluster.node.simulated.engine import SimulatedRuntime
from steersman.cluster.node.simulated.image_store import SimulatedImages
from steersman.cluster.node.simulated.script import DEFAULTS, PREFIX
from steersman.cluster.schema.version import KUBERNETES_VERSION
from steersman.objects.kinds.types.core_v1 import Taint
from steersman.runtime import Manager, Recorder
from steersman.runtime.event_forms import CLASSIC

__all__ = ["FleetConfig", "add_simulated_nodes", "simulated_health"]

#: Up to so many nodes tell everything.
_TALKATIVE: Final = 100


@dataclass(frozen=True, slots=True)
class FleetConfig:
    """The configuration of simulated nodes."""

    #: Nodes are named with numbers behind it, from `first` on.
    prefix: str = "node-"
    first: int = 1
    capacity: Mapping[str, str] = field(
        default_factory=lambda: {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    )
    reserved: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    #: Nodes are spread over them.
    zones: tuple[str, ...] = ("zone-a", "zone-b", "zone-c")
    region: str = "local"
    version: str = f"v{KUBERNETES_VERSION}"
    heartbeat_s: float = 10.0
    #: None: all that nodes have to tell, but of large fleets only what goes wrong.
    events: Told | None = None
    #: What containers do unless their pods' annotations say otherwise; names as in `script`.
    containers: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULTS))


def add_simulated_nodes(
    manager: Manager, count: int, config: FleetConfig | None = None, *, nodes: Nodes | None = None
) -> Nodes:
    """Have a manager run so many simulated nodes, besides those that `nodes` has already."""
    config = config or FleetConfig()
    if nodes is None:
        nodes = Nodes(manager)
        manager.add_service("nodes", nodes.run)
    if config.events is None:
        config = replace(config, events="all" if count <= _TALKATIVE else "warnings")
    for number in range(config.first, config.first + count):
        nodes.add(_agent(nodes, config, number))
    return nodes


def simulated_health(annotations: Mapping[str, str]) -> NodeHealth | None:
    """How a simulated node feels, from its annotations; None: cut off."""

    def annotation_is_true(what: str) -> bool:
        return annotations.get(f"{PREFIX}/{what}") == "true"

    if annotation_is_true("offline"):
        return None
    return NodeHealth(
        annotations.get(f"{PREFIX}/not-ready", ""),
        memory_pressure=annotation_is_true("memory-pressure"),
        disk_pressure=annotation_is_true("disk-pressure"),
        pid_pressure=annotation_is_true("pid-pressure"),
    )


def _agent(nodes: Nodes, config: FleetConfig, number: int) -> NodeAgent:
    manager, clock = nodes.manager, nodes.manager.clock
    name = f"{config.prefix}{number}"

    def recorder() -> Recorder:
        return manager.add_recorder(Recorder(nodes.client, WRITER, name, clock=clock, form=CLASSIC))

    def addresses() -> SimulatedPodAddresses:
        cached = nodes.nodes.cache.get(("", name))
        given = "" if cached is None else cached.object()["spec"].get("podCIDR", "")
        return SimulatedPodAddresses(given or own_range(number))

    engine = SimulatedRuntime(nodes.timers, addresses, config.containers)
    host = NodeContext(
        config=_node_config(config, name, node_address(number), number),
        timers=nodes.timers,
        runtime=engine,
        images=SimulatedImages(clock, config.containers),
        prober=engine,
        hooks=SleepingHooks(clock),
        preparation=NoPreparation(),
        events=NodeEvents(recorder, config.events or "all"),
        pods=nodes.pods.cache,
        nodes=nodes.nodes.cache,
        statuses=nodes.statuses,
        start=nodes.start,
        notice=engine.notice,
    )
    return NodeAgent(host, nodes.writes, heartbeat=Heartbeat(config.heartbeat_s), feel=simulated_health)


def _node_config(config: FleetConfig, name: str, address: str, number: int) -> NodeConfig:
    zone = config.zones[(number - config.first) % len(config.zones)] if config.zones else ""
    topology = {"topology.kubernetes.io/region": config.region, "topology.kubernetes.io/zone": zone}
    return NodeConfig(
        name=name,
        addresses=(address,),
        capacity=config.capacity,
        reserved=config.reserved,
        labels={
            "node.kubernetes.io/instance-type": "simulated",
            **{label: value for label, value in topology.items() if value},
            **config.labels,
        },
        taints=config.taints,
        version=config.version,
        kernel=platform.release(),
        machine_id=hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(),
    )
