"""The client and a real API server: objects of all kinds, read, written and watched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from steersman.client import (
    AlreadyExists,
    Client,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NoSuchKind,
    NotFound,
    Unauthorized,
    Unreachable,
)
from steersman.cluster.local import LocalCluster
from steersman.objects.builders import ConfigMap
from steersman.objects.resource_type import ResourceType
from steersman.testing import eventually
from tests.support.manifests import config_map, deployment, pod
from tests.support.waiting import until

CONFIG_MAPS = ResourceType("", "v1", "ConfigMap", "configmaps")
PODS = ResourceType("", "v1", "Pod", "pods")
NAMESPACES = ResourceType("", "v1", "Namespace", "namespaces", namespaced=False)
DEPLOYMENTS = ResourceType("apps", "v1", "Deployment", "deployments")
CRDS = ResourceType(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)

AgainstCluster = Callable[[Any], Any]


def test_an_object_from_beginning_to_end(against_cluster: AgainstCluster) -> None:
    async def act(_: LocalCluster, client: Client) -> None:
        made = await client.create(config_map("a", x="1"))
        assert made["metadata"]["namespace"] == "default"
        with pytest.raises(AlreadyExists, match='configmaps "a" already exists'):
            await client.create(config_map("a"))

        stale = await client.get(CONFIG_MAPS, "a")
        changed = await client.replace({**stale, "data": {"x": "2"}})
        with pytest.raises(Conflict, match="the object has been modified"):
            await client.replace({**stale, "data": {"x": "3"}})

        await client.patch(CONFIG_MAPS, "a", {"data": {"y": "4"}})
        await client.patch(CONFIG_MAPS, "a", [{"op": "remove", "path": "/data/x"}], type="json")
        latest = await client.patch(CONFIG_MAPS, "a", {"data": {"z": "5"}}, type="strategic")
        assert latest["data"] == {"y": "4", "z": "5"}
        dry = await client.patch(CONFIG_MAPS, "a", {"data": None}, dry_run=True)
        assert "data" not in dry

        with pytest.raises(Conflict):
            await client.delete(CONFIG_MAPS, "a", resource_version=changed["metadata"]["resourceVersion"])
        await client.delete(CONFIG_MAPS, "a", uid=made["metadata"]["uid"])
        assert await client.find(CONFIG_MAPS, "a") is None
        with pytest.raises(NotFound):
            await client.delete(CONFIG_MAPS, "a")

    against_cluster(act)


def test_fields_are_owned_by_whoever_applied_them(against_cluster: AgainstCluster) -> None:
    async def act(_: LocalCluster, client: Client) -> None:
        await client.apply(config_map("a", x="1"), field_manager="one")
        with pytest.raises(Conflict, match='conflict with "one"') as caught:
            await client.apply(config_map("a", x="2"), field_manager="two", force=False)
        assert caught.value.causes[0]["field"] == ".data.x"
        taken = await client.apply(config_map("a", x="2"), field_manager="two")
        assert taken["data"] == {"x": "2"}

    against_cluster(act)


def test_classes_and_dicts_are_the_same_objects(against_cluster: AgainstCluster) -> None:
    async def act(_: LocalCluster, client: Client) -> None:
        made = await client.create(ConfigMap.from_object(config_map("a", x="1")))
        assert isinstance(made, ConfigMap)
        assert made.to_object() == await client.get(CONFIG_MAPS, "a")
        (listed,) = await client.list(ConfigMap, "default", fields="metadata.name=a")
        assert isinstance(listed, ConfigMap)
        assert listed.to_object() == made.to_object()

    against_cluster(act)


def test_subresources_are_parts_of_their_object(against_cluster: AgainstCluster) -> None:
    async def act(_: LocalCluster, client: Client) -> None:
        await client.create(deployment("web", replicas=1))
        scaled = await client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, subresource="scale")
        assert scaled["kind"] == "Scale"
        found = await client.get(DEPLOYMENTS, "web")
        assert found["spec"]["replicas"] == 3
        found["status"]["replicas"] = 3
        found["spec"]["replicas"] = 7
        updated = await client.replace(found, subresource="status")
        assert (updated["spec"]["replicas"], updated["status"]["replicas"]) == (3, 3)

        await client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
        await client.create(pod("p"))
        await client.evict("p", grace_s=0)
        assert await client.find(PODS, "p") is None

    against_cluster(act)


def test_lists_are_complete_whatever_the_page(against_cluster: AgainstCluster) -> None:
    async def act(cluster: LocalCluster, client: Client) -> None:
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})
        for namespace in ("default", "x"):
            for index in range(7):
                labels = {"odd": str(index % 2)}
                await client.create(config_map(f"c{index}", labels), namespace=namespace)
        everywhere = await client.list(CONFIG_MAPS, labels="odd", limit=3)
        assert len(everywhere) == 14
        assert {item["kind"] for item in everywhere} == {"ConfigMap"}
        here = await client.list(CONFIG_MAPS, "x", labels="odd=1", limit=1)
        assert [item["metadata"]["name"] for item in here] == ["c1", "c3", "c5"]

        page = await client.list_page(CONFIG_MAPS, "x", labels="odd", limit=2)
        assert (len(page.items), bool(page.continue_token)) == (2, True)
        await client.patch(CONFIG_MAPS, "c0", {"data": {"x": "1"}})
        await cluster.store.compact(cluster.store.revision)
        with pytest.raises(Expired):
            await client.list_page(CONFIG_MAPS, "x", continue_token=page.continue_token)

        await client.delete_collection(CONFIG_MAPS, "x", labels="odd=1")
        assert len(await client.list(CONFIG_MAPS, "x", labels="odd")) == 4

    against_cluster(act)


def test_a_watch_shows_every_change(against_cluster: AgainstCluster) -> None:
    async def act(_: LocalCluster, client: Client) -> None:
        await client.create(config_map("old"))
        async with client.watch(CONFIG_MAPS, "default", initial_events=True) as events:
            assert (await anext(events)).decode()["metadata"]["name"] == "old"
            end = await anext(events)
            assert end.type == "BOOKMARK"
            await client.create(config_map("a"))
            await client.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}})
            await client.delete(CONFIG_MAPS, "a")
            seen = [await anext(events) for _ in range(3)]
        assert [event.type for event in seen] == ["ADDED", "MODIFIED", "DELETED"]

        since = end.decode()["metadata"]["resourceVersion"]
        async with client.watch(
            CONFIG_MAPS, "default", resource_version=since, metadata_only=True, timeout_s=1
        ) as events:
            again = [event async for event in events if event.type != "BOOKMARK"]
        assert [event.decode()["kind"] for event in again] == ["PartialObjectMetadata"] * 3

    against_cluster(act)


def test_a_watch_from_too_long_ago_says_so(against_cluster: AgainstCluster) -> None:
    async def act(cluster: LocalCluster, client: Client) -> None:
        await cluster.store.compact(cluster.store.revision)
        async with client.watch(CONFIG_MAPS, resource_version="1") as events:
            event = await anext(events)
        assert event.type == "ERROR"
        assert isinstance(event.error(), Expired)

    against_cluster(act)


@pytest.mark.ours("an end in order")
def test_a_watch_ends_when_the_cluster_stops(against_cluster: AgainstCluster) -> None:
    async def act(cluster: LocalCluster, client: Client) -> None:
        async with client.watch(CONFIG_MAPS, "default") as events:
            stopping = asyncio.create_task(cluster.stop())
            assert [event async for event in events] == []
            await stopping
        with pytest.raises(Unreachable):
            await client.get(CONFIG_MAPS, "a")

    against_cluster(act)


def test_refusals_are_errors_of_their_kind(against_cluster: AgainstCluster) -> None:
    async def act(cluster: LocalCluster, client: Client) -> None:
        with pytest.raises(Invalid) as caught:
            await client.create(config_map("NO!"))
        assert caught.value.causes[0]["field"] == "metadata.name"
        with pytest.raises(NotFound, match='namespaces "none" not found'):
            await client.create(config_map("a"), namespace="none")
        with pytest.raises(MethodNotAllowed):
            await client.request("POST", "/api/v1/nodes/x")
        with pytest.raises(NoSuchKind):
            await client.create({"apiVersion": "example.com/v1", "kind": "Widget"})
        async with cluster.client("wrong") as stranger:
            with pytest.raises(Unauthorized):
                await stranger.get(CONFIG_MAPS, "a")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        await client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "me"}})
        path = "/api/v1/namespaces/default/serviceaccounts/me/token"
        answer = orjson.loads(await client.request("POST", path, body=body))
        async with cluster.client(answer["status"]["token"]) as account:
            with pytest.raises(Forbidden, match='User "system:serviceaccount:default:me" cannot get'):
                await account.get(CONFIG_MAPS, "a")

    against_cluster(act)


def test_kinds_that_are_defined_later_are_found(against_cluster: AgainstCluster) -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    version = {
        "name": "v1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }  # fmt: skip
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }

    async def act(_: LocalCluster, client: Client) -> None:
        async with client.watch(CRDS, initial_events=True) as events:
            await client.create(definition)
            async for event in events:
                conditions = event.decode().get("status", {}).get("conditions") or []
                if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
                    break
        # The original tells of a new kind a moment after it is established.
        await eventually(lambda: client.resource_type("example.com/v1", "Widget"))
        made = await client.create(widget)
        found = await client.resource_type("example.com/v1", "Widget")
        assert found == ResourceType("example.com", "v1", "Widget", "widgets")
        (listed,) = await client.list(found)
        assert listed == made

    against_cluster(act)


def test_requests_at_the_same_time_do_not_mix(against_cluster: AgainstCluster) -> None:
    async def act(_: LocalCluster, client: Client) -> None:
        names = [f"c{index}" for index in range(100)]
        await asyncio.gather(*[client.create(config_map(name, x=name)) for name in names])
        found = await asyncio.gather(*[client.get(CONFIG_MAPS, name) for name in names])
        assert [item["data"]["x"] for item in found] == names

    against_cluster(act)


@pytest.mark.ours("a count of all its watches")
def test_a_watch_that_is_cancelled_leaves_nothing_behind(against_cluster: AgainstCluster) -> None:
    async def act(cluster: LocalCluster, client: Client) -> None:
        async def follow(opened: asyncio.Event) -> None:
            async with client.watch(CONFIG_MAPS) as events:
                opened.set()
                async for _ in events:
                    pass

        for _ in range(20):
            opened = asyncio.Event()
            task = asyncio.create_task(follow(opened))
            await opened.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        # Over a socket the server notices when it reads the end of the connection.
        async def noticed() -> bool:
            return b"\napiserver_longrunning_requests 0.0\n" in await client.request("GET", "/metrics")

        await until(noticed, 60)

    against_cluster(act)
