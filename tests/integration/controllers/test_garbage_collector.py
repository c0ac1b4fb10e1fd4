"""The garbage collector with an API server: what goes with its owner, what stays, and in which order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable
from typing import Any, Literal

import pytest

from steersman.aio import Scope
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
)
from tests.integration.controllers.workloads import NAMESPACE, World, dying, with_workloads
from tests.support.manifests import deployment

Object = dict[str, Any]
Propagation = Literal["Foreground", "Background", "Orphan"]

COLLECTOR = "garbagecollector"
WIDGETS = ResourceType("example.com", "v1", "Widget", "widgets")
#: Virtual seconds in which the collector notices whatever there is to notice.
NOTICED_S = 5.0


def reference(owner: Object, kind: ResourceType = CONFIG_MAPS, *, block: bool = False) -> Object:
    metadata = owner["metadata"]
    named = {"apiVersion": kind.api_version, "kind": kind.kind, "name": metadata["name"]}
    return {**named, "uid": metadata["uid"], **({"blockOwnerDeletion": True} if block else {})}


def owned(name: str, *references: Object, namespace: str = NAMESPACE, **metadata: Any) -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "ownerReferences": [*references], **metadata}}


async def create(world: World, name: str, *references: Object, **metadata: Any) -> Object:
    return await world.create(CONFIG_MAPS, owned(name, *references, **metadata))


async def delete(world: World, name: str, propagation: Propagation = "Background") -> None:
    await world.client.delete(CONFIG_MAPS, name, NAMESPACE, propagation=propagation)


async def until_left(world: World, *names: str, kind: ResourceType = CONFIG_MAPS) -> None:
    async def holds() -> bool:
        return await world.names(kind) == sorted(names)

    await world.until(holds)


async def until_gone(world: World, name: str) -> None:
    async def holds() -> bool:
        return name not in await world.names(CONFIG_MAPS)

    await world.until(holds)


async def uids_of_owners(world: World, name: str, kind: ResourceType = CONFIG_MAPS) -> list[str]:
    references = (await world.get(kind, name))["metadata"].get("ownerReferences") or []
    return [one["uid"] for one in references]


async def stays(world: World, *names: str) -> None:
    await asyncio.sleep(NOTICED_S)
    assert await world.names(CONFIG_MAPS) == sorted(names)


@with_workloads(COLLECTOR)
async def test_dependents_of_dependents_go_with_their_owner(world: World) -> None:
    first = await create(world, "first")
    second = await create(world, "second", reference(first))
    await create(world, "third", reference(second))
    await create(world, "other")
    await stays(world, "first", "second", "third", "other")
    await delete(world, "first")
    await until_left(world, "other")
    await world.quiet()


@with_workloads(COLLECTOR)
async def test_what_has_another_owner_stays_and_loses_the_reference(world: World) -> None:
    first, second = await create(world, "first"), await create(world, "second")
    await create(world, "both", reference(first), reference(second))
    await delete(world, "first")

    async def released() -> bool:
        return await uids_of_owners(world, "both") == [second["metadata"]["uid"]]

    await world.until(released)
    await delete(world, "second")
    await until_left(world)


@with_workloads(COLLECTOR)
async def test_what_comes_after_its_owner_is_gone_goes_too(world: World) -> None:
    owner = await create(world, "owner")
    await delete(world, "owner")
    await create(world, "late", reference(owner))
    await until_left(world)


@with_workloads(COLLECTOR)
async def test_a_namesake_is_no_owner(world: World) -> None:
    owner = await create(world, "owner")
    await delete(world, "owner")
    await create(world, "owner")
    await create(world, "late", reference(owner))
    await until_left(world, "owner")


@with_workloads(COLLECTOR)
async def test_orphans_stay_without_the_reference(world: World) -> None:
    owner = await create(world, "owner")
    names = [f"child-{number:02}" for number in range(50)]
    for name in names:
        await create(world, name, reference(owner, block=True))
    await delete(world, "owner", "Orphan")
    await until_left(world, *names)
    assert [await uids_of_owners(world, name) for name in names] == [[]] * len(names)
    await world.quiet()


@with_workloads(COLLECTOR)
async def test_an_owner_waits_for_dependents_that_block_it(world: World) -> None:
    owner = await create(world, "owner")
    await create(world, "child", reference(owner, block=True), finalizers=["example.com/slow"])
    await create(world, "idle", reference(owner), finalizers=["example.com/slow"])
    await delete(world, "owner", "Foreground")

    async def deleting() -> bool:
        dependents = [await world.get(CONFIG_MAPS, name) for name in ("child", "idle")]
        return all("deletionTimestamp" in one["metadata"] for one in dependents)

    await world.until(deleting)
    await stays(world, "child", "idle", "owner")
    await world.client.patch(CONFIG_MAPS, "child", {"metadata": {"finalizers": None}}, NAMESPACE)
    await until_left(world, "idle")


@with_workloads(COLLECTOR)
async def test_foreground_deletion_goes_from_the_leaves_to_the_root(world: World) -> None:
    root = await create(world, "root")
    branch = await create(world, "branch", reference(root, block=True))
    await create(world, "leaf", reference(branch, block=True), finalizers=["example.com/slow"])
    await delete(world, "root", "Foreground")

    async def branch_waits() -> bool:
        metadata = (await world.get(CONFIG_MAPS, "branch"))["metadata"]
        return metadata.get("finalizers") == ["foregroundDeletion"] and "deletionTimestamp" in metadata

    await world.until(branch_waits)
    await stays(world, "branch", "leaf", "root")
    await world.client.patch(CONFIG_MAPS, "leaf", {"metadata": {"finalizers": None}}, NAMESPACE)
    await until_left(world)


@with_workloads(COLLECTOR)
async def test_an_owner_that_is_no_longer_blocked_goes(world: World) -> None:
    owner = await create(world, "owner")
    await create(world, "child", reference(owner, block=True), finalizers=["example.com/slow"])
    await delete(world, "owner", "Foreground")
    await stays(world, "child", "owner")
    unblocked = {"metadata": {"ownerReferences": [reference(owner)]}}
    await world.client.patch(CONFIG_MAPS, "child", unblocked, NAMESPACE)
    await until_left(world, "child")


@with_workloads(COLLECTOR)
async def test_circles_go_as_a_whole(world: World) -> None:
    one = await create(world, "one")
    three = await create(world, "three", reference(one, block=True))
    two = await create(world, "two", reference(three, block=True))
    circle = {"metadata": {"ownerReferences": [reference(two, block=True)]}}
    await world.client.patch(CONFIG_MAPS, "one", circle, NAMESPACE)
    await stays(world, "one", "three", "two")
    await delete(world, "one", "Foreground")
    await until_left(world)


@with_workloads(COLLECTOR)
async def test_owners_in_other_namespaces_are_none_and_that_is_told(world: World) -> None:
    await world.create(NAMESPACES, {"metadata": {"name": "elsewhere"}})
    owner = await world.create(CONFIG_MAPS, {"metadata": {"name": "owner", "namespace": "elsewhere"}})
    await create(world, "child", reference(owner))
    await until_left(world)
    [(reason, note)] = await world.events("ConfigMap")
    assert reason == "OwnerRefInvalidNamespace"
    uid = owner["metadata"]["uid"]
    shown = f"[v1/ConfigMap, namespace: {NAMESPACE}, name: owner, uid: {uid}]"
    assert note == f'ownerRef {shown} does not exist in namespace "{NAMESPACE}"'


@with_workloads(COLLECTOR)
async def test_owners_without_a_namespace_can_own_anything(world: World) -> None:
    node = await world.create(NODES, {"metadata": {"name": "node"}})
    await create(world, "child", reference(node, NODES))
    await stays(world, "child")
    await world.client.delete(NODES, "node")
    await until_left(world)


@with_workloads(COLLECTOR)
async def test_what_has_no_namespace_is_not_owned_by_what_has_one(world: World) -> None:
    owner = await create(world, "owner")
    await world.create(NODES, {"metadata": {"name": "node", "ownerReferences": [reference(owner)]}})
    await delete(world, "owner")
    await asyncio.sleep(NOTICED_S)
    assert await world.client.get(NODES, "node")


@with_workloads(COLLECTOR)
async def test_owners_of_a_kind_that_nobody_knows_are_left_alone(world: World) -> None:
    unknown = {"apiVersion": "example.com/v1", "kind": "Unknown", "name": "x", "uid": "1"}
    await create(world, "child", unknown)
    await stays(world, "child")


def widget_definition() -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


async def define_widgets(world: World) -> None:
    await world.create(CUSTOM_RESOURCE_DEFINITIONS, widget_definition())

    async def served() -> bool:
        return isinstance((await world.client.list(WIDGETS)).resource_version, str)

    await world.until(served)


@with_workloads(COLLECTOR)
async def test_custom_resources_own_and_are_owned_as_soon_as_they_are_defined(world: World) -> None:
    await define_widgets(world)
    owner = await world.create(WIDGETS, owned("owner"))
    await world.create(WIDGETS, owned("child", reference(owner, WIDGETS)))
    await create(world, "child", reference(owner, WIDGETS))
    await stays(world, "child")
    assert await world.names(WIDGETS) == ["child", "owner"]
    await world.client.delete(WIDGETS, "owner", NAMESPACE)
    await until_left(world)
    await until_left(world, kind=WIDGETS)


@with_workloads(COLLECTOR)
async def test_custom_resources_are_orphaned_though_they_take_no_strategic_patches(world: World) -> None:
    await define_widgets(world)
    owner = await create(world, "owner")
    await world.create(WIDGETS, owned("child", reference(owner)))
    await asyncio.sleep(NOTICED_S)
    await delete(world, "owner", "Orphan")
    await until_gone(world, "owner")
    assert await uids_of_owners(world, "child", WIDGETS) == []


@with_workloads(COLLECTOR)
async def test_a_definition_takes_its_objects_and_their_dependents_with_it(world: World) -> None:
    await define_widgets(world)
    owner = await world.create(WIDGETS, owned("owner"))
    await create(world, "child", reference(owner, WIDGETS))
    await stays(world, "child")
    await world.client.delete(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")
    await until_left(world)

    def forgotten() -> bool:
        return not any(informer.resource == WIDGETS for informer in world.manager.informers)

    await world.until(forgotten)
    await define_widgets(world)
    owner = await world.create(WIDGETS, owned("owner"))
    await create(world, "child", reference(owner, WIDGETS))
    await stays(world, "child")
    await world.client.delete(WIDGETS, "owner", NAMESPACE)
    await until_left(world)


async def _deployed(world: World) -> None:
    await world.create(DEPLOYMENTS, deployment("web"))
    await world.until_status(DEPLOYMENTS, "web", readyReplicas=1)


async def _nothing_of(world: World, *kinds: ResourceType) -> None:
    for kind in kinds:
        await until_left(world, kind=kind)


@with_workloads(COLLECTOR, "deployment", "replicaset")
async def test_a_deployment_goes_with_everything(world: World) -> None:
    for propagation in ("Background", "Foreground"):
        await _deployed(world)
        await world.client.delete(DEPLOYMENTS, "web", NAMESPACE, propagation=propagation)
        await _nothing_of(world, DEPLOYMENTS, REPLICA_SETS, PODS)
    await world.quiet()


@with_workloads(COLLECTOR, "deployment", "replicaset")
async def test_an_orphaned_replica_set_is_adopted_by_the_next_deployment(world: World) -> None:
    await _deployed(world)
    before = await world.names(REPLICA_SETS), await world.names(PODS)
    await world.client.delete(DEPLOYMENTS, "web", NAMESPACE, propagation="Orphan")
    await until_left(world, kind=DEPLOYMENTS)
    assert await uids_of_owners(world, before[0][0], REPLICA_SETS) == []
    await _deployed(world)
    assert (await world.names(REPLICA_SETS), await world.names(PODS)) == before


@with_workloads(COLLECTOR)
async def test_a_collector_that_starts_finds_what_it_missed(world: World) -> None:
    owner = await create(world, "owner")
    await create(world, "child", reference(owner))
    await asyncio.sleep(NOTICED_S)
    world.manager.stop()
    await asyncio.sleep(NOTICED_S)
    await delete(world, "owner")
    await stays(world, "child")
    async with Scope() as scope:
        again = scope.start(world.run())
        await until_left(world)
        again.cancel()


@pytest.mark.parametrize("writes", [1, 2, 3, 5])
def test_a_collector_that_keeps_dying_finishes_what_it_began(writes: int) -> None:
    async def make(world: World) -> None:
        for name in ("background", "foreground", "orphan"):
            owner = await create(world, name)
            for number in range(3):
                child = await create(world, f"{name}-{number}", reference(owner, block=True))
                await create(world, f"{name}-{number}-leaf", reference(child, block=True))

    def acts(world: World) -> list[Awaitable[Any]]:
        return [
            make(world),
            delete(world, "background", "Background"),
            delete(world, "foreground", "Foreground"),
            delete(world, "orphan", "Orphan"),
        ]

    async def settled(world: World) -> None:
        left = [f"orphan-{number}" for number in range(3)]
        await until_left(world, *left, *(f"{name}-leaf" for name in left))
        assert [await uids_of_owners(world, name) for name in left] == [[]] * 3

    dying((COLLECTOR,), writes, acts, settled)


@with_workloads(COLLECTOR, "deployment", "replicaset")
async def test_caches_of_others_are_shared_and_the_rest_is_metadata(world: World) -> None:
    await asyncio.sleep(NOTICED_S)
    informers = {str(informer) for informer in world.manager.informers}
    assert {"pods.v1", "replicasets.v1.apps", "deployments.v1.apps", "configmaps.v1 (metadata)"} <= informers
    assert not {"pods.v1 (metadata)", "configmaps.v1", "events.v1 (metadata)"} & informers


def _survivors(owners: dict[str, set[str]], deleted: set[str]) -> set[str]:
    """What is left of a graph: whatever never had owners, or still has one."""
    left = owners.keys() - deleted
    while gone := {name for name in left if owners[name] and not owners[name] & left}:
        left -= gone
    return left


async def _any_graph(world: World, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"o{number:02}" for number in range(25)]
    owners: dict[str, set[str]] = {name: set() for name in names}
    made: dict[str, Object] = {}
    for place, name in enumerate(names):
        owners[name] = set(chance.sample(names[:place], min(place, chance.choice([0, 1, 1, 2, 3]))))
        references = [reference(made[one], block=chance.random() < 0.5) for one in sorted(owners[name])]
        made[name] = await create(world, name, *references)
    deleted = set(chance.sample(names, 8))
    for name in sorted(deleted):
        if name in await world.names(CONFIG_MAPS):
            await delete(world, name, chance.choice(("Background", "Foreground")))
        await asyncio.sleep(chance.choice((0, 0, 1)))
    left = _survivors(owners, deleted)
    await until_left(world, *left)
    await stays(world, *left)
    for name in left:
        kept = {made[one]["metadata"]["uid"] for one in owners[name] & left}
        assert set(await uids_of_owners(world, name)) == kept
    await world.quiet()


@pytest.mark.parametrize("seed", range(6))
def test_of_any_graph_what_has_an_owner_or_needs_none_is_left(seed: int) -> None:
    async def test(world: World) -> None:
        await _any_graph(world, seed)

    with_workloads(COLLECTOR)(test)()
