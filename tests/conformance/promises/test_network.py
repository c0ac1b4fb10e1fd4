"""Promises about the API's own service, services, endpoints and addresses."""

from __future__ import annotations

from tests.support.api import ApiClient, Events

from .keeping import NAMESPACE, Collection, Object, newer, promise

NETWORKING = "networking.k8s.io/v1"


def _services(client: ApiClient, namespace: str = NAMESPACE) -> Collection:
    return Collection(client, "v1", "services", namespace)


async def _until_event(events: Events, kind: str, **labels: str) -> Object:
    while True:
        event = await events.next()
        found: Object = event["object"]
        if event["type"] == kind and labels.items() <= found["metadata"].get("labels", {}).items():
            return found


@promise("API Server should provide secure master service")
async def test_there_is_a_service_for_the_api(client: ApiClient) -> None:
    await _services(client, "default").get("kubernetes")


@promise("API Server should have Endpoints and EndpointSlices pointing to API Server")
async def test_the_api_has_endpoints(client: ApiClient) -> None:
    endpoints = await Collection(client, "v1", "endpoints", "default").get("kubernetes")
    subsets = endpoints["subsets"]
    assert subsets
    addresses = {
        each["ip"]
        for subset in subsets
        for each in [*subset.get("addresses", []), *subset.get("notReadyAddresses", [])]
    }
    ports = {port["port"] for subset in subsets for port in subset["ports"]}
    slices = Collection(client, "discovery.k8s.io/v1", "endpointslices", "default")
    found = [
        each
        for each in await slices.list("kubernetes.io/service-name=kubernetes")
        if each["addressType"] == "IPv4"
    ]
    assert found
    assert {
        address for each in found for one in each["endpoints"] for address in one["addresses"]
    } == addresses
    assert {port["port"] for each in found for port in each["ports"]} == ports


@promise("Endpoints should test the lifecycle of an Endpoint")
async def test_the_life_of_endpoints(client: ApiClient) -> None:
    endpoints = Collection(client, "v1", "endpoints", NAMESPACE)
    selector = "test-endpoint-static=true"
    listed = await client.ok("GET", endpoints.everywhere.many(selector))
    since = listed["metadata"]["resourceVersion"]
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    subsets = [{"addresses": [{"ip": "10.0.0.24"}], "ports": ports}]
    metadata = {"name": "testservice", "labels": {"test-endpoint-static": "true"}}
    created = await endpoints.create({"metadata": metadata, "subsets": subsets})
    async with endpoints.watch(selector, resourceVersion=since) as events:
        await _until_event(events, "ADDED")
        [found] = await endpoints.everywhere.list(selector)
        found["metadata"]["labels"]["test-service"] = "updated"
        await endpoints.replace(found)
        await _until_event(events, "MODIFIED", **{"test-service": "updated"})
        patch = {
            "metadata": {"labels": {"test-service": "patched"}},
            "subsets": [{"addresses": [{"ip": "10.0.0.25"}], "ports": [{"name": "http-test", "port": 8080}]}],
        }
        assert newer(await endpoints.patch("testservice", patch, "strategic"), created)
        await _until_event(events, "MODIFIED", **{"test-service": "patched"})
        [subset] = (await endpoints.get("testservice"))["subsets"]
        assert subset["addresses"] == [{"ip": "10.0.0.25"}]
        assert (subset["ports"][0]["name"], subset["ports"][0]["port"]) == ("http-test", 8080)
        await endpoints.delete_all(selector)
        await _until_event(events, "DELETED")
    assert await endpoints.gone("testservice")


@promise("ServiceCIDR and IPAddress API should support ServiceCIDR API operations")
async def test_the_default_service_range(client: ApiClient) -> None:
    ranges = Collection(client, NETWORKING, "servicecidrs")
    default = await ranges.get("kubernetes")
    shown = await ranges.get("kubernetes", "status")
    assert (shown["apiVersion"], shown["kind"]) == (NETWORKING, "ServiceCIDR")
    assert shown["metadata"]["uid"] == default["metadata"]["uid"]
    assert "kubernetes" in await ranges.names()
    async with ranges.watch() as events:
        assert (await events.next())["type"] == "ADDED"


