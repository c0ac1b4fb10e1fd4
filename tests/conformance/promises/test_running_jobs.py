"""Promises about jobs whose pods are programs: each fails and succeeds by itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from steersman.objects.conditions import find_condition
from steersman.objects.resources import JOBS
from steersman.testing import eventually

from .running import PATIENCE_S, Object, Running, promise, script

_LIVED = "e2e-job-label=lived"
_SUCCEED = "exit 0"
_FAIL = "exit 1"
_FAIL_ODD = "exit $((JOB_COMPLETION_INDEX % 2))"
#: Goes on until it is ended when it is the first in its volume.
_SLEEP_ONCE = "if [ -e /data/foo ]; then exit 0; fi; touch /data/foo; exec sleep 600"
#: Fails when it is the first in its volume.
_FAIL_ONCE = "if [ -e /data/foo ]; then exit 0; fi; touch /data/foo; exit 1"


def job(text: str, policy: str = "Never", **spec: Any) -> Object:
    pod = {
        "restartPolicy": policy,
        "terminationGracePeriodSeconds": 0,
        "volumes": [{"name": "data", "emptyDir": {}}],
        "containers": [script(text, volumeMounts=[{"name": "data", "mountPath": "/data"}])],
    }
    return {"parallelism": 2, "completions": 4, "template": {"spec": pod}, **spec}


def indexed(text: str, **spec: Any) -> Object:
    return job(text, completionMode="Indexed", **spec)


async def ended(running: Running, name: str, kind: str, reason: str = "") -> Object:
    """The job's status, when it has this condition."""

    def has(job: Object) -> bool:
        condition = find_condition((job.get("status") or {}).get("conditions"), kind)
        return (
            condition is not None
            and condition["status"] == "True"
            and condition["reason"] == (reason or condition["reason"])
        )

    status: Object = (await running.until(JOBS, name, has))["status"]
    return status


async def completed(running: Running, name: str, count: int, reason: str = "CompletionsReached") -> Object:
    status = await ended(running, name, "Complete", reason)
    assert status["succeeded"] == count
    return status


@promise("Job should create pods for an Indexed job with completion indexes and specified hostname")
async def test_indexes_and_hostnames(running: Running) -> None:
    await running.make(JOBS, "indexed-job", indexed(_SUCCEED))
    await completed(running, "indexed-job", 4)
    pods = await running.pods("batch.kubernetes.io/job-name=indexed-job")
    found = {
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: pod["spec"]["hostname"]
        for pod in pods
        if pod["status"]["phase"] == "Succeeded"
    }
    assert found == {str(number): f"indexed-job-{number}" for number in range(4)}


@promise("Job should run a job to completion when tasks sometimes fail and are locally restarted")
async def test_local_restarts(running: Running) -> None:
    await running.make(JOBS, "fail-once-local", job(_FAIL_ONCE, "OnFailure"))
    status = await completed(running, "fail-once-local", 4)
    assert not status.get("failed")
    pods = await running.pods("batch.kubernetes.io/job-name=fail-once-local")
    assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods] == [1] * 4


@promise("Job should allow to use the pod failure policy on exit code to fail the job early")
async def test_exit_code_fails_the_job(running: Running) -> None:
    codes = {"operator": "In", "values": [1]}
    rules = [{"action": "FailJob", "onExitCodes": codes}]
    spec = job(_FAIL_ONCE, podFailurePolicy={"rules": rules})
    await running.make(JOBS, "pod-failure-failjob", spec)
    await ended(running, "pod-failure-failjob", "Failed", "PodFailurePolicy")


@promise("Job should terminate job execution when the number of failed indexes exceeds maxFailedIndexes")
async def test_too_many_failed_indexes(running: Running) -> None:
    limits = {"parallelism": 1, "backoffLimitPerIndex": 0, "maxFailedIndexes": 0}
    await running.make(JOBS, "max-failed-indexes", indexed(_FAIL, **limits))
    status = await ended(running, "max-failed-indexes", "Failed")
    assert (status["failedIndexes"], status["failed"]) == ("0", 1)


@promise("Job should mark indexes as failed when the FailIndex action is matched in podFailurePolicy")
async def test_exit_code_fails_an_index(running: Running) -> None:
    rules = [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}]
    limits = {"completions": 2, "backoffLimitPerIndex": 1, "podFailurePolicy": {"rules": rules}}
    await running.make(JOBS, "fail-index", indexed(_FAIL_ODD, **limits))
    status = await ended(running, "fail-index", "Failed")
    assert (status["failedIndexes"], status["completedIndexes"]) == ("1", "0")
    assert (status["failed"], status["succeeded"]) == (1, 1)


