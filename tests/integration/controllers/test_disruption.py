"""PodDisruptionBudgets with an API server, whose eviction uses what they say, and played nodes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.client import ApiError
from steersman.objects.conditions import condition_is, find_condition
from steersman.objects.resources import POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads
from tests.support.manifests import pod

Object = dict[str, Any]

LABELS = {"app": "web"}

with_budgets = with_workloads("disruption", "replicaset")


def budget(**spec: Any) -> Object:
    return {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": LABELS}, **spec}}


def replica_set(replicas: int) -> Object:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    return {"metadata": {"name": "web"}, "spec": spec}


async def reaches(world: World, allowed: int, **fields: int) -> Object:
    """The budget when it allows so much."""

    async def holds() -> Object | None:
        found = await world.get(POD_DISRUPTION_BUDGETS, "web")
        wanted = {"disruptionsAllowed": allowed, **fields}
        met = all(found["status"].get(name) == value for name, value in wanted.items())
        return found if met and found["status"].get("observedGeneration") else None

    try:
        found: Object = await world.until(holds)
    except AssertionError:
        raise AssertionError((await world.get(POD_DISRUPTION_BUDGETS, "web"))["status"]) from None
    return found


def condition(obj: Object) -> tuple[str, str, str]:
    found = find_condition(obj["status"]["conditions"], "DisruptionAllowed")
    assert found is not None
    return found["status"], found["reason"], found["message"]


async def evict(world: World, name: str) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    await world.client.request("POST", PODS.path(NAMESPACE, name, "eviction"), body=eviction)


@pytest.mark.parametrize(
    ("spec", "desired"),
    [
        pytest.param({"maxUnavailable": 1}, 2, id="a number of pods may be missing"),
        pytest.param({"maxUnavailable": "30%"}, 2, id="a part of pods may be missing"),
        pytest.param({"minAvailable": "50%"}, 2, id="a part of pods must be there"),
        pytest.param({"minAvailable": 2}, 2, id="a number of pods must be there"),
    ],
)
def test_a_budget_tells_what_it_allows(spec: Object, desired: int) -> None:
    async def body(world: World) -> None:
        await world.create(REPLICA_SETS, replica_set(3))
        await world.create(POD_DISRUPTION_BUDGETS, budget(**spec))
        found = await reaches(world, 1, currentHealthy=3, desiredHealthy=desired, expectedPods=3)
        assert condition(found) == ("True", "SufficientPods", "")
        await world.quiet()

    with_budgets(body)()


@with_budgets
async def test_evictions_are_taken_from_the_budget_and_given_back(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set(3))
    await world.create(POD_DISRUPTION_BUDGETS, budget(maxUnavailable=1))
    await reaches(world, 1)
    world.nodes.ready = lambda pod: False  # those to come
    first, second, _ = await world.names(PODS)
    await evict(world, first)
    with pytest.raises(ApiError) as refused:
        await evict(world, second)
    assert refused.value.code == 429
    found = await reaches(world, 0, currentHealthy=2)
    assert condition(found) == ("False", "InsufficientPods", "")
    with pytest.raises(ApiError, match="would violate"):
        await evict(world, second)
    world.nodes.ready = lambda pod: True
    world.nodes.look_again()
    found = await reaches(world, 1, currentHealthy=3)
    assert "disruptedPods" not in found["status"]
    await evict(world, second)


@with_budgets
async def test_a_pod_that_was_not_evicted_after_all_counts_again(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set(2))
    await world.create(POD_DISRUPTION_BUDGETS, budget(minAvailable=1))
    found = await reaches(world, 1)
    name = (await world.names(PODS))[0]
    found["status"]["disruptedPods"] = {name: world.nodes._now()}
    await world.client.replace(found, kind=POD_DISRUPTION_BUDGETS, subresource="status")
    await reaches(world, 0, currentHealthy=1)
    await asyncio.sleep(125)
    found = await reaches(world, 1, currentHealthy=2)
    assert "disruptedPods" not in found["status"]
    note = f"Pod was expected by PDB {NAMESPACE}/{NAMESPACE} to be deleted but it wasn't"
    assert ("NotDeleted", note) in await world.events("Pod")


@with_budgets
async def test_a_budget_without_pods_allows_nothing(world: World) -> None:
    await world.create(POD_DISRUPTION_BUDGETS, budget(maxUnavailable=1))
    found = await reaches(world, 0, expectedPods=0)
    assert condition(found) == ("False", "InsufficientPods", "")
    assert ("NoPods", "No matching pods found") in await world.events("PodDisruptionBudget")


@with_budgets
async def test_pods_that_nobody_controls_are_told_of(world: World) -> None:
    await world.create(PODS, pod("alone", LABELS))
    await world.create(POD_DISRUPTION_BUDGETS, budget(maxUnavailable=1))
    await reaches(world, 0, expectedPods=0, currentHealthy=1)
    reasons = dict(await world.events("PodDisruptionBudget"))
    assert reasons["UnmanagedPods"].startswith(
        "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{"
        "app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged."
    )


@with_budgets
async def test_a_controller_without_a_scale_makes_the_budget_fail(world: World) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "sums", "uid": "u", "controller": True}
    mine = pod("of-a-job", LABELS)
    mine["metadata"]["ownerReferences"] = [owner]
    await world.create(PODS, mine)
    await world.create(POD_DISRUPTION_BUDGETS, budget(maxUnavailable=1))

    async def told() -> bool:
        found = await world.get(POD_DISRUPTION_BUDGETS, "web")
        return bool(found["status"].get("conditions"))

    await world.until(told)
    why = "jobs.batch does not implement the scale subresource"
    found = await world.get(POD_DISRUPTION_BUDGETS, "web")
    assert condition(found) == ("False", "SyncFailed", why)
    assert (
        "CalculateExpectedPodCountFailed",
        f"Failed to calculate the number of expected pods: {why}",
    ) in await world.events("PodDisruptionBudget")


@with_budgets
async def test_what_was_said_of_a_disruption_is_taken_back(world: World) -> None:
    await world.create(PODS, pod("spared", LABELS))
    await world.until_status(PODS, "spared", phase="Running")
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "lastTransitionTime": world.nodes._now(),
    }
    await world.client.patch(
        PODS,
        "spared",
        {"status": {"conditions": [target]}},
        NAMESPACE,
        subresource="status",
        type="strategic",
    )
    await asyncio.sleep(110)
    status = (await world.get(PODS, "spared"))["status"]
    assert condition_is(status["conditions"], "DisruptionTarget")
    await asyncio.sleep(15)
    status = (await world.get(PODS, "spared"))["status"]
    found = find_condition(status["conditions"], "DisruptionTarget")
    assert found is not None
    assert (found["status"], found["observedGeneration"]) == ("False", 1)
    assert "reason" not in found
    await world.quiet()
