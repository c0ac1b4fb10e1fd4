"""A cluster whose services really answer: an API server, the proxy, and servers that are endpoints."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from steersman.aio import Scope
from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.machine import Machine, PodAddresses, open_machine
from steersman.cluster.machine.ports import first_free_port
from steersman.cluster.proxy.setup import LowPorts, ServiceProxy, add_proxy
from steersman.objects.resources import ENDPOINT_SLICES, NODES, SERVICES
from steersman.runtime import Manager
from tests.support import waiting

Object = dict[str, Any]

#: Long enough for a busy machine, short enough to notice a hang.
PATIENCE_S = 30.0
NODE = "here"


class World:
    def __init__(self, cluster: LocalCluster, machine: Machine, low_ports: LowPorts) -> None:
        self.cluster = cluster
        self.machine = machine
        self.client: Client = cluster.client()
        self.node_address = str(machine.ranges.pods[1])
        #: Node ports answer there too, though no node has it.
        self.everybodys_address = str(machine.ranges.pods[-2])
        self.addresses = PodAddresses(machine, f"{machine.ranges.pods.network_address}/24")
        self.manager = Manager(cluster.client(user_agent="proxy"), address=None)
        self.proxy: ServiceProxy = add_proxy(
            self.manager,
            machine,
            [self.node_address, self.everybodys_address],
            low_ports=low_ports,
        )
        #: What a test started.
        self.servers: list[TcpServer | UdpServer] = []

    async def tcp(self, *names: str) -> list[TcpServer]:
        started = [await TcpServer(name, await self.addresses.take(name)).start() for name in names]
        self.servers += started
        return started

    async def udp(self, *names: str) -> list[UdpServer]:
        started = [await UdpServer(name, await self.addresses.take(name)).start() for name in names]
        self.servers += started
        return started

    def close_servers(self) -> None:
        while self.servers:
            self.servers.pop().close()

    async def settle(self, until: Callable[[], bool] = lambda: True) -> None:
        """Until everything that is known is applied, and this is so."""

        async def settled() -> bool:
            await self.proxy.settled.wait()
            return until()

        await waiting.until(settled, PATIENCE_S)

    async def service(self, name: str, *, port: int, **spec: Any) -> str:
        """A service with one port; its cluster IP."""
        protocol = spec.pop("protocol", "TCP")
        ports = spec.pop("ports", None) or [{"name": "main", "port": port, "protocol": protocol}]
        body = {"metadata": {"name": name, "namespace": "default"}, "spec": {"ports": ports, **spec}}
        return str((await self.client.create(body, kind=SERVICES))["spec"]["clusterIP"])

    async def endpoints(self, name: str, *servers: TcpServer | UdpServer) -> None:
        """Have exactly these servers as endpoints, each a slice's only one, since ports may differ."""
        protocol = "UDP" if servers and isinstance(servers[0], UdpServer) else "TCP"
        wanted = {f"{name}-{server.name}": server for server in servers}
        for known in await self.client.list(ENDPOINT_SLICES, "default"):
            labels = known["metadata"].get("labels") or {}
            slice_name = known["metadata"]["name"]
            if labels.get("kubernetes.io/service-name") == name and slice_name not in wanted:
                await self.client.delete(ENDPOINT_SLICES, slice_name, "default")
        for slice_name, server in wanted.items():
            body = {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "name": slice_name,
                    "namespace": "default",
                    "labels": {"kubernetes.io/service-name": name},
                },
                "addressType": "IPv4",
                "ports": [{"name": "main", "port": server.port, "protocol": protocol}],
                "endpoints": [
                    {
                        "addresses": [server.address],
                        "conditions": server.conditions,
                        "nodeName": server.node,
                    }
                ],
            }
            await self.client.apply(body, field_manager="test", force=True, kind=ENDPOINT_SLICES)
        backends = {(server.address, server.port) for server in servers if server.is_expected}
        await self.settle(lambda: self._backends(name) == backends)

    def _backends(self, name: str) -> set[tuple[str, int]]:
        routes = self.proxy._routes.get(("default", name), {})  # type: ignore[call-overload]
        return {(each.address, each.port) for route in routes.values() for each in route.backends}


@asynccontextmanager
async def proxied(*, as_root: bool = False, low_ports: LowPorts | None = None) -> AsyncIterator[World]:
    """`low_ports`: those that the proxy is not to have; those that this process may not listen at, if None."""
    machine = await open_machine(as_root=as_root)
    try:
        config = ClusterConfig(service_cidr=str(machine.ranges.services), loopback_endpoints=True)
        async with LocalCluster(config) as cluster:
            world = World(cluster, machine, low_ports or LowPorts(first_free_port()))
            await machine.add(world.node_address)
            await machine.add(world.everybodys_address)
            await register_node(world, NODE, world.node_address)
            async with Scope() as scope:
                running = scope.start(world.manager.run())
                try:
                    await world.settle()
                    yield world
                finally:
                    world.manager.stop()
                    await running
    finally:
        await machine.close()


async def register_node(world: World, name: str, address: str) -> None:
    await world.client.create({"metadata": {"name": name}}, kind=NODES)
    status = {"status": {"addresses": [{"type": "InternalIP", "address": address}]}}
    await world.client.patch(NODES, name, status, subresource="status")


class TcpServer:
    """Answers each line with its own name and the line, and says goodbye."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address
        self.node = NODE
        self.conditions: dict[str, bool] = {}
        self.is_expected = True
        self.connections = 0
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> TcpServer:
        self._server = await asyncio.start_server(self._serve, self.address, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while line := await reader.readline():
                writer.write(self.name.encode() + b" " + line)
                await writer.drain()
            writer.write(b"bye\n")
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.connections -= 1
            writer.close()

    def close(self) -> None:
        assert self._server is not None
        self._server.close()


class UdpServer(asyncio.DatagramProtocol):
    def __init__(self, name: str, address: str) -> None:
        self.name, self.address, self.port, self.node = name, address, 0, NODE
        self.conditions: dict[str, bool] = {}
        self.is_expected = True

    async def start(self) -> UdpServer:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=(self.address, self.port)
        )
        self.port = self._transport.get_extra_info("sockname")[1]
        return self

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._transport.sendto(self.name.encode() + b" " + data, addr)

    def close(self) -> None:
        self._transport.close()


async def ask(address: str, port: int, text: str = "hi") -> str:
    """What a server says to one line on a connection of its own."""
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection(address, port)
        try:
            writer.write(text.encode() + b"\n")
            return (await reader.readline()).decode().strip()
        finally:
            writer.close()
            await writer.wait_closed()


@contextmanager
def udp_client(address: str, port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        sock.connect((address, port))
        yield sock
