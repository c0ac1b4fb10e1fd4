"""Promises about Jobs, CronJobs and PodDisruptionBudgets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from steersman.client import ApiError, Conflict, NotFound
from steersman.objects.conditions import find_condition
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CRON_JOBS, JOBS, NAMESPACES, POD_DISRUPTION_BUDGETS, PODS
from tests.integration.controllers.workloads import NAMESPACE, World, with_workloads
from tests.support.manifests import pod

from .keeping import promised

Object = dict[str, Any]

LABELS = {"foo": "bar"}
MINUTE_S = 60


def batch_promise(
    name: str, *controllers: str
) -> Callable[[Callable[[World], Awaitable[None]]], Callable[[], None]]:
    """Make a test of an async function that keeps the promise, in virtual time."""
    promised(name)
    return with_workloads(*controllers)


def _template(labels: dict[str, str] | None = None) -> Object:
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox:1"}]}
    return {"metadata": {"labels": labels or {}}, "spec": spec}


def _job(name: str, parallelism: int = 2, completions: int = 4) -> Object:
    spec = {"parallelism": parallelism, "completions": completions, "template": _template({"job": name})}
    return {"metadata": {"name": name}, "spec": spec}


def _cron_job(policy: str, **spec: Any) -> Object:
    jobs = {"spec": {"parallelism": 1, "completions": 1, "template": _template()}}
    return {
        "metadata": {"name": "cron"},
        "spec": {"schedule": "*/1 * * * ?", "concurrencyPolicy": policy, "jobTemplate": jobs, **spec},
    }


async def _active(world: World, count: int) -> list[Object]:
    async def holds() -> list[Object] | None:
        active = (await world.get(CRON_JOBS, "cron"))["status"].get("active") or []
        return active if len(active) == count else None

    active: list[Object] = await world.until(holds, 5 * MINUTE_S)
    return active


# --- CronJobs


@batch_promise("CronJob should schedule multiple jobs concurrently", "cronjob", "job")
async def test_cron_jobs_run_side_by_side(world: World) -> None:
    await world.create(CRON_JOBS, _cron_job("Allow"))
    await _active(world, 2)
    running = [job for job in await world.client.list(JOBS, NAMESPACE) if job["status"].get("active")]
    assert len(running) >= 2


@batch_promise("CronJob should not schedule jobs when suspended", "cronjob", "job")
async def test_a_suspended_cron_job_starts_nothing(world: World) -> None:
    await world.create(CRON_JOBS, _cron_job("Allow", suspend=True))
    await asyncio.sleep(5 * MINUTE_S)
    assert await world.names(JOBS) == []


@batch_promise("CronJob should not schedule new jobs when ForbidConcurrent", "cronjob", "job")
async def test_a_cron_job_waits_for_the_one_before(world: World) -> None:
    await world.create(CRON_JOBS, _cron_job("Forbid"))
    active = await _active(world, 1)
    await asyncio.sleep(5 * MINUTE_S)
    assert await _active(world, 1) == active
    assert len(await world.names(JOBS)) == 1


@batch_promise("CronJob should replace jobs when ReplaceConcurrent", "cronjob", "job")
async def test_a_cron_job_replaces_the_one_before(world: World) -> None:
    await world.create(CRON_JOBS, _cron_job("Replace"))
    before = await _active(world, 1)

    async def replaced() -> bool:
        return (await _active(world, 1))[0]["uid"] != before[0]["uid"]

    await world.until(replaced, 5 * MINUTE_S)
    assert len(await world.names(JOBS)) == 1


# --- Jobs


@batch_promise("Job should delete a job", "job", "garbagecollector")
async def test_a_job_is_deleted(world: World) -> None:
    await world.create(JOBS, _job("foo"))
    await world.until_status(JOBS, "foo", active=2)
    await world.client.delete(JOBS, "foo", NAMESPACE, propagation="Background")

    async def gone() -> bool:
        return await world.client.find(JOBS, "foo", NAMESPACE) is None and not await world.pods()

    await world.until(gone)


@batch_promise("Job should adopt matching orphans and release non-matching pods", "job")
async def test_a_job_adopts_and_releases(world: World) -> None:
    made = await world.create(JOBS, _job("adopt-release"))
    await world.until_status(JOBS, "adopt-release", active=2)
    name = (await world.pods())[0]["metadata"]["name"]

    async def is_owned(expected: bool) -> bool:
        owners = (await world.get(PODS, name))["metadata"].get("ownerReferences") or ()
        return any(owner["uid"] == made["metadata"]["uid"] for owner in owners) is expected

    await world.client.patch(PODS, name, {"metadata": {"ownerReferences": None}}, NAMESPACE)
    await world.until(lambda: is_owned(True))
    await world.client.patch(PODS, name, {"metadata": {"labels": None}}, NAMESPACE)
    await world.until(lambda: is_owned(False))


@batch_promise("Job should apply changes to a job status", "job")
async def test_the_status_of_a_job_is_changed(world: World) -> None:
    spec = _job("suspend-false-to-true")
    await world.create(JOBS, spec)
    await world.until_status(JOBS, "suspend-false-to-true", active=2)
    found = await world.get(JOBS, "suspend-false-to-true")
    now = found["status"]["startTime"]
    custom = {"type": "CustomConditionType", "status": "True", "lastTransitionTime": now}
    patch = {"metadata": {"annotations": {"patchedstatus": "true"}}, "status": {"conditions": [custom]}}
    answer = await world.client.patch(JOBS, "suspend-false-to-true", patch, NAMESPACE, subresource="status")
    assert answer["metadata"]["annotations"]["patchedstatus"] == "true"
    assert find_condition(answer["status"]["conditions"], "CustomConditionType")
    for _ in range(5):
        latest = await world.get(JOBS, "suspend-false-to-true")
        other = {"type": "CustomConditionType", "status": "True", "lastTransitionTime": now}
        latest["status"]["conditions"] = [{**other, "message": "Set by e2e test"}]
        try:
            answer = await world.client.replace(latest, kind=JOBS, subresource="status")
        except Conflict:
            continue  # the controller was faster
        break
    found_condition = find_condition(answer["status"]["conditions"], "CustomConditionType")
    assert found_condition is not None
    assert found_condition["message"] == "Set by e2e test"
    shown = await world.client.get(JOBS, "suspend-false-to-true", NAMESPACE, subresource="status")
    assert shown["metadata"]["uid"] == found["metadata"]["uid"]


# --- PodDisruptionBudgets


def _budget(name: str = "foo", **spec: Any) -> Object:
    labels = {"metadata": {"name": name, "labels": {"specialLabel": "yes"}}}
    return {**labels, "spec": {"selector": {"matchLabels": LABELS}, **spec}}


async def _processed(world: World, namespace: str = NAMESPACE, name: str = "foo") -> Object:
    async def holds() -> Object | None:
        found = await world.client.get(POD_DISRUPTION_BUDGETS, name, namespace)
        seen = found["status"].get("observedGeneration", 0) >= found["metadata"]["generation"]
        return found if seen else None

    found: Object = await world.until(holds)
    return found


async def _run_pods(world: World, count: int) -> list[str]:
    names = [f"pod-{number}" for number in range(count)]
    for name in names:
        await world.create(PODS, pod(name, LABELS))
    for name in names:
        await world.until_status(PODS, name, phase="Running")
    return names


@batch_promise("DisruptionController should create a PodDisruptionBudget", "disruption")
async def test_a_budget_is_created_changed_and_deleted(world: World) -> None:
    made = await world.create(POD_DISRUPTION_BUDGETS, _budget(minAvailable=1))
    assert made["spec"]["minAvailable"] == 1
    await _processed(world)
    for value in ("2%", "3%"):
        answer = await world.patch(POD_DISRUPTION_BUDGETS, "foo", minAvailable=value)
        assert answer["spec"]["minAvailable"] == value
        await _processed(world)
    await world.client.delete(POD_DISRUPTION_BUDGETS, "foo", NAMESPACE)
    with pytest.raises(NotFound):
        await world.get(POD_DISRUPTION_BUDGETS, "foo")


@batch_promise(
    "DisruptionController Listing PodDisruptionBudgets for all namespaces should list and delete a "
    "collection of PodDisruptionBudgets",
    "disruption",
)
async def test_budgets_are_listed_everywhere_and_deleted_together(world: World) -> None:
    await world.client.create({"metadata": {"name": "other"}}, kind=NAMESPACES)
    for namespace, name in ((NAMESPACE, "foo"), (NAMESPACE, "foo2"), ("other", "foo")):
        await world.client.create(
            _budget(name, maxUnavailable=1), kind=POD_DISRUPTION_BUDGETS, namespace=namespace
        )
        await _processed(world, namespace, name)
    listed = await world.client.list(POD_DISRUPTION_BUDGETS, None, labels="specialLabel=yes")
    assert len(list(listed)) == 3
    await world.client.delete_collection(POD_DISRUPTION_BUDGETS, NAMESPACE, labels="specialLabel=yes")
    assert await world.names(POD_DISRUPTION_BUDGETS) == []
    assert await world.client.find(POD_DISRUPTION_BUDGETS, "foo", "other") is not None


@batch_promise("DisruptionController should observe PodDisruptionBudget status updated", "disruption")
async def test_the_status_of_a_budget_follows_its_pods(world: World) -> None:
    await world.create(POD_DISRUPTION_BUDGETS, _budget(minAvailable=1))
    await _run_pods(world, 3)
    await world.until_status(POD_DISRUPTION_BUDGETS, "foo", disruptionsAllowed=2, currentHealthy=3)


@batch_promise("DisruptionController should update/patch PodDisruptionBudget status", "disruption")
async def test_the_status_of_a_budget_is_replaced_and_patched(world: World) -> None:
    await world.create(POD_DISRUPTION_BUDGETS, _budget(minAvailable=1))
    await _run_pods(world, 1)
    found = await world.until_status(POD_DISRUPTION_BUDGETS, "foo", currentHealthy=1)
    now = found["metadata"]["creationTimestamp"]
    found["status"]["disruptedPods"] = {"pod-0": now}
    answer = await world.client.replace(found, kind=POD_DISRUPTION_BUDGETS, subresource="status")
    assert answer["status"]["disruptedPods"] == {"pod-0": now}
    patch = {"status": {"disruptedPods": None}}
    answer = await world.client.patch(POD_DISRUPTION_BUDGETS, "foo", patch, NAMESPACE, subresource="status")
    assert "disruptedPods" not in answer["status"]


@batch_promise(
    "DisruptionController should block an eviction until the PDB is updated to allow it", "disruption"
)
async def test_a_budget_blocks_an_eviction_until_it_allows_it(world: World) -> None:
    async def evict(name: str) -> None:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        await world.client.request("POST", PODS.path(NAMESPACE, name, "eviction"), body=eviction)

    await world.create(POD_DISRUPTION_BUDGETS, _budget(minAvailable=3))
    names = await _run_pods(world, 3)
    await world.until_status(POD_DISRUPTION_BUDGETS, "foo", disruptionsAllowed=0, currentHealthy=3)
    with pytest.raises(ApiError) as refused:
        await evict(names[0])
    assert refused.value.code == 429
    assert refused.value.causes[0]["reason"] == "DisruptionBudget"
    await world.patch(POD_DISRUPTION_BUDGETS, "foo", minAvailable=2)
    await world.until_status(POD_DISRUPTION_BUDGETS, "foo", disruptionsAllowed=1)
    await evict(names[0])
    await _gone(world, PODS, names[0])
    await world.until_status(POD_DISRUPTION_BUDGETS, "foo", disruptionsAllowed=0, currentHealthy=2)
    await world.client.delete(POD_DISRUPTION_BUDGETS, "foo", NAMESPACE)
    await evict(names[1])


async def _gone(world: World, resource: ResourceType, name: str) -> None:
    async def holds() -> bool:
        return await world.client.find(resource, name, NAMESPACE) is None

    await world.until(holds)
