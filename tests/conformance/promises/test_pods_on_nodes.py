"""Promises about pods that run: kept with simulated nodes, where the public tests have real ones.

The scheduler's part is played: pods are made for a node.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from steersman.client import Conflict
from steersman.objects.conditions import find_condition
from steersman.objects.resources import NODES, PODS
from steersman.testing import eventually
from tests.integration.nodes.world import NAMESPACE, Object, World, is_ready, main_of, with_nodes
from tests.recordings import FACTS

#: The promises kept here, by name without the tags in brackets.
KEPT: set[str] = set()

GENERATION = "Pods Extended (pod generation) Pod Generation"


def node_promise(name: str) -> Callable[[Callable[[World], Awaitable[None]]], Callable[[], None]]:
    """Make a test of an async function that keeps the promise on two nodes."""
    KEPT.add(name)

    def decorate(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
        run = with_nodes(2)(test)
        run.__doc__ = f"{name}."
        return run

    return decorate


async def update(world: World, name: str, change: Callable[[Object], Any], subresource: str = "") -> Object:
    """Change a pod as the public suite does: read, change, write, and again if somebody else was faster."""
    while True:
        pod = await world.pod(name)
        change(pod)
        try:
            return await world.client.replace(pod, kind=PODS, subresource=subresource)
        except Conflict:
            continue


@node_promise("Conformance Tests should have at least two untainted nodes")
async def test_two_nodes_take_pods(world: World) -> None:
    # Taking the taint of new nodes away is the node lifecycle controller's part.
    for node in await world.client.list(NODES):
        assert [taint["key"] for taint in node["spec"]["taints"]] == ["node.kubernetes.io/not-ready"]
        ready = find_condition(node["status"]["conditions"], "Ready")
        assert ready is not None
        assert ready["status"] == "True"


@node_promise("Pods should get a host IP")
async def test_a_pod_gets_a_host_ip(world: World) -> None:
    await world.create("a")
    assert (await world.running("a"))["status"]["hostIP"]


@node_promise("Pods should be submitted and removed")
async def test_a_pod_is_submitted_and_removed(world: World) -> None:
    async with world.client.watch(PODS, NAMESPACE) as events:
        await world.create("a")
        assert (await anext(events)).type == "ADDED"
        await world.running("a")
        await world.client.delete(PODS, "a", NAMESPACE, grace_s=30)
        async for event in events:
            if event.type == "DELETED":
                last = orjson.loads(event.object)
                break
    assert last["metadata"]["deletionTimestamp"]
    assert last["spec"]["terminationGracePeriodSeconds"]
    assert not list(await world.client.list(PODS, NAMESPACE))


@node_promise("Pods should be updated")
async def test_a_pod_is_updated(world: World) -> None:
    await world.create("a")
    await world.running("a")
    await update(world, "a", lambda pod: pod["metadata"].update(labels={"time": "2"}))
    await world.running("a")
    assert len(list(await world.client.list(PODS, NAMESPACE, labels="time=2"))) == 1


@node_promise("Pods should delete a collection of pods")
async def test_a_collection_of_pods_is_deleted(world: World) -> None:
    names = ("test-pod-1", "test-pod-2", "test-pod-3")
    for name in names:
        await world.create(name, terminationGracePeriodSeconds=1, restartPolicy="Never")
    for name in names:
        await world.until(name, is_ready)
    await world.client.delete_collection(PODS, NAMESPACE, grace_s=1)
    for name in names:
        await world.gone(name)


@node_promise("Pods should patch a pod status")
async def test_a_pod_status_is_patched(world: World) -> None:
    await world.create("a", terminationGracePeriodSeconds=1)
    await world.running("a")
    patch = {
        "metadata": {"annotations": {"patchedstatus": "true"}},
        "status": {"message": "Patched by e2e test", "reason": "E2E"},
    }
    patched = await world.client.patch(PODS, "a", patch, NAMESPACE, subresource="status")
    assert (patched["status"]["message"], patched["status"]["reason"]) == ("Patched by e2e test", "E2E")


@node_promise("Pods should run through the lifecycle of Pods and PodStatus")
async def test_the_life_of_a_pod_and_its_status(world: World) -> None:
    await world.create("a", terminationGracePeriodSeconds=1)
    before = await world.running("a")
    patch = {
        "metadata": {"labels": {"test-pod": "patched"}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": "app:2"}]},
    }
    await world.client.patch(PODS, "a", patch, NAMESPACE, type="strategic")
    patched = await world.pod("a")
    assert patched["metadata"]["labels"]["test-pod"] == "patched"
    assert patched["spec"]["containers"][0]["image"] == "app:2"
    assert int(patched["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])

    def spoil(pod: Object) -> None:
        spoilt = [one for one in pod["status"]["conditions"] if one["type"] in ("Ready", "ContainersReady")]
        assert [one["status"] for one in spoilt] == ["True", "True"]
        for condition in spoilt:
            condition["status"] = "False"

    spoilt = await update(world, "a", spoil, "status")
    assert not is_ready(spoilt)
    await world.client.delete_collection(PODS, NAMESPACE, labels="test-pod=patched", grace_s=1)
    await world.gone("a")


async def observed(world: World, name: str, generation: int) -> None:
    await world.until(name, lambda pod: pod["status"].get("observedGeneration") == generation, 20)


UPDATES: list[tuple[Callable[[Object], Any], bool]] = [
    (lambda pod: None, False),
    (
        lambda pod: pod["spec"].setdefault("tolerations", []).append({"key": "foo", "operator": "Exists"}),
        True,
    ),
    (lambda pod: pod["spec"].update(activeDeadlineSeconds=5000), True),
    (lambda pod: pod["spec"]["containers"][0].update(image="nginx:1"), True),
    (lambda pod: pod["spec"]["initContainers"][0].update(image="pause:1"), True),
    (lambda pod: pod["metadata"].update(annotations={"key": "value"}), False),
    (lambda pod: pod["metadata"].update(generation=1), False),
]


@node_promise(f"{GENERATION} pod generation should start at 1 and increment per update")
async def test_generations_count_updates(world: World) -> None:
    await world.create("a", initContainers=[{"name": "init", "image": "busybox:1"}])
    generation = (await world.running("a"))["metadata"]["generation"]
    assert generation == 1
    for change, bumps in UPDATES:
        await update(world, "a", change)
        generation += bumps
        assert (await world.pod("a"))["metadata"]["generation"] == generation
        await observed(world, "a", generation)


@node_promise(f"{GENERATION} custom-set generation on new pods and graceful delete")
async def test_a_graceful_delete_counts_as_an_update(world: World) -> None:
    await world.create("a")
    assert (await world.running("a"))["metadata"]["generation"] == 1
    await world.client.delete(PODS, "a", NAMESPACE, grace_s=60)
    assert (await world.pod("a"))["metadata"]["generation"] == 2


@node_promise(
    f"{GENERATION} issue 500 podspec updates and verify generation and observedGeneration eventually converge"
)
async def test_the_node_keeps_up_with_500_updates(world: World) -> None:
    await world.create("a", activeDeadlineSeconds=5000)
    await world.running("a")

    def shorten(pod: Object) -> None:
        pod["spec"]["activeDeadlineSeconds"] -= 1

    for _ in range(499):
        await update(world, "a", shorten)
    await observed(world, "a", 500)
    pod = await world.pod("a")
    assert pod["metadata"]["generation"] == 500
    assert main_of(pod)["restartCount"] == 0
    await eventually(lambda: not world.nodes.statuses.busy)


def test_the_promises_kept_here_are_public_ones() -> None:
    lines = [
        re.sub(r"\[[^]]*\]", "", line)
        for line in (FACTS / "promises" / "fake-kubelet.txt").read_text().splitlines()
    ]
    assert {" ".join(line.split()) for line in lines} >= KEPT
