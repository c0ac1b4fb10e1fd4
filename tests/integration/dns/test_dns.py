"""The DNS server of a cluster: real questions by UDP and TCP, an API server behind it."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.client import Client
from steersman.cluster.dns import ClusterDns, add_dns
from steersman.cluster.dns.forwarding import Forwarding
from steersman.cluster.dns.wire import DnsMessage, RecordType, ResponseCode, address_record, read, text_of
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.machine import open_machine
from steersman.objects.resources import ENDPOINT_SLICES, SERVICES
from steersman.runtime import Manager
from steersman.testing import eventually
from tests.integration.dns.resolver import PlayedResolver, addresses, ask, ask_by_tcp, ask_bytes

Object = dict[str, Any]


class World:
    def __init__(self, client: Client, dns: ClusterDns, resolver: PlayedResolver) -> None:
        self.client = client
        self.dns = dns
        self.resolver = resolver

    async def ask(self, name: str, kind: int = RecordType.A, **options: Any) -> DnsMessage:
        return await ask(self.dns.address, self.dns.port, name, kind, **options)

    async def service(self, name: str, **spec: Any) -> Object:
        ports = [{"name": "http", "port": 8080}]
        body = {"metadata": {"name": name, "namespace": "default"}, "spec": {"ports": ports, **spec}}
        return await self.client.create(body, kind=SERVICES)

    async def endpoints(self, service: str, *found: str) -> None:
        body = {
            "metadata": {
                "name": f"{service}-1",
                "namespace": "default",
                "labels": {"kubernetes.io/service-name": service},
            },
            "addressType": "IPv4",
            "ports": [{"name": "http", "port": 8080}],
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}} for address in found],
        }
        await self.client.create(body, kind=ENDPOINT_SLICES)


def outside(query: DnsMessage) -> DnsMessage | None:
    """What the rest of the world has: one name, and one that nobody answers for."""
    assert query.question is not None
    name = text_of(query.question.name).lower()
    if name == "silent.example.":
        return None
    answer = DnsMessage(query.number, query.question, is_response=True, payload=query.payload)
    if name == "example.com.":
        answer.answers.append(address_record(query.question.name, "192.0.2.7", 60))
    else:
        answer.code = ResponseCode.NXDOMAIN
    return answer


@asynccontextmanager
async def named() -> AsyncIterator[World]:
    machine = await open_machine(as_root=False)
    resolver = PlayedResolver(outside)
    try:
        at = await resolver.start("127.0.0.1")
        # The first is the server itself, as a machine may have it that uses the cluster's names.
        resolvers = [(machine.dns_address, 53), at]
        config = ClusterConfig(service_cidr=str(machine.ranges.services), loopback_endpoints=True)
        async with LocalCluster(config) as cluster:
            manager = Manager(cluster.client(user_agent="dns"), address=None)
            dns = add_dns(manager, machine, forwarding=Forwarding(lambda: resolvers, timeout_s=0.5))
            async with Scope() as scope:
                running = scope.start(manager.run())
                await asyncio.wait_for(dns.listening.wait(), 20)
                try:
                    yield World(cluster.client(), dns, resolver)
                finally:
                    manager.stop()
                    await running
    finally:
        resolver.close()
        await machine.close()


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[asyncio.Runner, World]]:
    with asyncio.Runner() as runner:
        context = named()
        world = runner.run(context.__aenter__())
        try:
            yield runner, world
        finally:
            runner.run(context.__aexit__(None, None, None))


def in_world(
    test: Callable[[World], Coroutine[Any, Any, None]],
) -> Callable[[tuple[asyncio.Runner, World]], None]:
    def run(running: tuple[asyncio.Runner, World]) -> None:
        runner, world = running
        runner.run(test(world))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@in_world
async def test_service_is_found_by_its_name(world: World) -> None:
    service = await world.service("web")

    async def found() -> DnsMessage | None:
        answer = await world.ask("web.default.svc.cluster.local")
        return answer if answer.answers else None

    answer = await eventually(found)
    assert addresses(answer) == [service["spec"]["clusterIP"]]
    assert (answer.code, answer.authoritative, answer.answers[0].ttl) == (ResponseCode.NOERROR, True, 5)
    assert addresses(await world.ask("web.default.svc.cluster.local", by_tcp=True)) == addresses(answer)


@in_world
async def test_missing_name_and_missing_record_differ(world: World) -> None:
    missing = await world.ask("nowhere.default.svc.cluster.local")
    assert missing.code == ResponseCode.NXDOMAIN
    assert [record.kind for record in missing.authority] == [RecordType.SOA]
    empty = await world.ask("kubernetes.default.svc.cluster.local", RecordType.AAAA)
    assert (empty.code, empty.answers) == (ResponseCode.NOERROR, [])
    assert [record.kind for record in empty.authority] == [RecordType.SOA]


@in_world
async def test_spelling_of_the_question_is_kept(world: World) -> None:
    answer = await world.ask("KuberNETES.default.svc.cluster.LOCAL")
    assert answer.question is not None
    assert text_of(answer.question.name) == "KuberNETES.default.svc.cluster.LOCAL."
    assert text_of(answer.answers[0].name) == "KuberNETES.default.svc.cluster.LOCAL."


@in_world
async def test_cluster_knows_where_dns_is(world: World) -> None:
    async def made() -> Object | None:
        return await world.client.find(ENDPOINT_SLICES, "kube-dns", "kube-system")

    found = await eventually(made)
    assert found["endpoints"][0]["addresses"] == [world.dns.address]
    assert {port["port"] for port in found["ports"]} == {world.dns.port}
    service = await world.client.get(SERVICES, "kube-dns", "kube-system")
    assert service["spec"]["clusterIP"] == world.dns.address


@in_world
async def test_reverse_name_of_a_service(world: World) -> None:
    reverse = ".".join(reversed(world.dns.address.split("."))) + ".in-addr.arpa"

    async def found() -> DnsMessage | None:
        answer = await world.ask(reverse, RecordType.PTR)
        return answer if answer.answers else None

    answer = await eventually(found)
    assert answer.answers[0].target is not None
    assert text_of(answer.answers[0].target) == "kube-dns.kube-system.svc.cluster.local."


@in_world
async def test_many_endpoints_come_in_pieces_or_by_tcp(world: World) -> None:
    await world.service("crowd", clusterIP="None")
    await world.endpoints("crowd", *(f"127.244.9.{number}" for number in range(1, 101)))
    await eventually(lambda: world.dns.slices("default", "crowd"))
    small = await world.ask("crowd.default.svc.cluster.local")
    assert small.truncated
    large = await world.ask("crowd.default.svc.cluster.local", payload=4096)
    assert (large.truncated, len(large.answers), large.payload) == (False, 100, 1232)
    whole = await world.ask("crowd.default.svc.cluster.local", by_tcp=True)
    assert (whole.truncated, len(whole.answers)) == (False, 100)


@in_world
async def test_other_names_are_asked_for_elsewhere(world: World) -> None:
    answer = await world.ask("example.com")
    assert addresses(answer) == ["192.0.2.7"]
    assert not answer.authoritative
    assert (await world.ask("nothing.example")).code == ResponseCode.NXDOMAIN
    assert (await world.ask("silent.example")).code == ResponseCode.SERVFAIL
    assert not any(name.endswith("cluster.local") for name in world.resolver.asked)


@in_world
async def test_external_name_is_followed(world: World) -> None:
    await world.service("mirror", type="ExternalName", externalName="example.com", ports=None)
    await world.service("inner", type="ExternalName", externalName="mirror.default.svc.cluster.local")
    await eventually(lambda: world.dns.service("default", "inner"))
    answer = await world.ask("inner.default.svc.cluster.local")
    assert [record.kind for record in answer.answers] == [RecordType.CNAME, RecordType.CNAME, RecordType.A]
    assert addresses(answer) == ["192.0.2.7"]
    await world.service("loop", type="ExternalName", externalName="loop.default.svc.cluster.local")
    await eventually(lambda: world.dns.service("default", "loop"))
    assert (await world.ask("loop.default.svc.cluster.local")).code == ResponseCode.NOERROR


@in_world
async def test_hosts_lines_name_all_services(world: World) -> None:
    address = (await world.client.get(SERVICES, "kubernetes", "default"))["spec"]["clusterIP"]
    names = "kubernetes.default.svc.cluster.local kubernetes.default.svc kubernetes.default"
    assert f"{address}\t{names} kubernetes" in world.dns.hosts_lines("default")
    assert f"{address}\t{names}" in world.dns.hosts_lines("kube-system")


REFUSED = {
    "no bytes of a question": (
        b"\x12\x67" + b"\0" * 2 + b"\0\x01" + b"\0" * 6 + b"\x41",
        ResponseCode.FORMERR,
    ),
    "no question": (b"\x12\x67" + b"\0" * 10, ResponseCode.FORMERR),
    "an update": (b"\x12\x67\x28\0\0\1" + b"\0" * 6 + b"\1a\0\0\1\0\1", ResponseCode.NOTIMP),
    "class CHAOS": (b"\x12\x67\0\0\0\1" + b"\0" * 6 + b"\1a\0\0\x10\0\3", ResponseCode.REFUSED),
    "a transfer": (b"\x12\x67\0\0\0\1" + b"\0" * 6 + b"\1a\0\0\xfc\0\1", ResponseCode.REFUSED),
}


@pytest.mark.parametrize(("data", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_question_for_us_is_refused(
    running: tuple[asyncio.Runner, World], data: bytes, code: int
) -> None:
    runner, world = running
    for way in (ask_bytes, ask_by_tcp):
        answer = read(runner.run(way(world.dns.address, world.dns.port, data)))
        assert (answer.number, answer.code) == (0x1267, code)


@in_world
async def test_nonsense_is_no_end(world: World) -> None:
    """By UDP and TCP; the server answers sensible questions after it as before."""
    chance = random.Random(53)
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        sock.connect((world.dns.address, world.dns.port))
        for _ in range(300):
            await loop.sock_sendall(sock, chance.randbytes(chance.randrange(1, 600)))
    for size in (1, 2, 40, 3000):
        reader, writer = await asyncio.open_connection(world.dns.address, world.dns.port)
        writer.write(chance.randbytes(size))
        writer.write_eof()
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(20):
                await reader.read()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    answer = await world.ask("kubernetes.default.svc.cluster.local")
    assert len(answer.answers) == 1
