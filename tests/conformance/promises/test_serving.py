"""Services lead to pods, whatever kind of service and of address: what the public tests of the same names do."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator

import pytest

from steersman.objects.resources import ENDPOINT_SLICES, PODS, SERVICES
from steersman.testing import eventually

from .serving import (
    NAMESPACE,
    PATIENCE_S,
    Object,
    Running,
    Serving,
    answers,
    can_serve,
    get,
    promise,
    promised,
    running_cluster,
)

pytestmark = pytest.mark.skipif(not can_serve(), reason="needs rights to listen at low ports")


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with running_cluster() as found:
        yield found


def address_of(service: Object) -> str:
    return str(service["spec"]["clusterIP"])


def node_port(service: Object) -> int:
    return int(service["spec"]["ports"][0]["nodePort"])


async def until(ask: Callable[[], Awaitable[object]], wanted: object) -> None:
    async def so() -> bool:
        found = await ask()
        assert found == wanted
        return True

    await eventually(so, PATIENCE_S)


async def said(address: str, port: int) -> str:
    """What answers a datagram; empty if nothing does."""

    def ask() -> str:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(1)
            try:
                sock.connect((address, port))
                sock.send(b"who?")
                return sock.recv(1000).decode()
            except OSError:
                return ""

    return await asyncio.to_thread(ask)


@promise("Services should serve a basic endpoint from pods")
async def test_basic_endpoint(world: Serving) -> None:
    address = address_of(await world.service("basic"))
    assert await get(address, 80) == ""
    await world.serve("basic-1", 8080)
    await until(lambda: get(address, 80), "basic-1")
    await world.serve("basic-2", 8080)
    await until(lambda: _both(address, 80), {"basic-1", "basic-2"})
    await world.client.delete(PODS, "basic-1")
    await until(lambda: _both(address, 80), {"basic-2"})
    await world.client.delete(PODS, "basic-2")
    await until(lambda: get(address, 80), "")


async def _both(address: str, port: int) -> set[str]:
    return set(await answers(lambda: get(address, port), 6))


@promise("Services should serve multiport endpoints from pods")
async def test_multiport(world: Serving) -> None:
    ports = [
        {"name": "one", "port": 80, "targetPort": 8101},
        {"name": "two", "port": 81, "targetPort": 8102},
    ]
    address = address_of(await world.service("multi", *ports))
    await asyncio.gather(world.serve("multi-1", 8101), world.serve("multi-2", 8102))
    await until(lambda: _both(address, 80), {"multi-1"})
    await until(lambda: _both(address, 81), {"multi-2"})


@promise("Services should serve endpoints on same port and different protocols")
async def test_same_port_two_protocols(world: Serving) -> None:
    ports = [
        {"name": "tcp", "port": 80, "protocol": "TCP", "targetPort": 8080},
        {"name": "udp", "port": 80, "protocol": "UDP", "targetPort": 8080},
    ]
    address = address_of(await world.service("protocols", *ports))
    await world.serve("protocols-1", 8080, udp=(8080,))
    await until(lambda: get(address, 80), "protocols-1")
    await until(lambda: said(address, 80), "protocols-1")
    await world.client.patch(SERVICES, "protocols", {"spec": {"ports": ports[:1]}})
    await until(lambda: said(address, 80), "")
    assert await get(address, 80) == "protocols-1"


@promise("Services should be able to create a functioning NodePort service")
async def test_node_port(world: Serving) -> None:
    service = await world.service("nodeport", type="NodePort")
    await asyncio.gather(*(world.serve(f"nodeport-{number}", 8080) for number in (1, 2)))
    for address in (world.node_address, "127.0.0.1"):
        await until(lambda at=address: _both(at, node_port(service)), {"nodeport-1", "nodeport-2"})


async def _sticks(address: str, port: int) -> bool:
    found = await answers(lambda: get(address, port))
    return len(found) == 1 and "" not in found


async def _check_affinity(world: Serving, name: str, kind: str, switch: bool) -> None:
    service = await world.service(name, type=kind, sessionAffinity="None" if switch else "ClientIP")
    await asyncio.gather(*(world.serve(f"{name}-{number}", 8080) for number in (1, 2, 3)))
    is_inside = kind == "ClusterIP"
    at = (address_of(service), 80) if is_inside else (world.node_address, node_port(service))
    if switch:
        await until(lambda: _both(*at), {f"{name}-{number}" for number in (1, 2, 3)})
        await world.change(name, sessionAffinity="ClientIP")
    await until(lambda: _sticks(*at), True)
    if switch:
        await world.change(name, sessionAffinity="None")
        await until(lambda: _both(*at), {f"{name}-{number}" for number in (1, 2, 3)})


AFFINITY = {
    promised("Services should have session affinity work for service with type clusterIP"): (
        "ClusterIP",
        False,
    ),
    promised("Services should have session affinity work for NodePort service"): ("NodePort", False),
    promised("Services should be able to switch session affinity for service with type clusterIP"): (
        "ClusterIP",
        True,
    ),
    promised("Services should be able to switch session affinity for NodePort service"): ("NodePort", True),
}


@pytest.mark.parametrize(("kind", "switch"), AFFINITY.values(), ids=AFFINITY.keys())
def test_session_affinity(running: Running, kind: str, switch: bool) -> None:
    runner, world = running
    runner.run(_check_affinity(world, f"affinity{kind.lower()}{switch:d}", kind, switch))


@promise("Services should be able to change the type from ExternalName to ClusterIP")
async def test_external_name_becomes_cluster_ip(world: Serving) -> None:
    await world.service("turned", type="ExternalName", externalName="foo.example.com")
    ports = [{"port": 80, "targetPort": 8080}]
    service = await world.change(
        "turned", type="ClusterIP", externalName=None, ports=ports, selector={"app": "turned"}
    )
    await world.serve("turned-1", 8080)
    await until(lambda: get(address_of(service), 80), "turned-1")


@promise("Services should be able to change the type from ExternalName to NodePort")
async def test_external_name_becomes_node_port(world: Serving) -> None:
    await world.service("opened", type="ExternalName", externalName="foo.example.com")
    ports = [{"port": 80, "targetPort": 8080}]
    service = await world.change(
        "opened", type="NodePort", externalName=None, ports=ports, selector={"app": "opened"}
    )
    await world.serve("opened-1", 8080)
    await until(lambda: get(world.node_address, node_port(service)), "opened-1")
    await until(lambda: get(address_of(service), 80), "opened-1")


async def _becomes_external(world: Serving, name: str, kind: str) -> None:
    address = address_of(await world.service(name, type=kind))
    await world.serve(f"{name}-1", 8080)
    await until(lambda: get(address, 80), f"{name}-1")
    target = f"target-of-{name}"
    await world.service(target, selector={"app": name})
    full = f"{target}.{NAMESPACE}.svc.cluster.local"
    await world.change(
        name, type="ExternalName", externalName=full, clusterIP=None, clusterIPs=None, ports=None
    )
    await until(lambda: get(address, 80), "")
    found = await world.last_word(
        f"asks-{name}",
        f"import urllib.request; print(urllib.request.urlopen('http://{name}', timeout=20).read().decode())",
    )
    assert found == f"{name}-1"


@promise("Services should be able to change the type from ClusterIP to ExternalName")
async def test_cluster_ip_becomes_external_name(world: Serving) -> None:
    await _becomes_external(world, "closed", "ClusterIP")


@promise("Services should be able to change the type from NodePort to ExternalName")
async def test_node_port_becomes_external_name(world: Serving) -> None:
    await _becomes_external(world, "gone", "NodePort")


async def _slice(world: Serving, name: str, ports: list[Object], *pods: Object) -> None:
    endpoints = [
        {"addresses": [pod["status"]["podIP"]], "conditions": {"ready": True, "serving": True}}
        for pod in pods
    ]
    labels = {"kubernetes.io/service-name": name.rpartition("-")[0]}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    body = {"metadata": metadata, "addressType": "IPv4", "ports": ports, "endpoints": endpoints}
    await world.client.create(body, kind=ENDPOINT_SLICES)


@promise("EndpointSlice should support a Service with multiple ports specified in multiple EndpointSlices")
async def test_ports_of_several_slices(world: Serving) -> None:
    ports = [
        {"name": "one", "port": 8090, "targetPort": 8101},
        {"name": "two", "port": 8091, "targetPort": 8102},
    ]
    address = address_of(await world.service("sliced", *ports, selector=None))
    one, two = await asyncio.gather(world.serve("sliced-1", 8101), world.serve("sliced-2", 8102))
    await _slice(world, "sliced-a", [{"name": "one", "port": 8101}], one)
    await _slice(world, "sliced-b", [{"name": "two", "port": 8102}], two)
    await until(lambda: get(address, 8090), "sliced-1")
    await until(lambda: get(address, 8091), "sliced-2")


@promise(
    "EndpointSlice should support a Service with multiple endpoint IPs specified in multiple EndpointSlices"
)
async def test_addresses_of_several_slices(world: Serving) -> None:
    address = address_of(await world.service("spread", {"name": "main", "port": 80}, selector=None))
    one, two = await asyncio.gather(world.serve("spread-1", 8080), world.serve("spread-2", 8080))
    await _slice(world, "spread-a", [{"name": "main", "port": 8080}], one)
    await _slice(world, "spread-b", [{"name": "main", "port": 8080}], two)
    await until(lambda: _both(address, 80), {"spread-1", "spread-2"})


@promise("Networking Granular Checks: Pods should function for intra-pod communication: http")
async def test_pods_reach_pods_by_http(world: Serving) -> None:
    address = (await world.serve("peer-http", 8080))["status"]["podIP"]
    url = f"http://{address}:8080/"
    script = f"import urllib.request; print(urllib.request.urlopen({url!r}, timeout=20).read().decode())"
    assert await world.last_word("asks-http", script) == "peer-http"


@promise("Networking Granular Checks: Pods should function for intra-pod communication: udp")
async def test_pods_reach_pods_by_datagrams(world: Serving) -> None:
    address = (await world.serve("peer-udp", 8080, udp=(8081,)))["status"]["podIP"]
    script = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(20);"
        f"s.sendto(b'who?', ({address!r}, 8081)); print(s.recv(1000).decode())"
    )
    assert await world.last_word("asks-udp", script) == "peer-udp"


@promise("Networking Granular Checks: Pods should function for node-pod communication: http")
async def test_node_reaches_pods_by_http(world: Serving) -> None:
    pod = await world.serve("near-http", 8080)
    assert await get(pod["status"]["podIP"], 8080) == "near-http"


@promise("Networking Granular Checks: Pods should function for node-pod communication: udp")
async def test_node_reaches_pods_by_datagrams(world: Serving) -> None:
    pod = await world.serve("near-udp", 8080, udp=(8081,))
    await until(lambda: said(pod["status"]["podIP"], 8081), "near-udp")