def _address(name: str, kind: str) -> Object:
    parent = {"group": "mygroup", "resource": "myresources", "namespace": "foo", "name": "bar"}
    return {"metadata": {"name": name, "labels": {"type": kind}}, "spec": {"parentRef": parent}}


@promise("ServiceCIDR and IPAddress API should support IPAddress API operations")
async def test_addresses(client: ApiClient) -> None:
    addresses = Collection(client, NETWORKING, "ipaddresses")
    created = await addresses.create(_address("255.255.255.255", "broadcast"))
    await addresses.create(_address("fe80::42:1dff:fe84:f9e2", "link-local"))
    name = "255.255.255.255"
    patched = await addresses.patch(name, {"metadata": {"annotations": {"patched": "true"}}})
    assert patched["metadata"]["annotations"] == {"patched": "true"}
    assert newer(patched, created)
    patched["metadata"]["annotations"]["updated"] = "true"
    updated = await addresses.replace(patched)
    assert updated["metadata"]["annotations"] == {"patched": "true", "updated": "true"}
    assert await addresses.get(name) == updated
    assert len(await addresses.list()) >= 2
    async with addresses.watch("type=broadcast") as events:
        assert await events.take(1) == [("ADDED", name)]
    await addresses.delete(name)
    assert await addresses.gone(name)
    await addresses.delete_all("type=link-local")
    assert await addresses.list("type=link-local") == []


@promise("Services should find a service from listing all namespaces")
async def test_services_of_all_namespaces(client: ApiClient) -> None:
    found = await _services(client).everywhere.list()
    assert ("default", "kubernetes") in [
        (each["metadata"]["namespace"], each["metadata"]["name"]) for each in found
    ]


@promise("Services should complete a service status lifecycle")
async def test_the_status_of_a_service_is_changed(client: ApiClient) -> None:
    services = _services(client)
    selector = "test-service-static=true"
    listed = await client.ok("GET", services.everywhere.many(selector))
    spec = {
        "type": "LoadBalancer",
        "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 80}],
        "loadBalancerClass": "example.com/internal-vip",
    }
    await services.create(
        {"metadata": {"name": "x", "labels": {"test-service-static": "true"}}, "spec": spec}
    )
    since = listed["metadata"]["resourceVersion"]
    async with services.watch(selector, resourceVersion=since) as events:
        await _until_event(events, "ADDED")
        assert (await services.get("x", "status"))["status"] == {"loadBalancer": {}}
        ingress = {"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}]}}
        annotated = {"metadata": {"annotations": {"patchedstatus": "true"}}}
        await services.patch("x", {**annotated, "status": ingress}, part="status")
        seen = await _until_event(events, "MODIFIED")
        assert seen["metadata"]["annotations"] == {"patchedstatus": "true"}
        assert seen["status"]["loadBalancer"]["ingress"][0]["ip"] == "203.0.113.1"
        condition = {
            "type": "StatusUpdate",
            "status": "True",
            "reason": "E2E",
            "message": "Set from e2e test",
        }

        def update(obj: Object) -> Object:
            obj["status"]["conditions"] = [{**condition, "lastTransitionTime": None}]
            return obj

        await services.change("x", update, "status")
        seen = await _until_event(events, "MODIFIED")
        assert seen["metadata"]["annotations"] == {"patchedstatus": "true"}
        assert condition.items() <= seen["status"]["conditions"][0].items()
        # A typed client's patch names the parts that are never left out.
        labels = {
            "metadata": {"labels": {"test-service": "patched"}},
            "spec": {},
            "status": {"loadBalancer": {}},
        }
        await services.patch("x", labels, "strategic")
        seen = await _until_event(events, "MODIFIED", **{"test-service": "patched"})
        await services.delete("x")
        await _until_event(events, "DELETED")


@promise("Services should delete a collection of services")
async def test_a_collection_of_services_is_deleted(client: ApiClient) -> None:
    services = _services(client)
    for number, (name, label) in enumerate({"a": "delete", "b": "delete", "c": "keep"}.items(), 8001):
        ports = [{"name": "http", "protocol": "TCP", "port": number, "targetPort": number}]
        metadata = {"name": name, "labels": {"e2e-test-service": label}}
        await services.create({"metadata": metadata, "spec": {"type": "ClusterIP", "ports": ports}})
    assert len(await services.list()) == 3
    await services.delete_all("e2e-test-service=delete")
    assert await services.names() == ["c"]
