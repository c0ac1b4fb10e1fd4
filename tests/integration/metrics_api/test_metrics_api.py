"""metrics.k8s.io behind the cluster's API server, with simulated nodes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import orjson
import pytest

from steersman.aio import Scope
from steersman.client import ApiError, Client, NotFound
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.cluster.metrics_api import add_metrics_api
from steersman.cluster.node.api import NodeApi
from steersman.cluster.node.simulated import add_simulated_nodes
from steersman.cluster.node.stats import NodeStats
from steersman.http import Client as Http
from steersman.http import client_tls, server_tls
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import NODES, PODS, SERVICES
from steersman.runtime import Manager
from steersman.testing import eventually

Object = dict[str, Any]
PATIENCE_S = 30.0
ROOT = "/apis/metrics.k8s.io/v1beta1"
API_SERVICES = ResourceType("apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False)
NAME = "v1beta1.metrics.k8s.io"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


async def get(client: Client, path: str, accept: str = "application/json", **query: str) -> Object:
    answer: Object = orjson.loads(await client.request("GET", f"{ROOT}{path}", accept=accept, query=query))
    return answer


def names(listed: Object) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


async def make_pod(client: Client, name: str, node: str, **labels: str) -> None:
    script = {"simulated.steersman.dev/cpu": "250m", "simulated.steersman.dev/memory": "64Mi"}
    metadata = {"name": name, "namespace": "default", "labels": labels, "annotations": script}
    container = {"name": "main", "image": "example.com/app:1"}
    await client.create(
        {"metadata": metadata, "spec": {"nodeName": node, "containers": [container]}}, kind=PODS
    )


async def until_available(client: Client) -> Object:
    async def available() -> Object | None:
        found = await client.find(API_SERVICES, NAME)
        conditions = [] if found is None else (found.get("status") or {}).get("conditions") or []
        return found if any(one["status"] == "True" for one in conditions) else None

    return await eventually(available, PATIENCE_S, what="the API service")


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[None]:
    async with Scope() as scope:
        task = scope.start(manager.run())
        try:
            yield
        finally:
            manager.stop()
            await task


@asynccontextmanager
async def cluster_with_nodes() -> AsyncIterator[LocalCluster]:
    config = ClusterConfig(controllers=(), disabled_admission=("ServiceAccount",))
    async with LocalCluster(config) as cluster:
        manager = Manager(cluster.client(), address=None)
        nodes = add_simulated_nodes(manager, 2)
        add_metrics_api(manager, NodeStats(nodes))
        async with running(manager):
            client = cluster.client()
            for number in (1, 2, 3):
                await make_pod(client, f"p{number}", f"node-{number % 2 + 1}", app=f"a{number % 2}")
            await eventually(lambda: len(list(NodeStats(nodes).pods())) == 3, PATIENCE_S)
            await until_available(client)
            yield cluster


def with_cluster(test: Callable[[LocalCluster], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def body() -> None:
            async with cluster_with_nodes() as cluster:
                await test(cluster)

        asyncio.run(body())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@with_cluster
async def test_nodes_and_pods_are_listed_selected_and_got(cluster: LocalCluster) -> None:
    client = cluster.client()
    assert names(await get(client, "/nodes")) == ["node-1", "node-2"]
    assert names(await get(client, "/pods")) == ["p1", "p2", "p3"]
    assert names(await get(client, "/namespaces/default/pods", labelSelector="app=a1")) == ["p1", "p3"]
    assert names(await get(client, "/namespaces/other/pods")) == []
    assert names(await get(client, "/pods", fieldSelector="metadata.name=p2")) == ["p2"]
    assert names(await get(client, "/nodes", labelSelector="topology.kubernetes.io/zone=zone-b")) == [
        "node-2"
    ]
    pod = await get(client, "/namespaces/default/pods/p1")
    assert pod["containers"] == [{"name": "main", "usage": {"cpu": "250m", "memory": "64Mi"}}]
    node = await get(client, "/nodes/node-1")
    assert (node["kind"], node["usage"]["cpu"]) == ("NodeMetrics", "300m")
    table = await get(client, "/nodes", TABLE)
    assert [row["cells"] for row in table["rows"]] == [
        ["node-1", "300m", "320Mi", "10s"],
        ["node-2", "550m", "384Mi", "10s"],
    ]


@with_cluster
async def test_what_is_not_there_or_not_allowed_is_a_status(cluster: LocalCluster) -> None:
    client = cluster.client()
    with pytest.raises(NotFound, match='pods "gone" not found'):
        await get(client, "/namespaces/default/pods/gone")
    with pytest.raises(NotFound, match="could not find the requested resource"):
        await get(client, "/services")
    with pytest.raises(ApiError) as refused:
        await get(client, "/nodes", watch="true")
    assert refused.value.code == 405
    with pytest.raises(ApiError) as refused:
        await client.request("DELETE", f"{ROOT}/nodes/node-1")
    assert refused.value.code == 405
    with pytest.raises(ApiError) as refused:
        await get(client, "/pods", labelSelector="a in b")
    assert refused.value.code == 400
    # A pod that has not begun uses nothing.
    await make_pod(client, "waits", "nowhere")

    async def unknown() -> bool:
        try:
            await get(client, "/namespaces/default/pods/waits")
        except NotFound as error:
            return 'pods.metrics.k8s.io "default/waits" not found' in str(error)
        return False

    await eventually(unknown, PATIENCE_S)


@with_cluster
async def test_rights_are_those_of_the_cluster_and_nobody_comes_in_otherwise(cluster: LocalCluster) -> None:
    client = cluster.client()
    viewer = cluster.client("made-up-token")
    with pytest.raises(ApiError):
        await get(viewer, "/nodes")
    as_user = Http(
        cluster.url,
        ssl=client_tls(ca=cluster.authority.pem),
        headers=[(b"authorization", f"Bearer {cluster.token}".encode()), (b"impersonate-user", b"jane")],
    )
    async with as_user:
        assert (await as_user.request("GET", f"{ROOT}/nodes")).status == 403
    registered = await until_available(client)
    port = registered["spec"]["service"]["port"]
    # Not even the cluster's admin, but through the API server.
    pair = cluster.authority.issue("admin", organizations=["system:masters"])
    tls = client_tls(insecure=True, cert=pair.certificate, key=pair.key)
    claims = [(b"x-remote-user", b"admin"), (b"x-remote-group", b"system:masters")]
    async with Http(f"https://127.0.0.1:{port}", ssl=tls, headers=claims) as stranger:
        assert (await stranger.request("GET", f"{ROOT}/nodes")).status == 401


@with_cluster
async def test_the_api_is_discovered_and_described(cluster: LocalCluster) -> None:
    client = cluster.client()
    found = await client.resource_type("metrics.k8s.io/v1beta1", "PodMetrics")
    assert (found.plural, found.namespaced) == ("pods", True)

    async def described() -> bool:
        try:
            return b"PodMetrics" in await client.request("GET", "/openapi/v3/apis/metrics.k8s.io/v1beta1")
        except NotFound:
            return False

    await eventually(described, PATIENCE_S)


def test_it_is_taken_back_at_the_end_and_leaves_others_alone() -> None:
    async def look() -> None:
        config = ClusterConfig(controllers=(), disabled_admission=("ServiceAccount",))
        async with LocalCluster(config) as cluster:
            client = cluster.client()
            manager = Manager(cluster.client(), address=None)
            add_metrics_api(manager)
            async with running(manager):
                await until_available(client)
            assert await client.find(API_SERVICES, NAME) is None

            theirs = {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": NAME},
                "spec": {
                    "group": "metrics.k8s.io",
                    "version": "v1beta1",
                    "insecureSkipTLSVerify": True,
                    "groupPriorityMinimum": 100,
                    "versionPriority": 100,
                    "service": {"namespace": "kube-system", "name": "metrics-server"},
                },
            }
            await client.create(theirs)
            await client.delete(SERVICES, "steersman-metrics", "kube-system")
            manager = Manager(cluster.client(), address=None)
            api = add_metrics_api(manager)
            async with running(manager):
                await eventually(lambda: api.serving, PATIENCE_S)
            kept = await client.get(API_SERVICES, NAME)
            assert kept["spec"]["service"]["name"] == "metrics-server"
            assert await client.find(SERVICES, "steersman-metrics", "kube-system") is None

    asyncio.run(look())


def test_another_process_takes_over_when_the_first_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steersman.cluster.metrics_api.server._LOOK_S", 0.1)

    async def look() -> None:
        config = ClusterConfig(controllers=(), disabled_admission=("ServiceAccount",))
        async with LocalCluster(config) as cluster:
            client = cluster.client()

            async def port() -> int:
                return int((await until_available(client))["spec"]["service"]["port"])

            first, second = (Manager(cluster.client(), address=None) for _ in range(2))
            add_metrics_api(first)
            late = add_metrics_api(second)
            async with AsyncExitStack() as later:
                async with running(first):
                    theirs = await port()
                    await later.enter_async_context(running(second))
                    await eventually(lambda: late.serving, PATIENCE_S)
                    assert await port() == theirs
                await until_available(client)
                assert await port() != theirs
                assert names(await get(client, "/nodes")) == []

    asyncio.run(look())


def test_nodes_of_other_processes_are_asked_through_the_api() -> None:
    async def look() -> None:
        config = ClusterConfig(
            controllers=(), disabled_admission=("ServiceAccount",), loopback_endpoints=True
        )
        async with LocalCluster(config) as cluster:
            client, authority = cluster.client(), cluster.authority
            elsewhere = Manager(cluster.client(), address=None)
            nodes = add_simulated_nodes(elsewhere, 1)
            pair = authority.issue("system:node:node-1", names=["127.0.0.1"], server=True)
            api = NodeApi(
                nodes.agents,
                client=cluster.client(),
                client_ca=authority.pem,
                tls=server_tls(pair.certificate, pair.key, authority.pem),
            )
            host = nodes.agents["node-1"].host
            host.config = replace(host.config, addresses=("127.0.0.1",), port=await api.start())
            here = Manager(cluster.client(), address=None)
            add_metrics_api(here)
            try:
                async with running(elsewhere), running(here):
                    await eventually(lambda: client.find(NODES, "node-1"), PATIENCE_S)
                    await make_pod(client, "far", "node-1")
                    await eventually(lambda: list(NodeStats(nodes).pods()), PATIENCE_S)
                    await until_available(client)
                    pod = await get(client, "/namespaces/default/pods/far")
                    assert pod["containers"][0]["usage"] == {"cpu": "250m", "memory": "64Mi"}
                    assert names(await get(client, "/nodes")) == ["node-1"]
            finally:
                await api.stop()

    asyncio.run(look())
