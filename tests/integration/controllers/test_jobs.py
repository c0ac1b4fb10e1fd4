"""Jobs with an API server and played nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from steersman.objects.conditions import find_condition
from steersman.objects.resources import JOBS, PODS
from steersman.objects.times import parse_time
from steersman.runtime import Key
from tests.integration.controllers.workloads import NAMESPACE, World, dying, with_workloads
from tests.support.manifests import pod

Object = dict[str, Any]

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"

with_jobs = with_workloads("job")


def job(name: str = "sums", policy: str = "Never", **spec: Any) -> Object:
    containers = [{"name": "main", "image": "sums:1"}]
    template = {"spec": {"restartPolicy": policy, "containers": containers}}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


def indexed(completions: int, **spec: Any) -> Object:
    return job(completionMode="Indexed", completions=completions, **spec)


async def end(world: World, name: str, code: int = 0) -> None:
    """A pod's container ends."""
    now = world.nodes._now()
    ended = {"terminated": {"exitCode": code, "finishedAt": now, "startedAt": now}}
    status = {"name": "main", "image": "sums:1", "imageID": "x", "ready": False, "restartCount": 0}
    await world.set_pod(
        name,
        phase="Failed" if code else "Succeeded",
        conditions=[{"type": "Ready", "status": "False", "lastTransitionTime": now}],
        containerStatuses=[{**status, "state": ended}],
    )


async def running(world: World, count: int) -> list[Object]:
    """The pods at work, when there are so many of them."""

    async def found() -> list[Object] | None:
        pods = [
            one
            for one in await world.pods()
            if one["status"]["phase"] == "Running" and "deletionTimestamp" not in one["metadata"]
        ]
        return pods if len(pods) == count else None

    pods: list[Object] = await world.until(found) if count else []
    return pods


def names(pods: list[Object]) -> list[str]:
    return [one["metadata"]["name"] for one in pods]


async def until_over(world: World, kind: str = "Complete") -> Object:
    async def over() -> Object | None:
        found = await world.get(JOBS, "sums")
        condition = find_condition(found["status"].get("conditions"), kind)
        return found if condition is not None else None

    found: Object = await world.until(over, 900)
    return found


def condition(obj: Object, kind: str) -> tuple[str, str]:
    found = find_condition(obj["status"].get("conditions"), kind)
    assert found is not None
    return found["reason"], found["message"]


