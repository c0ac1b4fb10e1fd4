"""The kit's cluster: in a loop, in a thread, from other loops; restarted; by kubectl."""

from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path

import pytest

from steersman.client import Client, NotFound, Unauthorized, Unreachable
from steersman.cluster.local import ClusterConfig
from steersman.objects.builders import ConfigMap, DaemonSet, Deployment, StatefulSet
from steersman.testing import Cluster, KubectlFailed, VirtualClock, eventually, mark_ready, virtual_time
from steersman.testing.namespaces import add_namespace, remove_namespace
from tests.integration.testing.webapps import WebApp

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")

MANIFESTS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: first}
"""


def container(kind: type[Deployment] | type[StatefulSet] | type[DaemonSet]) -> dict[str, object]:
    """Three replicas of nothing."""
    spec: dict[str, object] = {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "a", "image": "a"}]},
        },
    }
    if kind is not DaemonSet:
        spec["replicas"] = 3
    resource = kind.resource_type
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "a"},
        "spec": spec,
    }


def test_in_a_loop() -> None:
    async def main() -> None:
        async with Cluster() as cluster:
            client = cluster.client()
            await client.create(ConfigMap("a"))
            assert (await client.get(ConfigMap, "a")).namespace == "default"
            async with Client.load(kubeconfig=cluster.kubeconfig) as over_the_network:
                assert cluster.url.endswith(over_the_network.host)
                await over_the_network.get(ConfigMap, "a")
        with pytest.raises(RuntimeError, match="not running"):
            _ = cluster.url

    asyncio.run(main())


def test_in_a_thread_from_plain_code() -> None:
    before = set(threading.enumerate())
    with Cluster() as cluster:
        client = cluster.client(namespace="kube-public")
        cluster.run(client.create(ConfigMap("a")))
        assert cluster.run(client.get(ConfigMap, "a")).namespace == "kube-public"
        with pytest.raises(NotFound):
            cluster.run(client.get(ConfigMap, "b"))
    assert "cluster" not in {thread.name for thread in set(threading.enumerate()) - before}


def test_in_a_thread_from_another_loop() -> None:
    async def main(cluster: Cluster) -> None:
        client = cluster.client()
        await cluster.apply(ConfigMap("a"))
        async with client.watch(ConfigMap, "default", initial_events=True) as events:
            assert (await anext(events)).type == "ADDED"
            await client.create(ConfigMap("b"))
            async for event in events:
                if event.type == "ADDED":
                    assert event.decode()["metadata"]["name"] == "b"
                    break
        await eventually(lambda: client.find(ConfigMap, "b"))

    with Cluster() as cluster:
        asyncio.run(main(cluster))


def test_waiting_inside_the_clusters_own_loop_is_refused() -> None:
    async def main(cluster: Cluster) -> None:
        cluster.run(cluster.client().get(ConfigMap, "a"))

    with Cluster() as cluster, pytest.raises(RuntimeError, match="await this"):
        cluster.run(main(cluster))


def test_a_cluster_that_cannot_start_says_so() -> None:
    with pytest.raises(OSError, match="address"):
        with Cluster(bind="203.0.113.1"):
            pass


def test_options_are_the_clusters() -> None:
    with Cluster(admin_token="a-token", service_cidr="10.7.0.0/16") as cluster:
        assert cluster.server.config == ClusterConfig(admin_token="a-token", service_cidr="10.7.0.0/16")
        cluster.run(cluster.client(token="a-token").list(ConfigMap))
        with pytest.raises(Unauthorized):
            cluster.run(cluster.client(token="another").list(ConfigMap))


def test_real_time_has_no_clock_to_move() -> None:
    with Cluster() as cluster, pytest.raises(RuntimeError, match="@virtual_time"):
        _ = cluster.clock


@virtual_time
async def test_in_virtual_time_watches_end_in_virtual_time() -> None:
    async with Cluster() as cluster:
        assert isinstance(cluster.clock, VirtualClock)
        started = cluster.clock.monotonic()
        async with cluster.client().watch(ConfigMap, timeout_s=3000) as events:
            assert {event.type async for event in events} <= {"ADDED", "BOOKMARK"}
        assert cluster.clock.monotonic() - started == pytest.approx(3000, abs=2)


@virtual_time
async def test_kinds_can_be_used_by_what_follows_their_definition() -> None:
    async with Cluster() as cluster:
        definition, gadget = await cluster.apply(MANIFESTS, namespace="kube-public")
        assert definition["spec"]["names"]["kind"] == "Gadget"
        assert gadget["metadata"]["namespace"] == "kube-public"
        assert await cluster.apply(MANIFESTS, namespace="kube-public") is not None


def test_after_a_restart_clients_go_on(tmp_path: Path) -> None:
    async def main(cluster: Cluster) -> None:
        client = cluster.client()
        await client.create(ConfigMap("a"))
        url = cluster.url
        async with client.watch(ConfigMap) as events:
            await cluster.restart()
            assert [event.type async for event in events if event.type != "ADDED"] == []
        assert cluster.url == url
        assert (await client.get(ConfigMap, "a")).name == "a"
        restarting = asyncio.ensure_future(cluster.restart(down_s=0.5))
        await asyncio.sleep(0)
        with pytest.raises(Unreachable):
            await client.get(ConfigMap, "a")
        await restarting
        await client.get(ConfigMap, "a")

    with Cluster(data=str(tmp_path / "cluster")) as cluster:
        cluster.run(main(cluster))


def test_what_keeps_nothing_cannot_be_restarted() -> None:
    with Cluster() as cluster, pytest.raises(ValueError, match="give it a folder"):
        cluster.run(cluster.restart())


@needs_kubectl
def test_kubectl() -> None:
    with Cluster() as cluster:
        cluster.run(cluster.kubectl("apply", "-f", "-", stdin=MANIFESTS.partition("---")[0]))
        out = cluster.run(cluster.kubectl("get", "crd", "-o", "name"))
        assert out == "customresourcedefinition.apiextensions.k8s.io/gadgets.example.com\n"
        with pytest.raises(KubectlFailed, match='configmaps "a" not found') as caught:
            cluster.run(cluster.kubectl("get", "configmap", "a"))
        assert caught.value.code == 1


@virtual_time
async def test_what_needs_real_time_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a disk needs real time"):
        async with Cluster(data=str(tmp_path)):
            pass
    async with Cluster() as cluster:
        with pytest.raises(RuntimeError, match="kubectl needs real time"):
            await cluster.kubectl("get", "pods")


@virtual_time
async def test_a_namespace_is_removed_with_everything_in_it() -> None:
    async with Cluster() as cluster:
        admin = cluster.client()
        names = [await add_namespace(admin), await add_namespace(admin)]
        for name in names:
            client = cluster.client(namespace=name)
            await client.create(ConfigMap("held").raw("metadata.finalizers", ["example.com/for-ever"]))
            await client.create(container(Deployment))
        await cluster.apply(WebApp.crd())
        await remove_namespace(admin, names[0])
        assert {obj.namespace for obj in await admin.list(Deployment)} == {names[1]}
        assert names[0] not in {obj.namespace for obj in await admin.list(ConfigMap)}
        await add_namespace(admin)
        with pytest.raises(NotFound):
            await admin.request("GET", f"/api/v1/namespaces/{names[0]}")


@pytest.mark.parametrize(
    ("kind", "ready", "expected"),
    [
        (Deployment, None, {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3}),
        (Deployment, 1, {"replicas": 3, "readyReplicas": 1, "unavailableReplicas": 2}),
        (StatefulSet, None, {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3}),
        (DaemonSet, 2, {"desiredNumberScheduled": 2, "numberReady": 2}),
    ],
    ids=["deployment", "deployment, partly", "stateful set", "daemon set"],
)
def test_workloads_are_made_ready(
    kind: type[Deployment] | type[StatefulSet] | type[DaemonSet], ready: int | None, expected: dict[str, int]
) -> None:
    @virtual_time
    async def body() -> None:
        async with Cluster() as cluster:
            client = cluster.client()
            if kind is StatefulSet:
                await client.create(
                    {**container(kind), "spec": {**container(kind)["spec"], "serviceName": "a"}}
                )  # type: ignore[dict-item]
            else:
                await client.create(container(kind))
            status = (await mark_ready(client, kind, "a", ready=ready))["status"]
            assert expected.items() <= status.items()
            assert status["observedGeneration"] == 1

    body()


@virtual_time
async def test_a_deployment_keeps_its_transition_times_while_nothing_turns() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        await client.create(container(Deployment))
        first = (await mark_ready(client, Deployment, "a"))["status"]["conditions"]
        again = (await mark_ready(client, Deployment, "a"))["status"]["conditions"]
        assert [each["lastTransitionTime"] for each in again] == [
            each["lastTransitionTime"] for each in first
        ]
        assert [(each["type"], each["status"]) for each in again] == [
            ("Available", "True"),
            ("Progressing", "True"),
        ]
        partly = (await mark_ready(client, Deployment, "a", ready=1))["status"]["conditions"]
        assert partly[0]["reason"] == "MinimumReplicasUnavailable"


@virtual_time
async def test_what_does_not_become_ready_is_refused() -> None:
    async with Cluster() as cluster:
        await cluster.client().create(ConfigMap("a"))
        with pytest.raises(ValueError, match="a ConfigMap does not become ready"):
            await mark_ready(cluster.client(), ConfigMap, "a")
