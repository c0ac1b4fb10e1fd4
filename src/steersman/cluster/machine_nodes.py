"""Nodes of this machine with the process runtime, and the service proxy and DNS server beside them.

Each node has an address and an API of its own; one proxy and one DNS server serve all. `machine_nodes`
adds all that to a manager and keeps the nodes' APIs open while it runs.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from steersman.cluster.dns import add_dns
from steersman.cluster.machine import Machine, MachineError, PodAddresses
from steersman.cluster.machine.ports import first_free_port, may_listen
from steersman.cluster.node.agent import NodeAgent
from steersman.cluster.node.api import NodeApi
from steersman.cluster.node.nodes import Nodes
from steersman.cluster.node.pod_preparation import PodServices, PodSettings, pod_services
from steersman.cluster.node.process.assembly import NodeParts, ProcessNodeConfig, add_process_node
from steersman.cluster.node.process.image_index import default_index_file
from steersman.cluster.node.process.keeper.protocol import LOCK
from steersman.cluster.node.serving_certificate import CertificateFiles, keep_renewed
from steersman.cluster.proxy.host_ports import add_host_ports
from steersman.cluster.proxy.process import ForwarderFiles
from steersman.cluster.proxy.setup import LowPorts, add_proxy
from steersman.http import server_tls
from steersman.objects.resources import SERVICES
from steersman.runtime import Change

__all__ = ["MachineNodes", "machine_nodes"]

_EVERYBODY: Final = "127.0.0.1"
#: Resolvers cannot be told another.
_DNS_PORT: Final = 53
_API_PORT: Final = 443
#: What carries connections is found under these names by the next process.
_SERVICES: Final = "services"
_HOST_PORTS: Final = "host-ports"
#: Which ports of services answer at others, for the nodes' pods.
_STAND_INS: Final = "stand-in-ports"
#: How long a node waits for its range of addresses.
_RANGE_S: Final = 30.0

#: What a node shows its clients, made or renewed if need be: from its user's name and the names it is called
#: by.
Certify = Callable[[str, Sequence[str]], Awaitable[CertificateFiles]]


@dataclass(frozen=True, slots=True)
class MachineNodes:
    """The nodes to run, with their options."""

    count: int
    machine: Machine
    #: What is kept of them.
    folder: Path
    #: Vouches for the clients of nodes (PEM).
    client_ca: bytes
    certify: Certify
    first: int = 1
    prefix: str = "node-"
    heartbeat_s: float = 10.0
    #: Whether pods end with the nodes' process, and for how long they go on when it is killed (0: for ever).
    stop_pods: bool = True
    alone_s: float = 0.0
    images: Path | None = None
    #: Where pods find the API if its Service cannot have its port here.
    api: tuple[str, int] | None = None


@asynccontextmanager
async def machine_nodes(nodes: Nodes, wanted: MachineNodes) -> AsyncIterator[None]:
    """Add the nodes to the manager of `nodes`, which has to run inside of this."""
    manager, machine = nodes.manager, wanted.machine
    addresses = {
        f"{wanted.prefix}{number}": str(machine.ranges.node(number))
        for number in range(wanted.first, wanted.first + wanted.count)
    }
    dns = add_dns(manager, machine)
    has_dns = may_listen(_DNS_PORT)
    surroundings = PodSettings(
        dns=(dns.address,) if has_dns else (),
        names=None if has_dns else dns,
        api=None if may_listen(_API_PORT) else wanted.api,
    )
    ranges = {name: _NodeRange(nodes, name, machine) for name in addresses}

    def stays() -> bool:
        """Whether there are pods that live on."""
        return not wanted.stop_pods and any(map(len, ranges.values()))

    unknown = {*addresses, _SERVICES}
    locks = tuple(wanted.folder / name / LOCK for name in addresses)
    homes = (ForwarderFiles(wanted.folder, name, locks, stays) for name in (_SERVICES, _HOST_PORTS))
    wanted.folder.mkdir(parents=True, exist_ok=True)
    low_ports = LowPorts(first_free_port(), wanted.folder / _STAND_INS)
    add_proxy(
        manager,
        machine,
        (_EVERYBODY, *addresses.values()),
        next(homes),
        partial(_sweep_after, unknown, _SERVICES, machine),
        low_ports,
    )
    add_host_ports(manager, addresses, next(homes))
    opened: list[NodeApi] = []
    try:
        for name, address in addresses.items():
            await machine.add(address, name)
            agents: dict[str, NodeAgent] = {}
            opened.append(api := await _node_api(nodes, wanted, agents, name, address))
            port = await api.start()
            config = ProcessNodeConfig(
                name,
                wanted.folder / name,
                address,
                wanted.images or default_index_file(),
                port=port,
                heartbeat_s=wanted.heartbeat_s,
                alone_s=wanted.alone_s,
                stand_ins=low_ports.folder if low_ports.first_free > 1 else None,
                recalled=partial(_sweep_after, unknown, name, machine),
                stop_pods=lambda: wanted.stop_pods,
            )
            services = partial(_services, nodes, config, surroundings)
            agents[name] = add_process_node(nodes, config, ranges[name], services)
        yield
    finally:
        for api in opened:
            await api.stop()
        if not stays():
            for name, address in addresses.items():
                await machine.remove(address, name)


def _sweep_after(unknown: set[str], name: str, machine: Machine) -> None:
    """The services or a node's pods are known; with the last ones, all that have addresses are."""
    unknown.discard(name)
    if not unknown:
        machine.sweep()


