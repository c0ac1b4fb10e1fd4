"""Promises about what the API says of itself: discovery, version, what it cannot show as a table."""

from __future__ import annotations

import re

from tests.support.api import ApiClient

from .definitions import definition, establish, remove
from .keeping import Object, promise, until
from .operations import discoverable

AGGREGATED = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
#: What a client with aggregated discovery asks for: the new form first, the old as a fallback.
CLIENT = {
    "accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
}
#: One resource of every group version.
EXPECTED = {
    "v1": "namespaces",
    "admissionregistration.k8s.io/v1": "validatingwebhookconfigurations",
    "apiextensions.k8s.io/v1": "customresourcedefinitions",
    "apiregistration.k8s.io/v1": "apiservices",
    "apps/v1": "deployments",
    "authentication.k8s.io/v1": "tokenreviews",
    "authorization.k8s.io/v1": "selfsubjectaccessreviews",
    "autoscaling/v1": "horizontalpodautoscalers",
    "autoscaling/v2": "horizontalpodautoscalers",
    "batch/v1": "jobs",
    "certificates.k8s.io/v1": "certificatesigningrequests",
    "coordination.k8s.io/v1": "leases",
    "discovery.k8s.io/v1": "endpointslices",
    "events.k8s.io/v1": "events",
    "networking.k8s.io/v1": "ingresses",
    "node.k8s.io/v1": "runtimeclasses",
    "policy/v1": "poddisruptionbudgets",
    "scheduling.k8s.io/v1": "priorityclasses",
    "storage.k8s.io/v1": "csinodes",
}
WIDGETS = definition("group.example.com", "Testcrd")


async def _resources(client: ApiClient, headers: dict[str, str]) -> dict[str, set[str]]:
    """The resources of each group version, by aggregated discovery."""
    found: dict[str, set[str]] = {}
    for root in ("/api", "/apis"):
        document = await client.ok("GET", root, headers=headers)
        assert document["kind"] == "APIGroupDiscoveryList"
        for group in document["items"]:
            name = group["metadata"].get("name", "")
            for version in group["versions"]:
                key = f"{name}/{version['version']}" if name else version["version"]
                found[key] = {resource["resource"] for resource in version["resources"]}
    return found


async def _built_in(client: ApiClient, headers: dict[str, str]) -> None:
    found = await _resources(client, headers)
    assert {version: plural for version, plural in EXPECTED.items() if plural not in found[version]} == {}


async def _custom(client: ApiClient, headers: dict[str, str]) -> None:
    made = await establish(client, WIDGETS)

    async def shown() -> bool:
        return "testcrds" in (await _resources(client, headers)).get("group.example.com/v1", ())

    await until(shown)
    await remove(client, made)


@promise("AggregatedDiscovery should support raw aggregated discovery endpoint Accept headers")
async def test_aggregated_discovery_by_accept_header(client: ApiClient) -> None:
    await _built_in(client, AGGREGATED)


@promise("AggregatedDiscovery should support raw aggregated discovery request for CRDs")
async def test_aggregated_discovery_of_custom_resources(client: ApiClient) -> None:
    await _custom(client, AGGREGATED)


@promise("AggregatedDiscovery should support aggregated discovery interface")
async def test_aggregated_discovery_as_clients_ask_for_it(client: ApiClient) -> None:
    await _built_in(client, CLIENT)


@promise("AggregatedDiscovery should support aggregated discovery interface for CRDs")
async def test_aggregated_discovery_of_custom_resources_as_clients_ask_for_it(client: ApiClient) -> None:
    await _custom(client, CLIENT)


@promise("Discovery should validate PreferredVersion for each APIGroup")
async def test_every_group_prefers_one_of_its_versions(client: ApiClient) -> None:
    groups = (await client.ok("GET", "/apis/"))["groups"]
    assert groups
    for group in groups:
        document = await client.ok("GET", f"/apis/{group['name']}/")
        assert document["versions"]
        assert document["preferredVersion"] in document["versions"]


@promise("Discovery should locate the groupVersion and a resource within each APIGroup")
async def test_every_group_version_lists_its_resources(client: ApiClient) -> None:
    for version, plural in EXPECTED.items():
        listed = await client.ok("GET", f"/apis/{version}" if "/" in version else f"/api/{version}")
        assert listed["groupVersion"] == version
        assert plural in [resource["name"] for resource in listed["resources"]]


@promise(
    "CustomResourceDefinition resources should include custom resource definition resources in discovery documents"
)
async def test_definitions_are_discoverable(client: ApiClient) -> None:
    await discoverable(client, "apiextensions.k8s.io/v1", "customresourcedefinitions")


@promise("AdmissionWebhook should include webhook resources in discovery documents")
async def test_webhook_configurations_are_discoverable(client: ApiClient) -> None:
    await discoverable(
        client,
        "admissionregistration.k8s.io/v1",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    )


@promise("server version should find the server version")
async def test_server_version(client: ApiClient) -> None:
    version = await client.ok("GET", "/version")
    assert re.fullmatch("[1-9]", version["major"])
    assert re.fullmatch("[0-9]+", version["minor"])


@promise(
    "Servers with support for Table transformation should return a 406 for a backend which does not implement metadata"
)
async def test_a_review_is_no_table(client: ApiClient) -> None:
    review: Object = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    code, status = await client.ask("POST", path, review, table)
    assert (code, status["code"], status["kind"]) == (406, 406, "Status")
