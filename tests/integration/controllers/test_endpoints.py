"""EndpointSlices and Endpoints follow pods, services and nodes, with an API server in virtual time."""

from __future__ import annotations

from typing import Any

from steersman.objects.resources import ENDPOINT_SLICES, ENDPOINTS, NODES, PODS, SERVICES
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads

Object = dict[str, Any]

with_endpoints = with_workloads("endpoints", "endpointslice", "endpointslicemirroring")


def service(name: str = "web", **spec: Any) -> Object:
    ports = [{"port": 80, "protocol": "TCP", "targetPort": 8080}]
    return {"metadata": {"name": name}, "spec": {"selector": {"app": "web"}, "ports": ports, **spec}}


async def add_pod(world: World, name: str, number: int, **labels: str) -> None:
    containers = [{"name": "c", "image": "i"}]
    metadata = {"name": name, "labels": {"app": "web", **labels}}
    await world.create(PODS, {"metadata": metadata, "spec": {"containers": containers, "nodeName": "node-1"}})
    ip = f"10.1.0.{number}"
    await world.set_pod(name, podIP=ip, podIPs=[{"ip": ip}])


async def told(world: World, name: str = "web") -> tuple[dict[str, bool], dict[str, bool]]:
    """Addresses and whether they are ready, as slices and as Endpoints tell."""
    slices = await world.client.list(ENDPOINT_SLICES, NAMESPACE, labels=f"kubernetes.io/service-name={name}")
    by_slices = {
        one["addresses"][0]: one["conditions"]["ready"] for each in slices for one in each["endpoints"] or ()
    }
    endpoints = await world.client.find(ENDPOINTS, name, NAMESPACE)
    by_endpoints = {
        address["ip"]: field == "addresses"
        for subset in (endpoints or {}).get("subsets") or ()
        for field in ("addresses", "notReadyAddresses")
        for address in subset.get(field) or ()
    }
    return by_slices, by_endpoints


async def until_told(world: World, name: str = "web", going: tuple[str, ...] = (), **ready: bool) -> None:
    """Wait for these (`ip_1=True` is 10.1.0.1); those `going` are told of by slices only."""
    wanted = {f"10.1.0.{key.removeprefix('ip_')}": value for key, value in ready.items()}

    async def holds() -> bool:
        slices = {**wanted, **dict.fromkeys(going, False)}
        return await told(world, name) == (slices, wanted)

    try:
        await world.until(holds)
    except AssertionError:
        raise AssertionError(await told(world, name)) from None


@with_endpoints
async def test_endpoints_follow_pods_and_then_nothing_is_written(world: World) -> None:
    await world.add_nodes("node-1")
    await world.create(SERVICES, service())
    await add_pod(world, "a", 1)
    await until_told(world, ip_1=True)
    await add_pod(world, "b", 2)
    await until_told(world, ip_1=True, ip_2=True)
    world.nodes.ready = lambda pod: pod["metadata"]["name"] != "a"
    await world.set_pod("a", conditions=[{"type": "Ready", "status": "False"}])
    await until_told(world, ip_1=False, ip_2=True)
    world.nodes.let_go = lambda pod: False
    await world.client.delete(PODS, "b", NAMESPACE)
    await until_told(world, going=("10.1.0.2",), ip_1=False)
    world.nodes.let_go = lambda pod: True
    world.nodes.look_again()
    await until_told(world, ip_1=False)
    await world.quiet()


@with_endpoints
async def test_endpoints_follow_labels_and_selectors(world: World) -> None:
    await world.add_nodes("node-1")
    await add_pod(world, "a", 1)
    await add_pod(world, "b", 2, tier="back")
    await world.create(SERVICES, service())
    await until_told(world, ip_1=True, ip_2=True)
    await world.client.patch(PODS, "a", {"metadata": {"labels": {"app": "other"}}}, NAMESPACE)
    await until_told(world, ip_2=True)
    await world.client.patch(PODS, "a", {"metadata": {"labels": {"app": "web"}}}, NAMESPACE)
    await until_told(world, ip_1=True, ip_2=True)
    await world.patch(SERVICES, "web", selector={"tier": "back"})
    await until_told(world, ip_2=True)


