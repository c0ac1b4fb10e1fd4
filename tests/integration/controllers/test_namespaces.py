"""Namespaces that are deleted: what is in them goes first, and the status tells what does not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from steersman.objects.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    LEASES,
    NAMESPACES,
    PODS,
    ROLES,
    SECRETS,
    SERVICES,
)
from tests.integration.controllers.test_garbage_collector import WIDGETS, define_widgets
from tests.integration.controllers.workloads import World, dying, with_workloads
from tests.support.manifests import config_map, deployment, pod

Object = dict[str, Any]

NAME = "ending"
STUCK = {"metadata": {"finalizers": ["example.com/stuck"]}}
FREE = {"metadata": {"finalizers": None}}
FINE = {
    "NamespaceDeletionDiscoveryFailure": (
        "False", "ResourcesDiscovered", "All resources successfully discovered"
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "False", "ParsedGroupVersions", "All legacy kube types successfully parsed"
    ),
    "NamespaceDeletionContentFailure": (
        "False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"
    ),
    "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"
    ),
}  # fmt: skip


def within(obj: Object) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "namespace": NAME}}


async def until_gone(world: World) -> None:
    async def gone() -> bool:
        return await world.client.find(NAMESPACES, NAME) is None

    await world.until(gone)


async def told(world: World) -> dict[str, tuple[str, str, str]]:
    """The namespace's conditions: status, reason and message by type."""
    status = (await world.client.get(NAMESPACES, NAME))["status"]
    assert status["phase"] == "Terminating"
    return {
        one["type"]: (one["status"], one["reason"], one["message"]) for one in status.get("conditions") or ()
    }


async def until_told(world: World, **conditions: tuple[str, str, str]) -> None:
    async def holds() -> bool:
        assert await told(world) == {**FINE, **conditions}
        return True

    await world.until(holds)


@with_workloads("namespace", "deployment", "replicaset", "garbagecollector")
async def test_everything_in_a_namespace_goes_and_then_it_does(world: World) -> None:
    await define_widgets(world)
    await world.create(NAMESPACES, {"metadata": {"name": NAME}})
    for number in range(20):
        await world.create(CONFIG_MAPS, within(config_map(f"cm-{number}")))
    await world.create(DEPLOYMENTS, within(deployment("web")))
    await world.create(SECRETS, within({"metadata": {"name": "s"}}))
    await world.create(SERVICES, within({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}))
    await world.create(ROLES, within({"metadata": {"name": "r"}, "rules": []}))
    await world.create(LEASES, within({"metadata": {"name": "l"}, "spec": {}}))
    await world.create(WIDGETS, within({"metadata": {"name": "w"}}))
    await asyncio.sleep(5)
    await world.client.delete(NAMESPACES, NAME)
    await until_gone(world)
    for kind in (CONFIG_MAPS, DEPLOYMENTS, PODS, SECRETS, SERVICES, ROLES, LEASES, WIDGETS):
        assert list(await world.client.list(kind, NAME)) == []
    await world.quiet()
    await world.client.delete(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")


@with_workloads("namespace")
async def test_what_is_stuck_is_told_until_it_is_not(world: World) -> None:
    await world.create(NAMESPACES, {"metadata": {"name": NAME}})
    await world.create(CONFIG_MAPS, within({"metadata": {"name": "free"}}))
    for name in ("one", "two"):
        await world.create(CONFIG_MAPS, within({"metadata": {"name": name}}))
        await world.client.patch(CONFIG_MAPS, name, STUCK, NAME)
    await world.client.delete(NAMESPACES, NAME)
    remaining = "Some resources are remaining: configmaps. has 2 resource instances"
    finalizers = (
        "Some content in the namespace has finalizers remaining: example.com/stuck in 2 resource instances"
    )
    await until_told(
        world,
        NamespaceContentRemaining=("True", "SomeResourcesRemain", remaining),
        NamespaceFinalizersRemaining=("True", "SomeFinalizersRemain", finalizers),
    )
    await world.quiet()
    for name in ("one", "two"):
        await world.client.patch(CONFIG_MAPS, name, FREE, NAME)
    await until_gone(world)


@with_workloads("namespace")
async def test_nothing_but_pods_goes_before_the_pods_have(world: World) -> None:
    await world.create(NAMESPACES, {"metadata": {"name": NAME}})
    await world.create(CONFIG_MAPS, within({"metadata": {"name": "needed"}}))
    world.nodes.let_go = lambda pod: False
    await world.create(PODS, within(pod("p", terminationGracePeriodSeconds=20)))
    await asyncio.sleep(1)
    await world.client.delete(NAMESPACES, NAME)
    await asyncio.sleep(15)
    assert "deletionTimestamp" in (await world.client.get(PODS, "p", NAME))["metadata"]
    assert await world.client.get(CONFIG_MAPS, "needed", NAME)
    # When the time of the pods is over, something is wrong.
    which = "unexpected items still remain in namespace: ending for gvr: /v1, Resource=pods"
    failure = f"Failed to delete all resource types, 1 remaining: {which}"
    remaining = "Some resources are remaining: pods. has 1 resource instances"
    await until_told(
        world,
        NamespaceDeletionContentFailure=("True", "ContentDeletionFailed", failure),
        NamespaceContentRemaining=("True", "SomeResourcesRemain", remaining),
    )
    world.nodes.let_go = lambda pod: True
    world.nodes.look_again()
    await until_gone(world)


@with_workloads("namespace")
async def test_a_namespace_goes_as_soon_as_its_last_pod_has(world: World) -> None:
    await world.create(NAMESPACES, {"metadata": {"name": NAME}})
    world.nodes.let_go = lambda pod: False
    await world.create(PODS, within(pod("p", terminationGracePeriodSeconds=1000)))
    await asyncio.sleep(1)
    await world.client.delete(NAMESPACES, NAME)
    await asyncio.sleep(10)
    world.nodes.let_go = lambda pod: True
    world.nodes.look_again()
    await asyncio.sleep(2)
    assert await world.client.find(NAMESPACES, NAME) is None


@with_workloads("namespace")
async def test_finalizers_of_others_keep_an_empty_namespace(world: World) -> None:
    await world.create(
        NAMESPACES, {"metadata": {"name": NAME}, "spec": {"finalizers": ["example.com/other"]}}
    )
    await world.client.delete(NAMESPACES, NAME)

    async def emptied() -> bool:
        namespace = await world.client.get(NAMESPACES, NAME)
        return namespace["spec"]["finalizers"] == ["example.com/other"]

    await world.until(emptied)
    await world.quiet()
    namespace = await world.client.get(NAMESPACES, NAME)
    await world.client.replace({**namespace, "spec": {}}, kind=NAMESPACES, subresource="finalize")
    await until_gone(world)


@pytest.mark.parametrize("writes", [1, 2, 3])
def test_a_controller_that_keeps_dying_empties_a_namespace(writes: int) -> None:
    async def make(world: World) -> None:
        await world.create(NAMESPACES, {"metadata": {"name": NAME}})
        await world.create(CONFIG_MAPS, within(config_map("cm")))
        await world.create(SECRETS, within({"metadata": {"name": "s"}}))
        await world.create(PODS, within(pod("p")))

    def acts(world: World) -> list[Awaitable[Any]]:
        return [make(world), world.client.delete(NAMESPACES, NAME), asyncio.sleep(2), asyncio.sleep(2)]

    async def settled(world: World) -> None:
        await until_gone(world)
        for kind in (CONFIG_MAPS, SECRETS, PODS):
            assert list(await world.client.list(kind, NAME)) == []

    dying(("namespace",), writes, acts, settled)
