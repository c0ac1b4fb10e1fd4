"""CronJobs with an API server, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from steersman.objects.resources import CRON_JOBS, JOBS
from steersman.objects.times import format_time, parse_time
from tests.integration.controllers.workloads import NAMESPACE, World, dying, with_workloads

Object = dict[str, Any]

SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MINUTE_S = 60.0

with_cronjobs = with_workloads("cronjob")


def cron_job(schedule: str = "* * * * *", **spec: Any) -> Object:
    containers = [{"name": "main", "image": "sums:1"}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers}}
    jobs = {"metadata": {"labels": {"app": "sums"}}, "spec": {"template": template}}
    return {"metadata": {"name": "sums"}, "spec": {"schedule": schedule, "jobTemplate": jobs, **spec}}


async def until_jobs(world: World, count: int) -> list[Object]:
    async def found() -> list[Object] | None:
        jobs = list(await world.client.list(JOBS, NAMESPACE))
        return sorted(jobs, key=lambda job: job["metadata"]["name"]) if len(jobs) == count else None

    jobs: list[Object] = await world.until(found, 600)
    return jobs


async def finish(world: World, job: Object, kind: str = "Complete") -> None:
    now = world.nodes._now()
    interim = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
    conditions = [
        {"type": one, "status": "True", "reason": "x", "lastTransitionTime": now} for one in (interim, kind)
    ]
    status: Object = {"conditions": conditions, "startTime": now}
    if kind == "Complete":
        status["completionTime"] = now
    name = job["metadata"]["name"]
    await world.client.patch(JOBS, name, {"status": status}, NAMESPACE, subresource="status")


@with_cronjobs
async def test_a_job_is_started_each_minute(world: World) -> None:
    made = await world.create(CRON_JOBS, cron_job())
    first, second = await until_jobs(world, 2)
    start = parse_time(first["metadata"]["annotations"][SCHEDULED])
    assert start.second == 0
    assert first["metadata"]["name"] == f"sums-{int(start.timestamp()) // 60}"
    assert first["metadata"]["labels"]["app"] == "sums"
    owner = first["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("CronJob", made["metadata"]["uid"], True)
    found = await world.get(CRON_JOBS, "sums")
    assert [one["name"] for one in found["status"]["active"]] == [
        one["metadata"]["name"] for one in (first, second)
    ]
    assert found["status"]["lastScheduleTime"] == second["metadata"]["annotations"][SCHEDULED]
    told = await world.events("CronJob")
    assert told[0] == ("SuccessfulCreate", f"Created job {first['metadata']['name']}")


@with_cronjobs
async def test_what_ended_is_noted_and_cleared_away(world: World) -> None:
    await world.create(CRON_JOBS, cron_job(successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0))
    (first,) = await until_jobs(world, 1)
    await finish(world, first)
    (_, second) = await until_jobs(world, 2)
    await finish(world, second)
    found = await until_jobs(world, 1)
    assert found[0]["metadata"]["uid"] == second["metadata"]["uid"]
    status = (await world.get(CRON_JOBS, "sums"))["status"]
    assert "active" not in status
    assert status["lastSuccessfulTime"] == found[0]["status"]["completionTime"]
    told = await world.events("CronJob")
    name = first["metadata"]["name"]
    assert ("SawCompletedJob", f"Saw completed job: {name}, condition: Complete") in told
    assert ("SuccessfulDelete", f"Deleted job {name}") in told


@with_cronjobs
async def test_forbidden_concurrency_waits_for_the_end(world: World) -> None:
    await world.create(CRON_JOBS, cron_job(concurrencyPolicy="Forbid"))
    (first,) = await until_jobs(world, 1)
    await asyncio.sleep(3 * MINUTE_S)
    await until_jobs(world, 1)
    note = "Not starting job because prior execution is running and concurrency policy is Forbid"
    assert ("JobAlreadyActive", note) in await world.events("CronJob")
    await finish(world, first)
    await until_jobs(world, 2)


@with_cronjobs
async def test_a_running_job_is_replaced(world: World) -> None:
    await world.create(CRON_JOBS, cron_job(concurrencyPolicy="Replace"))
    (first,) = await until_jobs(world, 1)
    await asyncio.sleep(MINUTE_S)
    (second,) = await until_jobs(world, 1)
    assert second["metadata"]["name"] != first["metadata"]["name"]
    active = (await world.get(CRON_JOBS, "sums"))["status"]["active"]
    assert [one["uid"] for one in active] == [second["metadata"]["uid"]]


@with_cronjobs
async def test_nothing_starts_while_suspended(world: World) -> None:
    await world.create(CRON_JOBS, cron_job(suspend=True))
    await asyncio.sleep(3 * MINUTE_S)
    assert await world.names(JOBS) == []
    await world.patch(CRON_JOBS, "sums", suspend=False)
    (job,) = await until_jobs(world, 1)
    # Of the starts that were missed, the last is made up for.
    assert job["metadata"]["annotations"][SCHEDULED] >= format_time(
        parse_time(job["metadata"]["creationTimestamp"]).replace(second=0)
    )


@with_cronjobs
async def test_a_new_schedule_makes_up_for_nothing(world: World) -> None:
    await world.create(CRON_JOBS, cron_job("0 0 1 1 *"))
    await asyncio.sleep(10 * MINUTE_S)
    await world.patch(CRON_JOBS, "sums", schedule="*/5 * * * *")
    await asyncio.sleep(1)
    assert await world.names(JOBS) == []
    await until_jobs(world, 1)


@with_cronjobs
async def test_a_job_that_is_deleted_does_not_count_as_running(world: World) -> None:
    await world.create(CRON_JOBS, cron_job("0 * * * *", concurrencyPolicy="Forbid"))
    (first,) = await world.until(lambda: world.names(JOBS), 4000)
    await world.client.delete(JOBS, first, NAMESPACE, propagation="Background")

    async def dropped() -> bool:
        return "active" not in (await world.get(CRON_JOBS, "sums"))["status"]

    await world.until(dropped)
    assert ("MissingJob", f"Active job went missing: {first}") in await world.events("CronJob")


@with_cronjobs
async def test_a_start_that_is_too_late_is_given_up(world: World) -> None:
    await world.create(CRON_JOBS, cron_job("@every 1h", startingDeadlineSeconds=20, suspend=True))
    await asyncio.sleep(90 * MINUTE_S)
    await world.patch(CRON_JOBS, "sums", suspend=False)
    await asyncio.sleep(5 * MINUTE_S)
    assert await world.names(JOBS) == []


@with_cronjobs
async def test_a_schedule_that_never_fires_is_told_of(world: World) -> None:
    await world.create(CRON_JOBS, cron_job("59 23 31 2 *"))
    await asyncio.sleep(5)
    assert await world.events("CronJob") == [
        (
            "InvalidSchedule",
            "invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second",
        )
    ]
    await world.quiet()


@pytest.mark.parametrize("writes", [1, 2, 3])
def test_every_start_happens_once_when_the_controller_dies(writes: int) -> None:
    def acts(world: World) -> list[Awaitable[Any]]:
        return [world.create(CRON_JOBS, cron_job()), *(asyncio.sleep(MINUTE_S) for _ in range(4))]

    async def settled(world: World) -> None:
        jobs = await until_jobs(world, 6)
        starts = [job["metadata"]["annotations"][SCHEDULED] for job in jobs]
        assert len(set(starts)) == len(starts)
        await asyncio.sleep(1)
        active = (await world.get(CRON_JOBS, "sums"))["status"]["active"]
        assert starts[-1] in {
            job["metadata"]["annotations"][SCHEDULED]
            for job in jobs
            if job["metadata"]["uid"] in {one["uid"] for one in active}
        }

    dying(("cronjob",), writes, acts, settled)
