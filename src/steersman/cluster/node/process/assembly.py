"""Constructs a node with the process runtime on a manager: runtime, images, volumes, probes and hooks."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Protocol, cast

from steersman.aio import Scope
from steersman.cluster.node.agent import Heartbeat, NodeAgent
from steersman.cluster.node.events import NodeEvents, container_reference
from steersman.cluster.node.health import Prober
from steersman.cluster.node.hooks import HookRunner
from steersman.cluster.node.machine_usage import machine_usage
from steersman.cluster.node.node_context import NodeContext
from steersman.cluster.node.node_object import NodeConfig
from steersman.cluster.node.nodes import WRITER, Nodes
from steersman.cluster.node.pod_head import PodHead
from steersman.cluster.node.preparation import Preparation
from steersman.cluster.node.process.engine import Addresses, EngineConfig, Isolation, ProcessRuntime
from steersman.cluster.node.process.image_index import ImageIndex
from steersman.cluster.node.process.image_store import ProcessImages
from steersman.cluster.node.process.machine_health import MachineHealth, machine_capacity, machine_id
from steersman.cluster.schema.version import KUBERNETES_VERSION
from steersman.objects.kinds.types.core_v1 import Pod, Taint
from steersman.objects.pods import containers_of
from steersman.runtime import Recorder
from steersman.runtime.event_forms import CLASSIC

__all__ = ["NodeParts", "NodeServices", "ProcessNodeConfig", "add_process_node"]

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class ProcessNodeConfig:
    """The configuration of a node with the process runtime."""

    name: str
    #: Everything of the node on disk. Pods of an earlier process with the same folder are its pods again.
    folder: Path
    #: The node's InternalIP.
    address: str
    #: Which folders are images.
    images: Path
    #: None: what the machine has.
    capacity: Mapping[str, str] | None = None
    reserved: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    version: str = f"v{KUBERNETES_VERSION}"
    #: Of the node's own API; 0: it has none.
    port: int = 0
    heartbeat_s: float = 10.0
    #: For how many seconds pods go on when the agent is gone; 0: for ever.
    alone_s: float = 0.0
    isolation: Isolation = "best"
    #: The folder with services' ports that answer elsewhere, see `proxy.stand_ins`.
    stand_ins: Path | None = None
    #: Told when it is known which pods of an earlier process there are.
    recalled: Callable[[], None] = lambda: None
    #: Asked when the manager stops: whether the pods' processes are to end too.
    stop_pods: Callable[[], bool] = lambda: False


class NodeServices(Protocol):
    """The parts of a node besides its runtime; `pod_preparation.PodServices` is one."""

    @property
    def preparation(self) -> Preparation: ...

    @property
    def prober(self) -> Prober: ...

    @property
    def hooks(self) -> HookRunner: ...


class NodeParts(NamedTuple):
    """The arguments for constructing services."""

    config: NodeConfig
    runtime: ProcessRuntime
    images: ProcessImages
    events: NodeEvents


def add_process_node(
    nodes: Nodes,
    config: ProcessNodeConfig,
    addresses: Addresses,
    services: Callable[[NodeParts], NodeServices],
) -> NodeAgent:
    """Have a manager run a node of this machine. It registers once its engine works and knows its pods."""
    manager, clock = nodes.manager, nodes.manager.clock
    config.folder.mkdir(parents=True, exist_ok=True)

    def recorder() -> Recorder:
        return manager.add_recorder(Recorder(nodes.client, WRITER, config.name, clock=clock, form=CLASSIC))

    events = NodeEvents(recorder)
    images = ProcessImages(ImageIndex(config.images))
    runtime = ProcessRuntime(
        EngineConfig(config.folder, config.alone_s, config.isolation, config.stand_ins),
        images,
        addresses,
        clock,
        on_port_conflict=lambda uid, container, port: _warn_of_conflict(agent, uid, container, port),
    )
    node_config = _node_config(config)
    made = services(NodeParts(node_config, runtime, images, events))

    host = NodeContext(
        config=node_config,
        timers=nodes.timers,
        runtime=runtime,
        images=images,
        prober=made.prober,
        hooks=made.hooks,
        preparation=made.preparation,
        events=events,
        pods=nodes.pods.cache,
        nodes=nodes.nodes.cache,
        statuses=nodes.statuses,
        start=nodes.start,
        notice=runtime.notice,
        machine_usage=machine_usage(),
    )
    health = MachineHealth(config.folder, lambda: runtime.problem)
    agent = NodeAgent(host, nodes.writes, heartbeat=Heartbeat(config.heartbeat_s), feel=health)
    manager.add_service(f"node {config.name}", lambda: _run(nodes, agent, runtime, config))
    return agent


async def _run(nodes: Nodes, agent: NodeAgent, runtime: ProcessRuntime, config: ProcessNodeConfig) -> None:
    try:
        await _live(nodes, agent, runtime, config)
    finally:
        if config.stop_pods():
            agent.host.preparation.left()


async def _live(nodes: Nodes, agent: NodeAgent, runtime: ProcessRuntime, config: ProcessNodeConfig) -> None:
    async with Scope() as scope:
        working = scope.start(runtime.run(stop_pods=config.stop_pods))
        await nodes.pods.wait_synced()
        await runtime.wait_ready()
        heads = (PodHead(cached) for cached in nodes.pods.cache)
        await runtime.forget_unknown({head.uid for head in heads if head.node == agent.name})
        config.recalled()
        nodes.add(agent)
        await working


def _warn_of_conflict(agent: NodeAgent, uid: str, container: str, port: int) -> None:
    """Say so where people look: at the pod."""
    worker = agent.workers.get(uid)
    cached = None if worker is None else agent.host.pods.get(worker.key)
    if cached is None or cached.uid != uid:
        return
    pod = cast("Pod", cached.object())
    spec = next((one for one in containers_of(pod["spec"]) if one["name"] == container), None)
    if spec is None:
        return
    which = f"port {port}" if port else "a port"
    note = (
        f"Container {container} ended because another process of this machine has {which}: "
        "pods of a process node share its ports unless they listen on their own address ($POD_IP)"
    )
    agent.host.events.warning(container_reference(pod, spec), "PortConflict", note)


def _node_config(config: ProcessNodeConfig) -> NodeConfig:
    machine = platform.machine()
    return NodeConfig(
        name=config.name,
        addresses=(config.address,),
        capacity=config.capacity or machine_capacity(config.folder),
        reserved=config.reserved,
        labels={"node.kubernetes.io/instance-type": "process", **config.labels},
        taints=config.taints,
        version=config.version,
        architecture=_ARCHITECTURES.get(machine, machine),
        kernel=platform.release(),
        system=_system(),
        port=config.port,
        machine_id=machine_id(),
    )


def _system() -> str:
    """The name of this machine's system, as people know it."""
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"
