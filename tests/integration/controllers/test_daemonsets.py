"""DaemonSets with an API server and played nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from steersman.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from tests.integration.controllers.workloads import NAMESPACE, World, dying, with_workloads

Object = dict[str, Any]

with_daemonsets = with_workloads("daemonset")


def daemon_set(template: Object | None = None, **spec: Any) -> Object:
    labels = {"app": "agent"}
    pod_spec = {"containers": [{"name": "main", "image": "agent:1"}], **(template or {})}
    return {
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec},
            **spec,
        },
    }


async def set_image(world: World, image: str) -> None:
    containers = [{"name": "main", "image": image}]
    await world.patch(DAEMON_SETS, "agent", template={"spec": {"containers": containers}})


async def nodes_of(world: World) -> list[str]:
    return sorted(one["spec"].get("nodeName", "") for one in await world.pods())


@with_daemonsets
async def test_every_node_has_a_pod_and_then_nothing_more_is_written(world: World) -> None:
    await world.add_nodes("n0", "n1", "n2")
    await world.create(DAEMON_SETS, daemon_set())
    found = await world.until_status(DAEMON_SETS, "agent", numberAvailable=3)
    assert found["status"] == {
        "currentNumberScheduled": 3,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 3,
        "numberReady": 3,
        "observedGeneration": 1,
        "updatedNumberScheduled": 3,
        "numberAvailable": 3,
    }
    assert await nodes_of(world) == ["n0", "n1", "n2"]
    await world.quiet()
    await world.add_nodes("n3")
    await world.until_status(DAEMON_SETS, "agent", numberAvailable=4)
    await world.quiet()


@with_daemonsets
async def test_labels_of_nodes_decide(world: World) -> None:
    await world.add_nodes("n0", "n1")
    await world.create(DAEMON_SETS, daemon_set({"nodeSelector": {"color": "blue"}}))
    await world.until_status(DAEMON_SETS, "agent", observedGeneration=1, desiredNumberScheduled=0)
    await world.client.patch(NODES, "n0", {"metadata": {"labels": {"color": "blue"}}})
    await world.until_status(DAEMON_SETS, "agent", numberAvailable=1)
    assert await nodes_of(world) == ["n0"]
    await world.client.patch(NODES, "n0", {"metadata": {"labels": {"color": "green"}}})
    await world.until_status(DAEMON_SETS, "agent", desiredNumberScheduled=0, currentNumberScheduled=0)

    async def empty() -> bool:
        return not await world.pods()

    await world.until(empty)


@with_daemonsets
async def test_taints_of_nodes_decide(world: World) -> None:
    await world.add_nodes("n0", "n1")
    await world.create(DAEMON_SETS, daemon_set())
    await world.until_status(DAEMON_SETS, "agent", numberAvailable=2)
    await world.client.patch(NODES, "n0", {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})
    found = await world.until_status(DAEMON_SETS, "agent", desiredNumberScheduled=1)
    assert found["status"]["numberMisscheduled"] == 1
    await world.client.patch(NODES, "n0", {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})
    await world.until_status(DAEMON_SETS, "agent", numberMisscheduled=0)
    assert await nodes_of(world) == ["n1"]


@with_daemonsets
async def test_a_rolling_update_replaces_one_pod_after_the_other(world: World) -> None:
    await world.add_nodes("n0", "n1", "n2")
    await world.create(DAEMON_SETS, daemon_set())
    await world.until_status(DAEMON_SETS, "agent", numberAvailable=3)
    least = [3]

    def look() -> None:
        pods = [cached.object() for cached in world.manager.informers.get(PODS).cache]
        least.append(sum("deletionTimestamp" not in one["metadata"] for one in pods))

    world.on_write = look
    await set_image(world, "agent:2")
    await world.until_status(
        DAEMON_SETS, "agent", updatedNumberScheduled=3, numberAvailable=3, observedGeneration=2
    )
    assert min(least) == 2
    revisions = await world.client.list(CONTROLLER_REVISIONS, NAMESPACE)
    assert sorted(one["revision"] for one in revisions) == [1, 2]
    await world.quiet()
    await set_image(world, "agent:1")
    await world.until_status(
        DAEMON_SETS, "agent", updatedNumberScheduled=3, numberAvailable=3, observedGeneration=3
    )
    revisions = await world.client.list(CONTROLLER_REVISIONS, NAMESPACE)
    assert sorted(one["revision"] for one in revisions) == [2, 3]


@with_daemonsets
async def test_a_surging_update_has_the_new_pod_before_the_old_one_goes(world: World) -> None:
    await world.add_nodes("n0", "n1")
    surging = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    await world.create(DAEMON_SETS, daemon_set(updateStrategy=surging))
    await world.until_status(DAEMON_SETS, "agent", numberAvailable=2)
    counts = [2]

    def look() -> None:
        pods = [cached.object() for cached in world.manager.informers.get(PODS).cache]
        counts.append(sum("deletionTimestamp" not in one["metadata"] for one in pods))

    world.on_write = look
    await set_image(world, "agent:2")
    await world.until_status(
        DAEMON_SETS, "agent", updatedNumberScheduled=2, numberAvailable=2, observedGeneration=2
    )
    assert (min(counts), max(counts)) == (2, 3)


@with_daemonsets
async def test_on_delete_updates_what_is_deleted(world: World) -> None:
    await world.add_nodes("n0", "n1")
    await world.create(DAEMON_SETS, daemon_set(updateStrategy={"type": "OnDelete"}))
    await world.until_status(DAEMON_SETS, "agent", numberAvailable=2)
    await set_image(world, "agent:2")
    await world.until_status(DAEMON_SETS, "agent", observedGeneration=2, updatedNumberScheduled=0)
    await world.client.delete(PODS, (await world.names(PODS))[0], NAMESPACE)
    await world.until_status(DAEMON_SETS, "agent", updatedNumberScheduled=1, numberAvailable=2)
    await world.quiet()


@with_daemonsets
async def test_failed_pods_are_replaced_more_and_more_slowly(world: World) -> None:
    await world.add_nodes("n0")
    await world.create(DAEMON_SETS, daemon_set())
    await world.until_status(DAEMON_SETS, "agent", numberAvailable=1)
    clock = world.manager.clock
    took = []
    for _ in range(4):
        [name] = await world.names(PODS)
        start = clock.monotonic()
        await world.set_pod(name, phase="Failed")

        async def replaced(name: str = name) -> bool:
            return [one["metadata"]["name"] for one in await world.pods()] not in ([name], [])

        await world.until(replaced)
        took.append(clock.monotonic() - start)
        await world.until_status(DAEMON_SETS, "agent", numberAvailable=1)
    assert took[0] < 1 < took[2] < took[3]
    events = await world.events("DaemonSet")
    [first] = [note for reason, note in events if reason == "FailedDaemonPod"][:1]
    assert first.startswith("Found failed daemon pod default/agent-")
    assert first.endswith(" on node n0, will try to kill it")


@with_daemonsets
async def test_history_is_limited(world: World) -> None:
    await world.add_nodes("n0")
    await world.create(DAEMON_SETS, daemon_set(revisionHistoryLimit=1))
    await world.until_status(DAEMON_SETS, "agent", numberAvailable=1)
    for generation in (2, 3, 4):
        await set_image(world, f"agent:{generation}")
        await world.until_status(
            DAEMON_SETS, "agent", observedGeneration=generation, updatedNumberScheduled=1, numberAvailable=1
        )

    async def cleaned() -> bool:
        revisions = await world.client.list(CONTROLLER_REVISIONS, NAMESPACE)
        return sorted(one["revision"] for one in revisions) == [3, 4]

    await world.until(cleaned)
    await world.quiet()


@with_daemonsets
async def test_pods_for_a_node_that_is_gone_go_too(world: World) -> None:
    await world.add_nodes("n0", "n1")
    await asyncio.sleep(0.1)
    world.nodes.bound = lambda one: False
    await world.create(DAEMON_SETS, daemon_set())
    await world.until_status(DAEMON_SETS, "agent", currentNumberScheduled=2)
    await world.client.delete(NODES, "n1")
    await world.until_status(DAEMON_SETS, "agent", desiredNumberScheduled=1)

    async def one_left() -> bool:
        return len(await world.names(PODS)) == 1

    await world.until(one_left)


@pytest.mark.parametrize("writes", [1, 2, 3, 5, 8, 13])
def test_there_is_one_pod_on_each_node_however_often_the_controller_ends(writes: int) -> None:
    def acts(world: World) -> list[Awaitable[Any]]:
        return [
            world.add_nodes("n0", "n1", "n2"),
            world.create(DAEMON_SETS, daemon_set()),
            asyncio.sleep(60),
            set_image(world, "agent:2"),
            asyncio.sleep(60),
        ]

    async def settled(world: World) -> None:
        await world.until_status(
            DAEMON_SETS, "agent", updatedNumberScheduled=3, numberAvailable=3, observedGeneration=2
        )
        await world.quiet()
        assert await nodes_of(world) == ["n0", "n1", "n2"]
        assert len(await world.names(CONTROLLER_REVISIONS)) == 2

    dying(("daemonset",), writes, acts, settled)