async def _node_api(
    nodes: Nodes, wanted: MachineNodes, agents: dict[str, NodeAgent], name: str, address: str
) -> NodeApi:
    """The API of a node that is to be in `agents`, with a certificate that is renewed in time."""
    manager = nodes.manager
    certify = partial(wanted.certify, f"system:node:{name}", (name, address))

    def context(files: CertificateFiles) -> ssl.SSLContext:
        return server_tls(*files, wanted.client_ca)

    api = NodeApi(
        agents, client=manager.client, client_ca=wanted.client_ca, tls=context(await certify()),
        bind=address, clock=manager.clock,
    )  # fmt: skip

    async def renew() -> None:
        await keep_renewed(manager.clock, certify, lambda files: api.renew(context(files)))

    manager.add_service(f"certificate of {name}", renew)
    return api


def _services(
    nodes: Nodes, config: ProcessNodeConfig, surroundings: PodSettings, parts: NodeParts
) -> PodServices:
    manager = nodes.manager
    return pod_services(
        manager.client,
        nodes.timers,
        nodes.start,
        config.folder,
        parts.config,
        runtime=parts.runtime,
        events=parts.events,
        services=manager.informers.get(SERVICES),
        surroundings=surroundings,
        image_folder=parts.images.folder,
    )


class _NodeRange:
    """The addresses of a node's pods: its spec.podCIDR, which it is given after it has registered."""

    def __init__(self, nodes: Nodes, name: str, machine: Machine) -> None:
        self._nodes = nodes
        self._name = name
        self._machine = machine
        self._pool: PodAddresses | None = None

    def __len__(self) -> int:
        """How many pods have one."""
        return 0 if self._pool is None else len(self._pool)

    async def take(self, owner: str) -> str:
        return await (await self._given()).take(owner)

    async def keep(self, address: str, owner: str = "") -> None:
        await (await self._given()).keep(address, owner)

    async def free(self, address: str) -> None:
        await (await self._given()).free(address)

    async def _given(self) -> PodAddresses:
        if self._pool is None:
            given = await self._range()
            # Others may have waited for the same.
            if self._pool is None:
                self._pool = PodAddresses(self._machine, given)
        return self._pool

    async def _range(self) -> str:
        informer, changed = self._nodes.nodes, asyncio.Event()

        def look(change: Change) -> None:
            if change.key.name == self._name:
                changed.set()

        informer.add_handler(look)
        try:
            async with asyncio.timeout(_RANGE_S):
                while True:
                    cached = informer.cache.get(("", self._name))
                    if cached is not None and (given := cached.object()["spec"].get("podCIDR")):
                        return str(given)
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            raise MachineError(
                f"node {self._name} was given no addresses for its pods (spec.podCIDR)"
            ) from None
        finally:
            informer.remove_handler(look)
