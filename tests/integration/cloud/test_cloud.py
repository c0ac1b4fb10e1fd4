"""A cloud's controllers with an API server, in virtual time: a cloud that is played, and the local one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from steersman.aio import Scope
from steersman.client import Client
from steersman.cluster.cloud import InstanceMetadata, Provider, Route, add_cloud
from steersman.cluster.cloud.local import local_provider
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.objects.resources import EVENTS, NODES, SERVICES
from steersman.runtime import Manager
from steersman.testing.waiting import eventually
from tests.sim.virtual_time import VirtualClock, run_virtual

Object = dict[str, Any]
Test = Callable[[Client, "PlayedCloud"], Awaitable[None]]

FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
UNINITIALIZED = {
    "key": "node.cloudprovider.kubernetes.io/uninitialized",
    "effect": "NoSchedule",
    "value": "true",
}


class PlayedCloud:
    """Everything a cloud can have. It notes what it was asked for."""

    name = "played"

    def __init__(self) -> None:
        self.balancers: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.failing = False
        self.machines: dict[str, InstanceMetadata] = {}
        self.off: set[str] = set()
        self.table: dict[str, Route] = {}
        self.load_balancers = _Balancers(self)
        self.instances = _Machines(self)
        self.routes = _Table(self)


class _Balancers:
    def __init__(self, cloud: PlayedCloud) -> None:
        self._cloud = cloud

    async def exists(self, service: Object) -> bool:
        return service["metadata"]["name"] in self._cloud.balancers

    async def ensure(self, service: Object, nodes: Sequence[Object]) -> list[Object]:
        self._cloud.asked.append("ensure")
        if self._cloud.failing:
            raise RuntimeError("the cloud is out of order")
        await self.update(service, nodes)
        return [{"ip": "203.0.113.1"}]

    async def update(self, service: Object, nodes: Sequence[Object]) -> None:
        self._cloud.asked.append("update")
        names = sorted(node["metadata"]["name"] for node in nodes)
        self._cloud.balancers[service["metadata"]["name"]] = names

    async def delete(self, service: Object) -> None:
        self._cloud.asked.append("delete")
        self._cloud.balancers.pop(service["metadata"]["name"], None)


class _Machines:
    def __init__(self, cloud: PlayedCloud) -> None:
        self._cloud = cloud

    async def exists(self, node: Object) -> bool:
        return node["metadata"]["name"] in self._cloud.machines

    async def is_shut_down(self, node: Object) -> bool:
        return node["metadata"]["name"] in self._cloud.off

    async def metadata(self, node: Object) -> InstanceMetadata | None:
        return self._cloud.machines.get(node["metadata"]["name"])


class _Table:
    def __init__(self, cloud: PlayedCloud) -> None:
        self._cloud = cloud

    async def list(self) -> list[Route]:
        return list(self._cloud.table.values())

    async def create(self, route: Route) -> None:
        if self._cloud.failing:
            raise RuntimeError("the cloud is out of order")
        self._cloud.table[route.cidr] = Route(route.node, route.cidr, f"route-to-{route.node}")

    async def delete(self, route: Route) -> None:
        del self._cloud.table[route.cidr]


def with_cloud(*names: str, local: bool = False) -> Callable[[Test], Callable[[], None]]:
    def decorate(test: Test) -> Callable[[], None]:
        async def body() -> None:
            async with LocalCluster(ClusterConfig(controllers=())) as cluster, Scope() as scope:
                manager = Manager(cluster.client(), clock=VirtualClock(), address=None)
                cloud = PlayedCloud()
                provider: Provider = local_provider(manager) if local else cloud
                add_cloud(manager, provider, names, pod_cidrs=["10.244.0.0/16"])
                running = scope.start(manager.run())
                await test(cluster.client(), cloud)
                running.cancel()

        def run() -> None:
            run_virtual(body())

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


def balanced(name: str = "web", **spec: Any) -> Object:
    ports = [{"port": 80, "protocol": "TCP"}]
    return {"metadata": {"name": name}, "spec": {"type": "LoadBalancer", "ports": ports, **spec}}


async def until_ingress(client: Client, *ips: str, name: str = "web") -> Object:
    async def holds() -> Object | None:
        service = await client.get(SERVICES, name)
        ingress = service["status"]["loadBalancer"].get("ingress") or []
        return service if tuple(one["ip"] for one in ingress) == ips else None

    return await eventually(holds, 60)


async def reasons(client: Client, name: str) -> list[str]:
    await asyncio.sleep(1)
    events = await client.list(EVENTS, "default")
    told = [event for event in events if event["regarding"].get("name") == name]
    told.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
    return [event["reason"] for event in told]


@with_cloud("service-lb")
async def test_the_life_of_a_load_balancer(client: Client, cloud: PlayedCloud) -> None:
    await client.create({"metadata": {"name": "n1"}}, kind=NODES)
    await client.create(balanced(), kind=SERVICES)
    service = await until_ingress(client, "203.0.113.1")
    assert service["metadata"]["finalizers"] == [FINALIZER]
    assert cloud.balancers == {"web": ["n1"]}
    # Another node, and then one that is none for it.
    await client.create({"metadata": {"name": "n2"}}, kind=NODES)
    await eventually(lambda: cloud.balancers == {"web": ["n1", "n2"]})
    label = {"metadata": {"labels": {"node.kubernetes.io/exclude-from-external-load-balancers": ""}}}
    await client.patch(NODES, "n1", label)
    await eventually(lambda: cloud.balancers == {"web": ["n2"]})
    asked = list(cloud.asked)
    await client.patch(SERVICES, "web", {"spec": {"selector": {"a": "b"}}})
    await asyncio.sleep(10)
    assert cloud.asked == asked  # nothing that a load balancer depends on
    await client.delete(SERVICES, "web")

    async def gone() -> bool:
        return await client.find(SERVICES, "web") is None

    await eventually(gone)
    assert cloud.balancers == {}
    assert await reasons(client, "web") == [
        "EnsuringLoadBalancer",
        "EnsuredLoadBalancer",
        "UpdatedLoadBalancer",
        "DeletingLoadBalancer",
        "DeletedLoadBalancer",
    ]


@with_cloud("service-lb")
async def test_a_service_of_another_type_has_none(client: Client, cloud: PlayedCloud) -> None:
    await client.create(balanced("elsewhere", loadBalancerClass="example.com/other"), kind=SERVICES)
    await client.create(balanced(), kind=SERVICES)
    await until_ingress(client, "203.0.113.1")
    await client.patch(SERVICES, "web", {"spec": {"type": "ClusterIP"}})
    await until_ingress(client)

    async def let_go() -> bool:
        return "finalizers" not in (await client.get(SERVICES, "web"))["metadata"]

    await eventually(let_go)
    assert cloud.balancers == {}
    assert "finalizers" not in (await client.get(SERVICES, "elsewhere"))["metadata"]


@with_cloud("service-lb")
async def test_a_cloud_that_fails_is_asked_again(client: Client, cloud: PlayedCloud) -> None:
    cloud.failing = True
    await client.create(balanced(), kind=SERVICES)
    await asyncio.sleep(10)
    assert "SyncLoadBalancerFailed" in await reasons(client, "web")
    cloud.failing = False
    await until_ingress(client, "203.0.113.1")


@with_cloud("service-lb", local=True)
async def test_the_local_cloud_gives_loopback_addresses(client: Client, cloud: PlayedCloud) -> None:
    await client.create(balanced("a"), kind=SERVICES)
    await until_ingress(client, "127.100.0.1", name="a")
    await client.create(balanced("b"), kind=SERVICES)
    await until_ingress(client, "127.100.0.2", name="b")
    await client.delete(SERVICES, "a")
    await client.create(balanced("c"), kind=SERVICES)
    await until_ingress(client, "127.100.0.1", name="c")


@with_cloud("cloud-node")
async def test_a_new_node_is_told_what_it_is(client: Client, cloud: PlayedCloud) -> None:
    outside = {"type": "ExternalIP", "address": "203.0.113.9"}
    cloud.machines["n1"] = InstanceMetadata("played://1", "large", "z1", "r1", (outside,))
    await client.create({"metadata": {"name": "n1"}, "spec": {"taints": [UNINITIALIZED]}}, kind=NODES)

    async def told() -> Object | None:
        node = await client.get(NODES, "n1")
        return node if (node["status"].get("addresses") or []) == [outside] else None

    node = await eventually(told)
    assert node["spec"]["providerID"] == "played://1"
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "z1"
    assert UNINITIALIZED["key"] not in [taint["key"] for taint in node["spec"].get("taints") or ()]
    assert await reasons(client, "n1") == ["Synced"]
    moved = {"type": "ExternalIP", "address": "203.0.113.10"}
    cloud.machines["n1"] = InstanceMetadata("played://1", addresses=(moved,))

    async def followed() -> bool:
        return bool((await client.get(NODES, "n1"))["status"]["addresses"] == [moved])

    await eventually(followed, 400)


@with_cloud("cloud-node-lifecycle")
async def test_nodes_without_a_machine_are_deleted(client: Client, cloud: PlayedCloud) -> None:
    cloud.machines = {"off": InstanceMetadata(), "on": InstanceMetadata()}
    cloud.off.add("off")
    for name, status in (("gone", "Unknown"), ("off", "Unknown"), ("on", "False"), ("ready", "True")):
        await client.create({"metadata": {"name": name}}, kind=NODES)
        await report(client, name, status)

    async def settled() -> bool:
        nodes = {node["metadata"]["name"]: node for node in await client.list(NODES)}
        return set(nodes) == {"off", "on", "ready"} and shut_down(nodes["off"])

    await eventually(settled)
    assert await reasons(client, "gone") == ["DeletingNode"]
    assert not shut_down(await client.get(NODES, "on"))
    await report(client, "off", "True")

    async def unmarked() -> bool:
        return not shut_down(await client.get(NODES, "off"))

    await eventually(unmarked)


def shut_down(node: Object) -> bool:
    taints = node["spec"].get("taints") or ()
    return any(taint["key"] == "node.cloudprovider.kubernetes.io/shutdown" for taint in taints)


async def report(client: Client, name: str, status: str) -> None:
    conditions = [{"type": "Ready", "status": status}]
    await client.patch(NODES, name, {"status": {"conditions": conditions}}, subresource="status")


@with_cloud("node-route")
async def test_there_is_a_route_to_every_node(client: Client, cloud: PlayedCloud) -> None:
    cloud.table["10.244.9.0/24"] = Route("long-gone", "10.244.9.0/24", "old")
    cloud.failing = True
    spec = {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.1.0/24"]}
    await client.create({"metadata": {"name": "n1"}, "spec": spec}, kind=NODES)

    async def told(status: str) -> bool:
        conditions = (await client.get(NODES, "n1"))["status"].get("conditions") or []
        return [(one["type"], one["status"]) for one in conditions] == [("NetworkUnavailable", status)]

    await eventually(lambda: told("True"))
    assert "FailedToCreateRoute" in await reasons(client, "n1")
    cloud.failing = False
    await eventually(lambda: told("False"), 60)
    assert list(cloud.table) == ["10.244.1.0/24"]
    await client.delete(NODES, "n1")
    await eventually(lambda: cloud.table == {})
