"""Informers against a real API server: over sockets, through restarts, with definitions that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from steersman.client import Client
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.objects.resource_type import ResourceType
from steersman.runtime.cache import OWNER
from steersman.runtime.changes import Change
from steersman.runtime.informer import Informer
from steersman.runtime.keys import Key
from tests.integration.runtime.informing import BreakableTransport, eventually, running
from tests.support.api import ApiClient, api, config_map

CONFIG_MAPS = ResourceType("", "v1", "ConfigMap", "configmaps")
DEFINITIONS = ResourceType(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
WIDGETS = ResourceType("example.com", "v1", "Widget", "widgets")


class World:
    """A cluster and a client whose watches can be broken."""

    def __init__(self, admin: ApiClient) -> None:
        self.transport = BreakableTransport(admin.http)
        self.client = Client(self.transport)
        self.cluster = admin.cluster

    async def put(self, name: str, *, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
        obj = config_map(name, labels, **data)
        applied: dict[str, Any] = await self.client.apply(
            obj, kind=CONFIG_MAPS, field_manager="test", namespace="default"
        )
        return applied


@asynccontextmanager
async def world(**config: Any) -> AsyncIterator[World]:
    async with api(**config) as admin:
        yield World(admin)


def with_world(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def body() -> None:
            async with world() as made:
                await test(made)

        asyncio.run(body())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def names(informer: Informer) -> set[str]:
    return {cached.key.name for cached in informer.cache}


@with_world
async def test_the_cache_is_what_the_api_answers(w: World) -> None:
    for number in range(7):
        await w.put(f"a{number}", number=str(number))
    async with running(w.client) as informers:
        informer = informers.get(CONFIG_MAPS, namespace="default")
        assert await informers.wait_synced() == []
        for cached in informer.cache:
            answer = await w.client.get(CONFIG_MAPS, cached.key.name, cached.key.namespace)
            answer["metadata"].pop("managedFields", None)
            assert cached.object() == answer
        assert len(informer.cache) == 7
        assert informer.stats.lists == 0


def test_a_cluster_in_the_same_process_is_followed_without_sockets() -> None:
    async def body() -> None:
        async with LocalCluster(ClusterConfig()) as cluster, cluster.client() as client:
            await client.create(config_map("a"), kind=CONFIG_MAPS, namespace="default")
            async with running(client) as informers:
                informer = informers.get(CONFIG_MAPS, namespace="default")
                assert await informers.wait_synced() == []
                await client.create(config_map("b"), kind=CONFIG_MAPS, namespace="default")
                await eventually(lambda: names(informer) == {"a", "b"})

    asyncio.run(body())


@with_world
async def test_pages_give_the_same_objects_as_initial_events(w: World) -> None:
    for number in range(5):
        await w.put(f"a{number}")
    page = await w.client.list_page(CONFIG_MAPS, "default", limit=3)
    async with running(w.client) as informers:
        informer = informers.get(CONFIG_MAPS, namespace="default")
        await informers.wait_synced()
        for item in page.items:
            listed = informer.cache.read(item)
            cached = informer.cache.get(listed.key)
            assert cached is not None
            assert cached.object() == listed.object()


@with_world
async def test_only_the_kept_managers_fields_are_kept(w: World) -> None:
    await w.put("a", k="v")
    merge = {"metadata": {"labels": {"by": "other"}}}
    await w.client.patch(CONFIG_MAPS, "a", merge, "default", field_manager="other")
    async with running(w.client, keep_managed_fields_of=["test"]) as informers:
        informer = informers.get(CONFIG_MAPS, namespace="default")
        await informers.wait_synced()
        cached = informer.cache.get(("default", "a"))
        assert cached is not None
        assert [entry["manager"] for entry in cached.metadata()["managedFields"]] == ["test"]


@with_world
async def test_labels_fields_and_metadata_are_selected_by_the_server(w: World) -> None:
    await w.put("web", labels={"app": "web"}, k="v")
    await w.put("db", labels={"app": "db"}, k="v")
    async with running(w.client) as informers:
        web = informers.get(CONFIG_MAPS, namespace="default", labels="app=web")
        db = informers.get(CONFIG_MAPS, namespace="default", fields="metadata.name=db")
        heads = informers.get(CONFIG_MAPS, namespace="default", metadata_only=True)
        assert await informers.wait_synced() == []
        assert (names(web), names(db)) == ({"web"}, {"db"})
        assert names(heads) == {"web", "db"}
        assert {tuple(sorted(cached.object())) for cached in heads.cache} == {
            ("apiVersion", "kind", "metadata")
        }
        assert {cached.object()["kind"] for cached in heads.cache} == {"ConfigMap"}
        await w.put("web", labels={"app": "other"})
        await eventually(lambda: not names(web))


@with_world
async def test_a_broken_watch_is_resumed(w: World) -> None:
    async with running(w.client, speed=50) as informers:
        informer = informers.get(CONFIG_MAPS, namespace="default")
        await informers.wait_synced()
        for number in range(5):
            w.transport.break_watches()
            await w.put(f"a{number}")
            await eventually(lambda number=number: f"a{number}" in names(informer))
        assert informer.stats.relists == 0
        assert informer.stats.failures == 5


@with_world
async def test_a_silent_watch_is_noticed(w: World) -> None:
    async with running(w.client, speed=400) as informers:
        informer = informers.get(CONFIG_MAPS, namespace="default")
        await informers.wait_synced()
        w.transport.silence_watches()
        await w.put("a")
        await eventually(lambda: "a" in names(informer))


@with_world
async def test_refreshing_does_not_rely_on_a_watch_that_is_behind(w: World) -> None:
    async with running(w.client) as informers:
        informer = informers.get(CONFIG_MAPS, namespace="default")
        await informers.wait_synced()
        w.transport.silence_watches()
        await w.put("a")
        await informers.refresh()
        assert "a" in names(informer)
        await w.put("b")
        await eventually(lambda: "b" in names(informer))
        assert informer.stats.relists == 1


def test_a_compacted_history_is_answered_by_fetching_everything() -> None:
    async def body() -> None:
        async with world(history_s=0.05) as w:
            async with running(w.client, speed=10) as informers:
                informer = informers.get(CONFIG_MAPS, namespace="default")
                await informers.wait_synced()
                store = w.cluster.store
                await w.put("a")
                await eventually(lambda: "a" in names(informer))
                before = store.revision
                w.transport.silence_watches()
                for number in range(5):
                    await w.put("b", number=str(number))
                await w.client.delete(CONFIG_MAPS, "a", "default")
                await eventually(lambda: store.compacted > before)
                w.transport.break_watches()
                await eventually(lambda: names(informer) == {"b"})
                assert informer.stats.relists == 1

    asyncio.run(body())


def test_a_restarted_server_is_followed_again(tmp_path: Path) -> None:
    async def body() -> None:
        config = ClusterConfig(data=str(tmp_path))
        heard: list[Change] = []
        async with LocalCluster(config) as cluster:
            port = cluster.port
            client = Client.load(kubeconfig=cluster.kubeconfig)
            await client.create(config_map("a"), kind=CONFIG_MAPS, namespace="default")
            informing = running(client, speed=20)
            informers = await informing.__aenter__()
            informer = informers.get(CONFIG_MAPS, namespace="default")
            informer.add_handler(heard.append)
            await informers.wait_synced()
        try:
            await eventually(lambda: informer.stats.failures > 1)
            async with LocalCluster(ClusterConfig(data=str(tmp_path), port=port)):
                await eventually(lambda: informer.stats.watch_opened_at is not None)
                await client.create(config_map("b"), kind=CONFIG_MAPS, namespace="default")
                await eventually(lambda: "b" in names(informer))
                assert [(change.type, change.key.name) for change in heard] == [
                    ("added", "a"),
                    ("added", "b"),
                ]
        finally:
            await informing.__aexit__(None, None, None)
            await client.close()

    asyncio.run(body())


def widget_definition() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [version],
        },
    }


@with_world
async def test_a_definition_may_come_late_go_and_come_again(w: World) -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
    heard: list[tuple[str, str]] = []
    async with running(w.client, speed=20) as informers:
        informer = informers.get(WIDGETS)
        informer.add_handler(lambda change: heard.append((change.type, change.key.name)))
        assert await informers.wait_synced() == ["widgets.v1.example.com"]
        for round_ in range(2):
            await w.client.create(widget_definition(), kind=DEFINITIONS)
            await eventually(lambda: informer.synced and not informer.absent)
            await w.client.create(widget, kind=WIDGETS, namespace="default")
            await eventually(lambda: names(informer) == {"a"})
            await w.client.delete(DEFINITIONS, "widgets.example.com")
            await eventually(lambda: informer.absent)
            assert names(informer) == set()
            assert heard == [("added", "a"), ("deleted", "a")] * (round_ + 1)


@with_world
async def test_our_own_writes_are_seen_at_once_and_not_heard_of(w: World) -> None:
    await w.put("a", n="-1")
    heard: list[Change] = []
    others: list[Change] = []
    async with running(w.client) as informers:
        informer = informers.get(CONFIG_MAPS, namespace="default")
        informer.add_handler(heard.append, writer="me")
        informer.add_handler(others.append)
        await informers.wait_synced()
        heard.clear()
        others.clear()
        key = Key("default", "a")
        for number in range(30):
            with informer.cache.writing(key, "me"):
                informer.cache.wrote(await w.put("a", n=str(number)), "me")
            seen = informer.cache.get(key)
            assert seen is not None
            assert seen.object()["data"] == {"n": str(number)}
        await w.put("b")
        await eventually(lambda: "b" in names(informer))
        assert [change.key.name for change in heard if change.key.name != "kube-root-ca.crt"] == ["b"]
        assert [change.key.name for change in others if change.key.name == "a"] == ["a"] * 30


@with_world
async def test_children_are_found_by_their_owner(w: World) -> None:
    owner = await w.put("owner")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child = config_map("child")
    child["metadata"]["ownerReferences"] = [reference]
    async with running(w.client) as informers:
        informer = informers.get(CONFIG_MAPS, namespace="default")
        await informers.wait_synced()
        uid = owner["metadata"]["uid"]
        assert informer.cache.by_index(OWNER, uid) == []
        informer.cache.wrote(await w.client.create(child, kind=CONFIG_MAPS, namespace="default"))
        assert [cached.key.name for cached in informer.cache.by_index(OWNER, uid)] == ["child"]


@with_world
async def test_a_namespace_that_does_not_exist_yet_is_followed(w: World) -> None:
    namespaces = ResourceType("", "v1", "Namespace", "namespaces", namespaced=False)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    async with running(w.client) as informers:
        informer = informers.get(CONFIG_MAPS, namespace="team")
        assert await informers.wait_synced() == []
        await w.client.create(namespace, kind=namespaces)
        await w.client.create(config_map("a"), kind=CONFIG_MAPS, namespace="team")
        await eventually(lambda: "a" in names(informer))


@pytest.mark.parametrize("count", [3, 1200], ids=["one page", "pages"])
def test_a_server_that_does_not_stream_is_listed(count: int) -> None:
    class ListingClient(Client):
        """The client of a server from before WatchList."""

        def watch(self, *args: Any, initial_events: bool = False, **options: Any) -> Any:
            # An invalid combination, which every server refuses.
            options["bookmarks"] = not initial_events
            return super().watch(*args, initial_events=initial_events, **options)

    async def body() -> None:
        async with api() as admin:
            for number in range(count):
                admin_path = "/api/v1/namespaces/default/configmaps"
                await admin.ok("POST", admin_path, config_map(f"a{number}"))
            async with running(ListingClient(admin.http), speed=100) as informers:
                informer = informers.get(CONFIG_MAPS, namespace="default")
                await informers.wait_synced()
                assert len(informer.cache) == count
                assert informer.stats.lists == -(-count // 500)

    asyncio.run(body())
