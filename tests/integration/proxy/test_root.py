"""The same as root: addresses of the cluster's own ranges are on this machine while they are needed."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from steersman.cluster.machine import MachineError, open_machine
from steersman.cluster.machine.netlink import Netlink
from steersman.objects.resources import SERVICES
from steersman.testing import eventually
from tests.integration.proxy.world import PATIENCE_S, World, ask, proxied
from tests.support.ports import free_port


def _may_add_addresses() -> bool:
    async def probe() -> None:
        await (await open_machine(as_root=True)).close()

    try:
        asyncio.run(probe())
    except MachineError:
        return False
    return True


pytestmark = pytest.mark.skipif(not _may_add_addresses(), reason="needs rights to add addresses")


def left_of(world: World) -> list[str]:
    """What is on the machine of a cluster's ranges."""
    netlink = Netlink()
    try:
        found = [*netlink.addresses(), *(network.network_address for network in netlink.blackholes())]
    finally:
        netlink.close()
    return [str(each) for each in found if any(each in network for network in world.machine.ranges)]


async def _reads_version(address: str, ca: bytes) -> bytes:
    context = ssl.create_default_context(cadata=ca.decode())
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection(
            address, 443, ssl=context, server_hostname="kubernetes"
        )
        writer.write(b"GET /version HTTP/1.1\r\nHost: kubernetes\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer


def test_services_answer_at_their_own_addresses_and_nothing_is_left() -> None:
    async def body() -> None:
        async with proxied(as_root=True) as world:
            (a,) = await world.tcp("a")
            port = free_port()
            address = await world.service("web", port=port)
            await world.endpoints("web", a)
            assert await ask(address, port) == "a hi"
            assert address in left_of(world)

            kubernetes = str(world.machine.ranges.services[1])
            assert b'"major"' in await _reads_version(kubernetes, world.cluster.authority.pem)

            reader, writer = await asyncio.open_connection(address, port)
            await world.client.delete(SERVICES, "web", "default")
            await world.settle(lambda: ("default", "web") not in world.proxy._claims)
            assert address in left_of(world), "a connection needs it"
            writer.write(b"still\n")
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.readline() == b"a still\n"
            writer.close()
            await writer.wait_closed()
            await eventually(lambda: address not in left_of(world), PATIENCE_S)
            world.close_servers()
        assert left_of(world) == []

    asyncio.run(body())