@with_jobs
async def test_a_job_runs_its_pods_to_completion(world: World) -> None:
    await world.create(JOBS, job(completions=3, parallelism=2))
    first = await running(world, 2)
    assert all(FINALIZER in one["metadata"]["finalizers"] for one in first)
    assert all(one["metadata"]["name"].startswith("sums-") for one in first)
    await world.until_status(JOBS, "sums", active=2, ready=2)
    for name in names(first):
        await end(world, name)
    last = await running(world, 1)
    await end(world, names(last)[0])
    done = await until_over(world)
    status = done["status"]
    assert status["succeeded"] == 3
    assert status["uncountedTerminatedPods"] == {}
    assert (status["ready"], status["terminating"], status.get("active")) == (0, 0, None)
    assert status["completionTime"] >= status["startTime"]
    assert [one["type"] for one in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert condition(done, "Complete") == (
        "CompletionsReached",
        "Reached expected number of succeeded pods",
    )
    assert not any("finalizers" in one["metadata"] for one in await world.pods())
    told = await world.events("Job")
    assert [reason for reason, _ in told] == ["SuccessfulCreate"] * 3 + ["Completed"]
    assert told[-1] == ("Completed", "Job completed")
    await world.quiet()


@with_jobs
async def test_pods_are_made_again_with_growing_waits(world: World) -> None:
    await world.create(JOBS, job(backoffLimit=2))
    waits = []
    for _ in range(3):
        began = asyncio.get_running_loop().time()
        pods = await running(world, 1)
        waits.append(asyncio.get_running_loop().time() - began)
        await end(world, names(pods)[0], code=1)
    done = await until_over(world, "Failed")
    assert waits[1] == pytest.approx(10, abs=2)
    assert waits[2] == pytest.approx(20, abs=2)
    assert done["status"]["failed"] == 3
    reason = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    assert condition(done, "FailureTarget") == condition(done, "Failed") == reason
    assert (await world.events("Job"))[-1] == reason


@with_jobs
async def test_restarts_in_place_count_too(world: World) -> None:
    await world.create(JOBS, job(policy="OnFailure", backoffLimit=3))
    pods = await running(world, 1)
    status = {"name": "main", "image": "x", "imageID": "x", "ready": True, "restartCount": 3}
    await world.set_pod(names(pods)[0], containerStatuses=[status])
    done = await until_over(world, "Failed")
    assert condition(done, "Failed")[0] == "BackoffLimitExceeded"
    assert done["status"]["failed"] == 1
    assert await world.pods() == []


@with_jobs
async def test_a_job_may_not_run_for_ever(world: World) -> None:
    await world.create(JOBS, job(activeDeadlineSeconds=30, parallelism=2))
    await running(world, 2)
    done = await until_over(world, "Failed")
    decided = find_condition(done["status"]["conditions"], "FailureTarget")
    assert decided is not None
    assert parse_time(decided["lastTransitionTime"]) - parse_time(done["status"]["startTime"]) == timedelta(
        seconds=30
    )
    assert condition(done, "Failed") == (
        "DeadlineExceeded",
        "Job was active longer than specified deadline",
    )
    assert await world.pods() == []


@with_jobs
async def test_the_end_waits_for_pods_that_still_run(world: World) -> None:
    await world.create(JOBS, job(activeDeadlineSeconds=5))
    world.nodes.let_go = lambda pod: False
    await running(world, 1)
    found = await until_over(world, "FailureTarget")
    assert find_condition(found["status"]["conditions"], "Failed") is None
    await world.until_status(JOBS, "sums", terminating=1, active=0)
    world.nodes.let_go = lambda pod: True
    world.nodes.look_again()
    done = await until_over(world, "Failed")
    assert done["status"]["failed"] == 1


@with_jobs
async def test_indexes_are_given_to_pods(world: World) -> None:
    await world.create(JOBS, indexed(3, parallelism=2))
    pods = await running(world, 2)
    for number, one in enumerate(pods):
        assert one["metadata"]["name"].startswith(f"sums-{number}-")
        assert one["metadata"]["annotations"][INDEX] == one["metadata"]["labels"][INDEX] == str(number)
        assert one["spec"]["hostname"] == f"sums-{number}"
        variable = one["spec"]["containers"][0]["env"][0]
        assert variable["name"] == "JOB_COMPLETION_INDEX"
        assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"
    await end(world, names(pods)[1])
    await world.until_status(JOBS, "sums", completedIndexes="1")
    later = await running(world, 2)
    assert [one["metadata"]["labels"][INDEX] for one in later] == ["0", "2"]
    for name in names(later):
        await end(world, name)
    done = await until_over(world)
    assert done["status"]["completedIndexes"] == "0-2"
    assert done["status"]["succeeded"] == 3


@with_jobs
async def test_indexes_fail_for_themselves(world: World) -> None:
    await world.create(JOBS, indexed(2, parallelism=2, backoffLimitPerIndex=1))
    for failures in ("0", "1"):
        pods = await running(world, 2 if failures == "0" else 1)
        failing = pods[-1]
        assert failing["metadata"]["annotations"][FAILURES] == failures
        assert failing["metadata"]["labels"][INDEX] == "1"
        if failures == "0":
            await end(world, names(pods)[0])
        await end(world, names(pods)[-1], code=1)
        await running(world, 0)
    done = await until_over(world, "Failed")
    assert condition(done, "Failed") == ("FailedIndexes", "Job has failed indexes")
    assert done["status"]["completedIndexes"] == "0"
    assert done["status"]["failedIndexes"] == "1"
    assert done["status"]["failed"] == 2


@with_jobs
async def test_too_many_failed_indexes_end_the_job(world: World) -> None:
    await world.create(JOBS, indexed(4, parallelism=4, backoffLimitPerIndex=0, maxFailedIndexes=1))
    pods = await running(world, 4)
    for name in names(pods)[:2]:
        await end(world, name, code=1)
    done = await until_over(world, "Failed")
    assert condition(done, "Failed") == (
        "MaxFailedIndexesExceeded",
        "Job has exceeded the specified maximal number of failed indexes",
    )
    assert done["status"]["failedIndexes"] == "0,1"


def _rule(action: str, **match: Any) -> Object:
    return {"podFailurePolicy": {"rules": [{"action": action, **match}]}}


@with_jobs
async def test_a_failure_policy_ends_the_job(world: World) -> None:
    codes = {"containerName": "main", "operator": "In", "values": [42]}
    await world.create(JOBS, job(**_rule("FailJob", onExitCodes=codes)))
    name = names(await running(world, 1))[0]
    await end(world, name, code=42)
    done = await until_over(world, "Failed")
    assert condition(done, "Failed") == (
        "PodFailurePolicy",
        f"Container main for pod {NAMESPACE}/{name} failed with exit code 42 matching FailJob rule at index 0",
    )


@with_jobs
async def test_a_failure_policy_ignores_a_disruption(world: World) -> None:
    patterns = [{"type": "DisruptionTarget", "status": "True"}]
    await world.create(JOBS, job(backoffLimit=0, **_rule("Ignore", onPodConditions=patterns)))
    name = names(await running(world, 1))[0]
    await world.set_pod(name, phase="Failed", conditions=[*patterns])
    later = await running(world, 1)
    assert names(later) != [name]
    await end(world, names(later)[0])
    done = await until_over(world)
    assert "failed" not in done["status"]


@with_jobs
async def test_a_success_policy_ends_the_job_early(world: World) -> None:
    rules = [{"succeededIndexes": "0,1", "succeededCount": 1}]
    await world.create(JOBS, indexed(3, parallelism=3, successPolicy={"rules": rules}))
    await end(world, names(await running(world, 3))[1])
    done = await until_over(world)
    assert condition(done, "SuccessCriteriaMet") == ("SuccessPolicy", "Matched rules at index 0")
    assert condition(done, "Complete") == ("SuccessPolicy", "Matched rules at index 0")
    assert done["status"]["completedIndexes"] == "1"
    assert "failed" not in done["status"]


@with_jobs
async def test_a_job_is_suspended_and_resumed(world: World) -> None:
    await world.create(JOBS, job(suspend=True, activeDeadlineSeconds=600))
    found = await world.until_status(JOBS, "sums", ready=0, terminating=0)
    assert condition(await until_over(world, "Suspended"), "Suspended") == ("JobSuspended", "Job suspended")
    assert "startTime" not in found["status"]
    await world.patch(JOBS, "sums", suspend=False)
    await running(world, 1)
    found = await world.until_status(JOBS, "sums", active=1, ready=1)
    assert condition(found, "Suspended") == ("JobResumed", "Job resumed")
    assert "startTime" in found["status"]
    await world.patch(JOBS, "sums", suspend=True)
    found = await world.until_status(JOBS, "sums", active=0, ready=0, terminating=0)
    assert "failed" not in found["status"]
    assert await world.pods() == []
    reasons = [reason for reason, _ in await world.events("Job")]
    # The second "Suspended" continues the first.
    assert reasons[0] == "SuccessfulCreate"
    assert sorted(reasons) == ["Resumed", "SuccessfulCreate", "SuccessfulDelete", "Suspended"]


@with_jobs
async def test_a_pod_that_is_deleted_is_made_again(world: World) -> None:
    await world.create(JOBS, job())
    name = names(await running(world, 1))[0]
    await world.client.delete(PODS, name, NAMESPACE)
    later = await running(world, 1)
    assert names(later) != [name]
    await world.until_status(JOBS, "sums", failed=1, active=1)
    await world.until(lambda: _gone(world, name))


async def _gone(world: World, name: str) -> bool:
    return await world.client.find(PODS, name, NAMESPACE) is None


@with_jobs
async def test_only_failed_pods_are_replaced_if_so_wanted(world: World) -> None:
    await world.create(JOBS, job(podReplacementPolicy="Failed"))
    world.nodes.let_go = lambda pod: False
    name = names(await running(world, 1))[0]
    await world.client.delete(PODS, name, NAMESPACE)
    await world.until_status(JOBS, "sums", terminating=1, active=0)
    await world.quiet(30)
    assert names(await world.pods()) == [name]
    world.nodes.let_go = lambda pod: True
    await end(world, name, code=1)
    await world.until(lambda: running(world, 1))
    await world.until_status(JOBS, "sums", failed=1, active=1, terminating=0)


@with_jobs
async def test_a_job_of_another_controller_is_left_alone(world: World) -> None:
    await world.create(JOBS, job(managedBy="example.com/other"))
    await world.quiet()
    assert await world.pods() == []
    assert (await world.get(JOBS, "sums"))["status"] == {}


@with_jobs
async def test_orphans_are_adopted_and_released(world: World) -> None:
    labels = {"app": "sums"}
    spec = job(manualSelector=True, selector={"matchLabels": labels})
    spec["spec"]["template"]["metadata"] = {"labels": labels}
    await world.create(PODS, pod("mine", labels))
    await world.create(JOBS, spec)

    def is_owned(expected: bool) -> Callable[[], Any]:
        async def holds() -> bool:
            metadata = (await world.get(PODS, "mine"))["metadata"]
            tracked = FINALIZER in metadata.get("finalizers", ())
            return bool(metadata.get("ownerReferences")) is expected and tracked is expected

        return holds

    await world.until(is_owned(True))
    await world.client.patch(PODS, "mine", {"metadata": {"labels": None}}, NAMESPACE)
    await world.until(is_owned(False))


@with_jobs
async def test_pods_of_a_job_that_is_gone_are_let_go(world: World) -> None:
    await world.create(JOBS, job(parallelism=2))
    pods = await running(world, 2)
    await world.client.delete(JOBS, "sums", NAMESPACE, propagation="Background")

    async def freed() -> bool:
        return not any("finalizers" in one["metadata"] for one in await world.pods())

    await world.until(freed)
    assert len(await world.pods()) == len(pods)


async def _end_all(world: World, code: int) -> None:
    """Whatever runs at this moment ends."""
    for one in await world.pods():
        if one["status"]["phase"] == "Running":
            await end(world, one["metadata"]["name"], code)


@pytest.mark.parametrize("completion", ["NonIndexed", "Indexed"])
@pytest.mark.parametrize("writes", [1, 2, 3, 4, 5, 7, 9, 12])
def test_no_pod_is_lost_or_counted_twice_when_the_controller_dies(writes: int, completion: str) -> None:
    """Some pods fail and the rest succeed, whenever the controller ends in between."""

    def acts(world: World) -> list[Awaitable[Any]]:
        made = job(completions=4, parallelism=4, completionMode=completion, backoffLimit=100)
        steps: list[Awaitable[Any]] = [world.create(JOBS, made)]
        for code in (1, 0, 1, 0):
            steps += [asyncio.sleep(60), asyncio.sleep(60), _end_all(world, code), asyncio.sleep(60)]
        return steps

    async def settled(world: World) -> None:
        for _ in range(8):
            await asyncio.sleep(700)
            await _end_all(world, 0)
        status = (await until_over(world))["status"]
        ended = [one["status"]["phase"] for one in await world.pods()]
        assert status["succeeded"] == ended.count("Succeeded") == 4
        assert status.get("failed", 0) == ended.count("Failed")
        assert status["uncountedTerminatedPods"] == {}
        assert not any("finalizers" in one["metadata"] for one in await world.pods())
        await world.quiet()

    dying(("job",), writes, acts, settled)


@with_jobs
async def test_a_pod_waits_for_its_job_also_when_a_cache_does_not_know_that(world: World) -> None:
    made = await world.create(JOBS, job())
    [one] = await running(world, 1)
    jobs = world.manager.informers.get(JOBS).cache
    jobs.removed(Key.of(made), made["metadata"]["uid"], "a cache that is behind")
    await asyncio.sleep(5)
    assert (await world.get(PODS, one["metadata"]["name"]))["metadata"]["finalizers"] == [FINALIZER]