async def check_success(running: Running, name: str, spec: Object, count: int, indexes: str) -> Object:
    """The job has succeeded by its policy, and nothing of it is left running."""
    await running.make(JOBS, name, spec)
    await ended(running, name, "SuccessCriteriaMet", "SuccessPolicy")
    status = await completed(running, name, count, "SuccessPolicy")
    assert status["completedIndexes"] == indexes
    assert [status.get(field, 0) for field in ("active", "ready", "terminating")] == [0, 0, 0]
    return status


@promise("Job with successPolicy should succeeded when all indexes succeeded")
async def test_success_of_all(running: Running) -> None:
    policy = {"rules": [{"succeededCount": 2}]}
    spec = indexed(_SUCCEED, completions=2, successPolicy=policy)
    status = await check_success(running, "success-of-all", spec, 2, "0,1")
    assert not status.get("failed")


@promise(
    "Job with successPolicy succeededIndexes rule should succeeded even when some indexes remain pending"
)
async def test_success_of_an_index(running: Running) -> None:
    spec = indexed(_FAIL_ODD, completions=5, successPolicy={"rules": [{"succeededIndexes": "0"}]})
    await check_success(running, "success-of-an-index", spec, 1, "0")


@promise("Job with successPolicy succeededCount rule should succeeded even when some indexes remain pending")
async def test_success_of_some(running: Running) -> None:
    policy = {"rules": [{"succeededCount": 1}]}
    spec = indexed(_FAIL_ODD, completions=5, backoffLimit=2**31 - 1, successPolicy=policy)
    await check_success(running, "success-of-some", spec, 1, "0")


@promise("Job should manage the lifecycle of a job")
async def test_life_of_a_job(running: Running) -> None:
    labels = {"e2e-job-label": "lived"}
    made = await running.make(JOBS, "lived", job(_SUCCEED, suspend=True), labels=labels)
    events: asyncio.Queue[tuple[str, Object]] = asyncio.Queue()

    async def watch() -> None:
        version = made["metadata"]["resourceVersion"]
        async with running.client.watch(JOBS, resource_version=version, labels=_LIVED) as found:
            async for event in found:
                events.put_nowait((event.type, event.decode()))

    async def told(kind: str, holds: Any) -> Object:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found, obj = await events.get()
                if found == kind and holds(obj["metadata"]):
                    return obj

    watching = asyncio.create_task(watch())
    try:
        await running.change(JOBS, "lived", {"metadata": {"labels": {"lived": "patched"}}})
        await told("MODIFIED", lambda metadata: metadata["labels"].get("lived") == "patched")
        going = {"metadata": {"annotations": {"updated": "true"}}, "spec": {"suspend": False}}
        await running.change(JOBS, "lived", going)
        await told("MODIFIED", lambda metadata: metadata.get("annotations", {}).get("updated") == "true")
        assert len(await running.client.list(JOBS, labels=_LIVED)) == 1
        await completed(running, "lived", 4)
        await running.client.delete_collection(JOBS, labels=_LIVED, propagation="Background")
        await told("DELETED", lambda metadata: metadata["name"] == "lived")
        assert not list(await running.client.list(JOBS, labels=_LIVED))
    finally:
        watching.cancel()
        await asyncio.wait((watching,))


# --- jobs that wait ten seconds before they try again


@pytest.fixture(scope="module", autouse=True)
def begun(running: Running) -> None:
    """They wait while other tests are run."""
    running.run(_begin(running))


async def _begin(running: Running) -> None:
    await running.make(JOBS, "limit-per-index", indexed(_FAIL_ODD, backoffLimitPerIndex=1))
    seen = running.folder / "evicted"
    seen.mkdir()
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
    limits = {"parallelism": 1, "completions": 1, "backoffLimit": 0}
    spec = indexed(_SLEEP_ONCE, podFailurePolicy={"rules": rules}, **limits)
    data = [{"name": "data", "hostPath": {"path": str(seen), "type": "Directory"}}]
    spec["template"]["spec"]["volumes"] = data
    await running.make(JOBS, "evicted-pods", spec)
    await eventually(lambda: list(seen.iterdir()), PATIENCE_S)
    (pod,) = await running.pods("batch.kubernetes.io/job-name=evicted-pods")
    await running.client.evict(pod["metadata"]["name"])


@promise("Job should execute all indexes despite some failing when using backoffLimitPerIndex")
async def test_every_index_is_tried(running: Running) -> None:
    status = await ended(running, "limit-per-index", "Failed")
    assert (status["failedIndexes"], status["completedIndexes"]) == ("1,3", "0,2")
    assert (status["failed"], status["succeeded"]) == (4, 2)


@promise(
    "Job should allow to use a pod failure policy to ignore failure matching on DisruptionTarget condition"
)
async def test_evictions_are_ignored(running: Running) -> None:
    status = await completed(running, "evicted-pods", 1)
    assert not status.get("failed")
