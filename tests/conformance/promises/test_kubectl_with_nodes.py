"""Promises about kubectl that need everything: controllers, scheduler and nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.support.api import PATIENCE_S, ApiClient, api

from .keeping import NAMESPACE, Collection, Keeping, Object, promised, until
from .kubectl import kubectl_for

pytestmark = pytest.mark.slow

IMAGE, OTHER = "registry.example/httpd:2.4", "registry.example/busybox:1.37"


def cluster_promise(name: str) -> Callable[[Keeping], Callable[[], None]]:
    promised(name)

    def decorate(test: Keeping) -> Callable[[], None]:
        async def body() -> None:
            async with asyncio.timeout(PATIENCE_S * 3), api(controllers=("all",), nodes=2) as client:
                await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
                await test(client)

        def run() -> None:
            asyncio.run(body())

        run.__name__, run.__doc__ = test.__name__, f"{name}."
        return run

    return decorate


def controller(name: str) -> Object:
    labels = {"app": "agnhost", "role": "primary"}
    container = {"name": name, "image": IMAGE, "ports": [{"name": "agnhost-server", "containerPort": 6379}]}
    return {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": labels,
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def pod(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"name": name}},
        "spec": {"containers": [{"name": name, "image": IMAGE}]},
    }


async def running(client: ApiClient) -> Object:
    """The one pod, once it runs."""
    pods = Collection(client, "v1", "pods", NAMESPACE)

    async def runs() -> bool:
        found = await pods.list()
        return bool(found) and found[0].get("status", {}).get("phase") == "Running"

    await until(runs)
    return (await pods.list())[0]


@cluster_promise(
    "Kubectl client Kubectl describe should check if kubectl describe prints relevant information for rc and pods"
)
async def test_describe(client: ApiClient) -> None:
    async with kubectl_for(client) as kubectl:
        await kubectl("create", "-f", "-", stdin=controller("agnhost-primary"))
        made = await running(client)
        shown = (await kubectl("describe", "pod", made["metadata"]["name"])).out
        for part in ("Name:", "Namespace:", "Node:", "Labels:", "app=agnhost", "role=primary", "Status:",
                     "Running", "IP:", "Controlled By:", "ReplicationController/agnhost-primary", "Image:",
                     IMAGE, "State:", "QoS Class:"):  # fmt: skip
            assert part in shown
        shown = (await kubectl("describe", "rc", "agnhost-primary")).out
        for part in ("Name:", "Selector:", "Labels:", "Replicas:", "1 current", "1 desired", "Pods Status:",
                     "1 Running", "0 Waiting", "0 Succeeded", "0 Failed", "Pod Template:", "Image:",
                     "Events:"):  # fmt: skip
            assert part in shown
        node = made["spec"]["nodeName"]
        shown = (await kubectl("describe", "node", node)).out
        for part in ("Name:", node, "Labels:", "Annotations:", "CreationTimestamp:", "Conditions:",
                     "MemoryPressure", "DiskPressure", "PIDPressure", "Ready", "Addresses:", "Capacity:",
                     "Version", "Kubelet Version", "Pods"):  # fmt: skip
            assert part in shown
        shown = (await kubectl("describe", "namespace", NAMESPACE)).out
        for part in ("Name:", NAMESPACE, "Labels:", "Annotations:", "Status:", "Active"):
            assert part in shown


@cluster_promise("Kubectl client Kubectl expose should create services for rc")
async def test_expose(client: ApiClient) -> None:
    async with kubectl_for(client) as kubectl:
        await kubectl("create", "-f", "-", stdin=controller("agnhost-primary"))
        made = await running(client)
        endpoints = Collection(client, "v1", "endpoints", NAMESPACE)
        services = Collection(client, "v1", "services", NAMESPACE)

        async def check(service: str, port: int) -> None:
            async def there() -> bool:
                subsets = (await endpoints.get(service)).get("subsets") or []
                return [
                    (address["ip"], one["port"])
                    for subset in subsets
                    for address in subset.get("addresses", ())
                    for one in subset["ports"]
                ] == [(made["status"]["podIP"], 6379)]

            assert [one["port"] for one in (await services.get(service))["spec"]["ports"]] == [port]
            await until(there)

        await kubectl("expose", "rc", "agnhost-primary", "--name=rm2", "--port=1234", "--target-port=6379")
        await check("rm2", 1234)
        await kubectl("expose", "service", "rm2", "--name=rm3", "--port=2345", "--target-port=6379")
        await check("rm3", 2345)


@cluster_promise("Kubectl client Kubectl label should update the label on a resource")
async def test_label(client: ApiClient) -> None:
    async with kubectl_for(client) as kubectl:
        await kubectl("create", "-f", "-", stdin=pod("pause"))
        await running(client)
        await kubectl("label", "pods", "pause", "testing-label=testing-label-value")
        assert "testing-label-value" in (await kubectl("get", "pod", "pause", "-L", "testing-label")).out
        await kubectl("label", "pods", "pause", "testing-label-")
        assert "testing-label-value" not in (await kubectl("get", "pod", "pause", "-L", "testing-label")).out


@cluster_promise("Kubectl client Kubectl replace should update a single-container pod's image")
async def test_replace(client: ApiClient) -> None:
    async with kubectl_for(client) as kubectl:
        await kubectl("run", "e2e-pod", f"--image={IMAGE}", "--labels=run=e2e-pod")
        await running(client)
        pods = Collection(client, "v1", "pods", NAMESPACE)
        made = await pods.get("e2e-pod")
        made["spec"]["containers"][0]["image"] = OTHER
        await kubectl("replace", "-f", "-", stdin=made)
        seen = await pods.get("e2e-pod")
        assert seen["spec"]["containers"][0]["image"] == OTHER