@with_endpoints
async def test_what_others_do_to_slices_is_put_right(world: World) -> None:
    await world.add_nodes("node-1")
    await add_pod(world, "a", 1)
    await world.create(SERVICES, service())
    await until_told(world, ip_1=True)
    [name] = await world.names(ENDPOINT_SLICES, "kubernetes.io/service-name=web")
    await world.client.patch(ENDPOINT_SLICES, name, {"endpoints": []}, NAMESPACE)
    await world.client.patch(ENDPOINTS, "web", {"subsets": None}, NAMESPACE)
    await until_told(world, ip_1=True)
    await world.client.delete(ENDPOINT_SLICES, name, NAMESPACE)
    await world.client.delete(ENDPOINTS, "web", NAMESPACE)
    await until_told(world, ip_1=True)


@with_endpoints
async def test_zones_come_from_nodes_also_later(world: World) -> None:
    await add_pod(world, "a", 1)
    await world.create(SERVICES, service())

    async def nobody() -> bool:
        slices = await world.client.list(ENDPOINT_SLICES, NAMESPACE, labels="kubernetes.io/service-name=web")
        return len(slices) == 1 and not slices[0]["endpoints"]

    await world.until(nobody)  # a pod whose node is unknown is left out
    await world.add_nodes("node-1")
    await until_told(world, ip_1=True)
    labels = {"topology.kubernetes.io/zone": "z"}
    await world.client.patch(NODES, "node-1", {"metadata": {"labels": labels}})

    async def zoned() -> bool:
        [one] = await world.client.list(ENDPOINT_SLICES, NAMESPACE, labels="kubernetes.io/service-name=web")
        return bool(one["endpoints"][0].get("zone") == "z")

    await world.until(zoned)


@with_endpoints
async def test_a_service_without_a_selector_is_left_to_others(world: World) -> None:
    await world.add_nodes("node-1")
    await add_pod(world, "a", 1)
    await world.create(SERVICES, service(selector=None))
    subsets = [{"addresses": [{"ip": "10.1.0.9"}], "ports": [{"port": 80, "protocol": "TCP"}]}]
    await world.create(ENDPOINTS, {"metadata": {"name": "web"}, "subsets": subsets})
    await until_told(world, ip_9=True)
    await world.patch(SERVICES, "web", selector={"app": "web"})
    await until_told(world, ip_1=True)
    slices = await world.client.list(ENDPOINT_SLICES, NAMESPACE, labels="kubernetes.io/service-name=web")
    managers = {one["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] for one in slices}
    assert managers == {"endpointslice-controller.k8s.io"}


@with_endpoints
async def test_endpoints_of_a_deleted_service_go(world: World) -> None:
    await world.create(SERVICES, service())
    await world.create(SERVICES, service("manual", selector=None))
    await world.create(ENDPOINTS, {"metadata": {"name": "manual"}, "subsets": []})
    await world.create(ENDPOINTS, {"metadata": {"name": "of-nobody"}, "subsets": []})
    await world.until(lambda: has_endpoints(world, "web"))
    for name in ("web", "manual"):
        await world.client.delete(SERVICES, name, NAMESPACE)

    async def only_others() -> bool:
        return set(await world.names(ENDPOINTS)) - {"kubernetes"} == {"of-nobody"}

    await world.until(only_others)
    await world.quiet()
    assert await only_others()


async def has_endpoints(world: World, name: str) -> bool:
    return await world.client.find(ENDPOINTS, name, NAMESPACE) is not None


@with_endpoints
async def test_many_pods_are_told_of_in_slices_of_a_hundred(world: World) -> None:
    await world.add_nodes("node-1")
    for number in range(1, 151):
        await add_pod(world, f"p{number}", number)
    await world.create(SERVICES, service())
    await until_told(world, **{f"ip_{number}": True for number in range(1, 151)})
    slices = await world.client.list(ENDPOINT_SLICES, NAMESPACE, labels="kubernetes.io/service-name=web")
    assert sorted(len(one["endpoints"]) for one in slices) == [50, 100]
    await world.quiet()
