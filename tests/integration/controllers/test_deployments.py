"""Deployments with an API server, their ReplicaSets' controller and played nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from steersman.objects.resources import DEPLOYMENTS, NAMESPACES, PODS, REPLICA_SETS
from tests.integration.controllers.workloads import NAMESPACE, World, dying, with_workloads
from tests.support.manifests import deployment

Object = dict[str, Any]

REVISION = "deployment.kubernetes.io/revision"
with_deployments = with_workloads("deployment", "replicaset")


def subject(replicas: int = 3, **spec: Any) -> Object:
    made = deployment("web", replicas)
    made["spec"].update(spec)
    return made


async def set_image(world: World, image: str) -> None:
    containers = [{"name": "main", "image": image}]
    await world.patch(DEPLOYMENTS, "web", template={"spec": {"containers": containers}})


async def rolled_out(world: World, revision: str, replicas: int = 3) -> Object:
    async def done() -> Object | None:
        found = await world.get(DEPLOYMENTS, "web")
        status = found.get("status") or {}
        counts = {status.get(field, 0) for field in ("replicas", "updatedReplicas", "availableReplicas")}
        seen = status.get("observedGeneration") == found["metadata"]["generation"]
        annotations = found["metadata"].get("annotations") or {}
        return found if seen and counts == {replicas} and annotations.get(REVISION) == revision else None

    found: Object = await world.until(done)
    return found


def told(found: Object, kind: str) -> tuple[str, str, str]:
    [condition] = [one for one in found["status"]["conditions"] if one["type"] == kind]
    return condition["status"], condition["reason"], condition["message"]


async def sizes(world: World) -> dict[str, int]:
    """Of the ReplicaSets, by revision."""
    listed = await world.client.list(REPLICA_SETS, NAMESPACE)
    return {one["metadata"]["annotations"][REVISION]: one["spec"]["replicas"] for one in listed}


@with_deployments
async def test_a_deployment_becomes_available_and_then_nothing_more_is_written(world: World) -> None:
    await world.create(DEPLOYMENTS, subject())
    found = await rolled_out(world, "1")
    [name] = await world.names(REPLICA_SETS)
    assert told(found, "Available") == (
        "True",
        "MinimumReplicasAvailable",
        "Deployment has minimum availability.",
    )
    assert told(found, "Progressing") == (
        "True",
        "NewReplicaSetAvailable",
        f'ReplicaSet "{name}" has successfully progressed.',
    )
    assert found["status"]["terminatingReplicas"] == 0
    await world.quiet()
    assert await world.events("Deployment") == [
        ("ScalingReplicaSet", f"Scaled up replica set {name} from 0 to 3")
    ]


@with_deployments
async def test_a_rolling_update_keeps_to_its_limits(world: World) -> None:
    await world.create(
        DEPLOYMENTS, subject(4, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}})
    )
    await rolled_out(world, "1", 4)
    seen: list[tuple[int, int]] = []

    def look() -> None:
        pods = [cached.object() for cached in world.manager.informers.get(PODS).cache]
        alive = [one for one in pods if "deletionTimestamp" not in one["metadata"]]
        ready = [
            one
            for one in alive
            if any(
                condition["type"] == "Ready" and condition["status"] == "True"
                for condition in one["status"].get("conditions", ())
            )
        ]
        seen.append((len(alive), len(ready)))

    world.on_write = look
    await set_image(world, "nginx:2")
    await rolled_out(world, "2", 4)
    assert max(alive for alive, _ in seen) <= 5
    assert min(ready for _, ready in seen) >= 3
    assert await sizes(world) == {"1": 0, "2": 4}
    await world.quiet()


@with_deployments
async def test_recreating_lets_all_old_pods_go_first(world: World) -> None:
    await world.create(DEPLOYMENTS, subject(strategy={"type": "Recreate"}))
    await rolled_out(world, "1")
    world.nodes.let_go = lambda one: False
    await set_image(world, "nginx:2")
    await world.until_status(DEPLOYMENTS, "web", replicas=0)
    await asyncio.sleep(5)
    assert len(await world.names(REPLICA_SETS)) == 1
    assert len(await world.names(PODS)) == 3
    world.nodes.let_go = lambda one: True
    world.nodes.look_again()
    await rolled_out(world, "2")
    assert len(await world.names(PODS)) == 3


@with_deployments
async def test_pausing_and_resuming(world: World) -> None:
    await world.create(DEPLOYMENTS, subject())
    await rolled_out(world, "1")
    await world.patch(DEPLOYMENTS, "web", paused=True)
    await set_image(world, "nginx:2")
    await asyncio.sleep(5)
    found = await world.get(DEPLOYMENTS, "web")
    assert told(found, "Progressing") == ("Unknown", "DeploymentPaused", "Deployment is paused")
    assert await sizes(world) == {"1": 3}
    await world.patch(DEPLOYMENTS, "web", replicas=5)
    await world.until_status(DEPLOYMENTS, "web", availableReplicas=5, updatedReplicas=0)
    await world.quiet()
    await world.patch(DEPLOYMENTS, "web", paused=None)
    await rolled_out(world, "2", 5)


@with_deployments
async def test_going_back_makes_the_old_set_the_newest(world: World) -> None:
    await world.create(DEPLOYMENTS, subject())
    await rolled_out(world, "1")
    for revision, image in (("2", "nginx:2"), ("3", "nginx:1.27")):
        await set_image(world, image)
        await rolled_out(world, revision)
    assert await sizes(world) == {"2": 0, "3": 3}
    listed = await world.client.list(REPLICA_SETS, NAMESPACE)
    histories = [
        one["metadata"]["annotations"].get("deployment.kubernetes.io/revision-history") for one in listed
    ]
    assert sorted(filter(None, histories)) == ["1"]


@with_deployments
async def test_old_clients_roll_back_by_annotation(world: World) -> None:
    await world.create(DEPLOYMENTS, subject())
    await rolled_out(world, "1")
    await set_image(world, "nginx:2")
    await rolled_out(world, "2")
    for asked, image in (("0", "nginx:1.27"), ("99", "nginx:1.27")):
        change = {"metadata": {"annotations": {"deprecated.deployment.rollback.to": asked}}}
        await world.client.patch(DEPLOYMENTS, "web", change, NAMESPACE)
        found = await rolled_out(world, "3")
        assert found["spec"]["template"]["spec"]["containers"][0]["image"] == image
        assert "deprecated.deployment.rollback.to" not in found["metadata"]["annotations"]
    events = await world.events("Deployment")
    assert ("DeploymentRollback", 'Rolled back deployment "web" to revision 1') in events
    assert ("DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.") in events


@with_deployments
async def test_history_is_limited(world: World) -> None:
    await world.create(DEPLOYMENTS, subject(1, revisionHistoryLimit=1))
    await rolled_out(world, "1", 1)
    for revision in ("2", "3", "4"):
        await set_image(world, f"nginx:{revision}")
        await rolled_out(world, revision, 1)

    async def cleaned() -> bool:
        return await sizes(world) == {"3": 0, "4": 1}

    await world.until(cleaned)
    await world.quiet()


@with_deployments
async def test_a_rollout_that_does_not_get_on_is_told(world: World) -> None:
    await world.create(DEPLOYMENTS, subject(progressDeadlineSeconds=60))
    await rolled_out(world, "1")
    world.nodes.ready = lambda one: one["spec"]["containers"][0]["image"] != "broken"
    await set_image(world, "broken")

    async def reason() -> bool:
        found = await world.get(DEPLOYMENTS, "web")
        return told(found, "Progressing")[1] == "ProgressDeadlineExceeded"

    await world.until(reason)
    found = await world.get(DEPLOYMENTS, "web")
    new = [name for name in await world.names(REPLICA_SETS) if name in told(found, "Progressing")[2]]
    assert told(found, "Progressing") == (
        "False",
        "ProgressDeadlineExceeded",
        f'ReplicaSet "{new[0]}" has timed out progressing.',
    )
    assert told(found, "Available")[0] == "True"
    assert await sizes(world) == {"1": 3, "2": 1}
    await world.quiet()
    await set_image(world, "nginx:1.27")
    found = await rolled_out(world, "3")
    assert told(found, "Progressing")[1] == "NewReplicaSetAvailable"


@with_deployments
async def test_scaling_in_the_middle_of_a_rollout_is_spread(world: World) -> None:
    await world.create(
        DEPLOYMENTS, subject(10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    )
    await rolled_out(world, "1", 10)
    world.nodes.ready = lambda one: one["spec"]["containers"][0]["image"] != "slow"
    await set_image(world, "slow")

    async def halfway() -> bool:
        return await sizes(world) == {"1": 8, "2": 5}

    await world.until(halfway)
    await world.patch(DEPLOYMENTS, "web", replicas=30)

    async def spread() -> bool:
        return await sizes(world) == {"1": 20, "2": 13}

    await world.until(spread)
    world.nodes.ready = lambda one: True
    world.nodes.look_again()
    await rolled_out(world, "2", 30)


@with_deployments
async def test_a_name_that_is_taken_by_another_template_is_a_collision(world: World) -> None:
    await world.create(DEPLOYMENTS, subject(1))
    await rolled_out(world, "1", 1)
    [name] = await world.names(REPLICA_SETS)
    taken = await world.get(REPLICA_SETS, name)
    await world.client.delete(DEPLOYMENTS, "web", NAMESPACE, propagation="Background")
    await world.client.delete(REPLICA_SETS, name, NAMESPACE)
    taken["metadata"] = {"name": name}
    other = {"app": "other"}
    taken["spec"].update(selector={"matchLabels": other}, replicas=0)
    taken["spec"]["template"]["metadata"]["labels"] = other
    await world.create(REPLICA_SETS, taken)
    await world.create(DEPLOYMENTS, subject(1))
    found = await rolled_out(world, "1", 1)
    assert found["status"]["collisionCount"] == 1
    assert len(await world.names(REPLICA_SETS)) == 2


@with_deployments
async def test_min_ready_seconds_slow_a_rollout_down(world: World) -> None:
    await world.create(DEPLOYMENTS, subject(2, minReadySeconds=20))
    start = world.manager.clock.monotonic()
    await rolled_out(world, "1", 2)
    assert 18 <= world.manager.clock.monotonic() - start <= 25
    await world.patch(DEPLOYMENTS, "web", minReadySeconds=0)

    async def passed_on() -> bool:
        listed = await world.client.list(REPLICA_SETS, NAMESPACE)
        return [one["spec"].get("minReadySeconds", 0) for one in listed] == [0]

    await world.until(passed_on)


@with_deployments
async def test_annotations_are_passed_on(world: World) -> None:
    await world.create(DEPLOYMENTS, subject(1))
    await rolled_out(world, "1", 1)
    cause = {"metadata": {"annotations": {"kubernetes.io/change-cause": "because"}}}
    await world.client.patch(DEPLOYMENTS, "web", cause, NAMESPACE)

    async def passed_on() -> bool:
        [one] = await world.client.list(REPLICA_SETS, NAMESPACE)
        return bool(one["metadata"]["annotations"].get("kubernetes.io/change-cause") == "because")

    await world.until(passed_on)
    await world.quiet()


@with_deployments
async def test_nothing_is_tried_in_a_namespace_that_goes(world: World) -> None:
    await world.client.create({"metadata": {"name": "doomed"}}, kind=NAMESPACES)
    await world.client.create(subject(2), kind=DEPLOYMENTS, namespace="doomed")

    async def pods() -> list[Object]:
        return list(await world.client.list(PODS, "doomed"))

    async def there(count: int) -> bool:
        return len(await pods()) == count

    await world.until(lambda: there(2))
    await world.client.delete(NAMESPACES, "doomed")
    template = {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}
    await world.client.patch(DEPLOYMENTS, "web", template, "doomed")
    for pod in await pods():
        await world.client.delete(PODS, pod["metadata"]["name"], "doomed")
    await world.until(lambda: there(0))
    await world.quiet()


@pytest.mark.parametrize("writes", [1, 2, 3, 4, 6, 9, 14, 20])
def test_a_rollout_survives_the_end_of_its_controllers_at_any_write(writes: int) -> None:
    def acts(world: World) -> list[Awaitable[Any]]:
        return [
            world.create(DEPLOYMENTS, subject()),
            asyncio.sleep(60),
            set_image(world, "nginx:2"),
            asyncio.sleep(60),
        ]

    async def settled(world: World) -> None:
        await rolled_out(world, "2")
        await world.quiet()
        assert len(await world.names(PODS)) == 3
        assert await sizes(world) == {"1": 0, "2": 3}

    dying(("deployment", "replicaset"), writes, acts, settled)
