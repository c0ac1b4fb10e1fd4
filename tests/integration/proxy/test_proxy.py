"""Services answer at their addresses: an API server, the proxy with its process, and real connections."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from steersman.objects.resources import EVENTS, SERVICES
from steersman.testing import eventually
from tests.integration.proxy.world import (
    PATIENCE_S,
    World,
    ask,
    proxied,
    register_node,
    udp_client,
)
from tests.support.ports import free_port

Test = Callable[[World], Coroutine[Any, Any, None]]


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[asyncio.Runner, World]]:
    with asyncio.Runner() as runner:
        context = proxied()
        world = runner.run(context.__aenter__())
        try:
            yield runner, world
        finally:
            runner.run(context.__aexit__(None, None, None))


def in_world(test: Test) -> Callable[[tuple[asyncio.Runner, World]], None]:
    """Make a test of an async function that takes the module's world."""

    def run(running: tuple[asyncio.Runner, World]) -> None:
        runner, world = running
        try:
            runner.run(test(world))
        finally:
            world.close_servers()

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@in_world
async def test_connections_are_spread_over_ready_endpoints(world: World) -> None:
    a, b, c = await world.tcp("a", "b", "c")
    c.conditions = {"ready": False, "serving": False}
    c.is_expected = False
    port = free_port()
    address = await world.service("spread", port=port)
    await world.endpoints("spread", a, b, c)
    answers = [await ask(address, port) for _ in range(10)]
    assert sorted(answers) == ["a hi"] * 5 + ["b hi"] * 5


@in_world
async def test_service_without_endpoints_refuses_at_once(world: World) -> None:
    (a,) = await world.tcp("a")
    port = free_port()
    address = await world.service("empty", port=port)
    await world.endpoints("empty")
    with pytest.raises(ConnectionRefusedError):
        await ask(address, port)
    await world.endpoints("empty", a)
    assert await ask(address, port) == "a hi"
    await world.endpoints("empty")
    with pytest.raises(ConnectionRefusedError):
        await ask(address, port)


@in_world
async def test_connection_outlives_its_endpoint_and_new_ones_go_elsewhere(world: World) -> None:
    a, b = await world.tcp("a", "b")
    port = free_port()
    address = await world.service("drained", port=port)
    await world.endpoints("drained", a)
    reader, writer = await asyncio.open_connection(address, port)
    writer.write(b"1\n")
    assert await reader.readline() == b"a 1\n"
    await world.endpoints("drained", b)
    assert await ask(address, port) == "b hi"
    writer.write(b"2\n")
    assert await reader.readline() == b"a 2\n"
    await world.client.delete(SERVICES, "drained", "default")
    await world.settle(lambda: ("default", "drained") not in world.proxy._routes)
    with pytest.raises(ConnectionRefusedError):
        await ask(address, port)
    writer.write(b"3\n")
    assert await reader.readline() == b"a 3\n"
    writer.close()
    await writer.wait_closed()


@in_world
async def test_endpoint_that_refuses_costs_no_connection(world: World) -> None:
    a, b = await world.tcp("a", "b")
    port = free_port()
    address = await world.service("refusing", port=port)
    await world.endpoints("refusing", a, b)
    b.close()
    assert {await ask(address, port) for _ in range(6)} == {"a hi"}


@in_world
async def test_terminating_endpoint_serves_when_nothing_is_ready(world: World) -> None:
    a, b = await world.tcp("a", "b")
    b.conditions = {"ready": False, "serving": True, "terminating": True}
    b.is_expected = False
    port = free_port()
    address = await world.service("terminating", port=port)
    await world.endpoints("terminating", a, b)
    assert {await ask(address, port) for _ in range(4)} == {"a hi"}
    b.is_expected = True
    await world.endpoints("terminating", b)
    assert await ask(address, port) == "b hi"


@in_world
async def test_each_direction_ends_by_itself(world: World) -> None:
    (a,) = await world.tcp("a")
    port = free_port()
    address = await world.service("halves", port=port)
    await world.endpoints("halves", a)
    reader, writer = await asyncio.open_connection(address, port)
    writer.write(b"last\n")
    writer.write_eof()
    async with asyncio.timeout(PATIENCE_S):
        assert await reader.read() == b"a last\nbye\n"
    writer.close()
    await writer.wait_closed()
    await eventually(lambda: a.connections == 0)


@in_world
async def test_reset_is_passed_on(world: World) -> None:
    (a,) = await world.tcp("a")
    port = free_port()
    address = await world.service("resets", port=port)
    await world.endpoints("resets", a)
    sock = socket.create_connection((address, port))
    await eventually(lambda: a.connections == 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    sock.close()
    await eventually(lambda: a.connections == 0)


@in_world
async def test_many_bytes_arrive_whole_and_a_slow_reader_slows_the_sender(world: World) -> None:
    received, may_read = bytearray(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await may_read.wait()
        while data := await reader.read(1 << 16):
            received.extend(data)
        writer.close()

    (a,) = await world.tcp("a")
    a.close()
    sink = await asyncio.start_server(serve, a.address, 0, limit=1 << 12)
    a.port = sink.sockets[0].getsockname()[1]
    port = free_port()
    address = await world.service("bytes", port=port)
    await world.endpoints("bytes", a)
    sent = os.urandom(1 << 16) * 512
    reader, writer = await asyncio.open_connection(address, port)
    writer.write(sent)
    draining = asyncio.ensure_future(writer.drain())
    done, _ = await asyncio.wait((draining,), timeout=0.3)
    assert not done, "32 MB were taken though nobody reads"
    may_read.set()
    await draining
    writer.write_eof()
    async with asyncio.timeout(PATIENCE_S):
        assert await reader.read() == b""
    assert received == sent
    writer.close()
    await writer.wait_closed()
    sink.close()


@in_world
async def test_client_stays_with_its_endpoint(world: World) -> None:
    a, b = await world.tcp("a", "b")
    port = free_port()
    address = await world.service("sticky", port=port, sessionAffinity="ClientIP")
    await world.endpoints("sticky", a, b)
    first = await ask(address, port)
    assert {await ask(address, port) for _ in range(6)} == {first}
    kept, other = (a, b) if first == "a hi" else (b, a)
    await world.endpoints("sticky", other)
    assert await ask(address, port) == f"{other.name} hi"
    await world.endpoints("sticky", kept, other)
    assert await ask(address, port) == f"{other.name} hi"


@in_world
async def test_node_port_and_load_balancer_answer(world: World) -> None:
    (a,) = await world.tcp("a")
    port = free_port()
    await world.service("outside", port=port, type="LoadBalancer")
    await world.endpoints("outside", a)
    service = await world.client.get(SERVICES, "outside", "default")
    node_port = service["spec"]["ports"][0]["nodePort"]
    assert await ask(world.node_address, node_port) == "a hi"
    balancer = str(world.machine.ranges.load_balancers[7])
    status = {"status": {"loadBalancer": {"ingress": [{"ip": balancer}]}}}
    await world.client.patch(SERVICES, "outside", status, "default", subresource="status")
    assert await eventually(lambda: _answer(balancer, port)) == "a hi"


async def _answer(address: str, port: int) -> str:
    try:
        return await ask(address, port)
    except OSError:
        return ""


@in_world
async def test_load_balancer_lets_in_only_whom_it_should(world: World) -> None:
    (a,) = await world.tcp("a")
    port = free_port()
    await world.service("guarded", port=port, type="LoadBalancer", loadBalancerSourceRanges=["192.0.2.0/24"])
    balancer = str(world.machine.ranges.load_balancers[8])
    status = {"status": {"loadBalancer": {"ingress": [{"ip": balancer}]}}}
    await world.client.patch(SERVICES, "guarded", status, "default", subresource="status")
    await world.endpoints("guarded", a)
    await world.settle(lambda: any(each.address == balancer for each in world.proxy._owners))
    assert await _answer(balancer, port) == ""
    patch = {"spec": {"loadBalancerSourceRanges": ["127.0.0.0/8"]}}
    await world.client.patch(SERVICES, "guarded", patch, "default")
    assert await eventually(lambda: _answer(balancer, port)) == "a hi"


@in_world
async def test_local_traffic_stays_on_the_machines_nodes(world: World) -> None:
    a, b = await world.tcp("a", "b")
    b.node, b.is_expected = "elsewhere", False
    await register_node(world, "elsewhere", "203.0.113.9")
    port = free_port()
    address = await world.service("near", port=port, internalTrafficPolicy="Local")
    await world.endpoints("near", a, b)
    assert {await ask(address, port) for _ in range(4)} == {"a hi"}


@in_world
async def test_local_node_port_answers_at_addresses_of_all_nodes(world: World) -> None:
    (a,) = await world.tcp("a")
    await world.service("kept", port=free_port(), type="NodePort", externalTrafficPolicy="Local")
    await world.endpoints("kept", a)
    service = await world.client.get(SERVICES, "kept", "default")
    node_port = service["spec"]["ports"][0]["nodePort"]
    assert await ask(world.node_address, node_port) == "a hi"
    assert await ask(world.everybodys_address, node_port) == "a hi"


@in_world
async def test_health_check_tells_of_local_endpoints(world: World) -> None:
    (a,) = await world.tcp("a")
    await world.service("checked", port=free_port(), type="LoadBalancer", externalTrafficPolicy="Local")
    await world.endpoints("checked")
    service = await world.client.get(SERVICES, "checked", "default")
    port = service["spec"]["healthCheckNodePort"]

    async def status() -> bytes:
        reader, writer = await asyncio.open_connection(world.node_address, port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        async with asyncio.timeout(PATIENCE_S):
            answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer

    answer = await status()
    assert answer.startswith(b"HTTP/1.1 503 ")
    await world.endpoints("checked", a)
    answer = await status()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"localEndpoints": 1' in answer


@in_world
async def test_datagrams_are_answered_and_follow_endpoints(world: World) -> None:
    a, b = await world.udp("a", "b")
    port = free_port()
    address = await world.service("datagrams", port=port, protocol="UDP")
    await world.endpoints("datagrams", a)
    with udp_client(address, port) as sock:

        async def answer(text: bytes) -> bytes:
            sock.send(text)
            async with asyncio.timeout(PATIENCE_S):
                return await asyncio.get_running_loop().sock_recv(sock, 100)

        assert await answer(b"1") == b"a 1"
        assert await answer(b"2") == b"a 2"
        await world.endpoints("datagrams", b)
        assert await answer(b"3") == b"b 3"


@in_world
async def test_service_of_the_api_leads_to_the_api(world: World) -> None:
    (route,) = world.proxy._routes[("default", "kubernetes")].values()  # type: ignore[index]
    assert [(each.address, each.port) for each in route.backends] == [("127.0.0.1", world.cluster.port)]


@in_world
async def test_address_that_somebody_else_has_is_told_and_tried_again(world: World) -> None:
    (a,) = await world.tcp("a")
    with socket.socket() as wildcard:
        wildcard.bind(("0.0.0.0", 0))
        wildcard.listen()
        port = wildcard.getsockname()[1]
        address = await world.service("taken", port=port)
        a.is_expected = False
        await world.endpoints("taken", a)
        (event,) = await eventually(lambda: _refusals(world), PATIENCE_S)
        assert "0.0.0.0" in event["note"]
    assert await eventually(lambda: _answer(address, port), PATIENCE_S) == "a hi"


async def _refusals(world: World) -> list[dict[str, Any]]:
    events = await world.client.list(EVENTS, "default")
    refused = [each for each in events if each["reason"] == "FailedToListen"]
    return [each for each in refused if each["regarding"]["name"] == "taken"]


@in_world
async def test_killed_forwarder_is_replaced(world: World) -> None:
    (a,) = await world.tcp("a")
    port = free_port()
    address = await world.service("killed", port=port)
    await world.endpoints("killed", a)
    pid = world.proxy.forwarder.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: world.proxy.forwarder.pid not in (None, pid))
    assert await eventually(lambda: _answer(address, port)) == "a hi"
