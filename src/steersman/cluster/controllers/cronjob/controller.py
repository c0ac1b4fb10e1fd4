"""The CronJob controller: creates the Jobs of CronJobs, lists active ones in the status and deletes old ones
(history limits).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

import msgspec

from steersman.client import AlreadyExists, ClientError
from steersman.cluster.controllers.cronjob.due import due_start, wait_s
from steersman.cluster.controllers.cronjob.new_jobs import job_name, job_reference, new_job
from steersman.cluster.controllers.ownership import children, index_by_controller
from steersman.cluster.controllers.pod_control import namespace_is_terminating
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.cron import CronTimes, Every, is_known_time_zone, parse_schedule
from steersman.objects.fields import quote
from steersman.objects.jobs import finished_condition
from steersman.objects.kinds.types.batch_v1 import CronJob, CronJobStatus, Job
from steersman.objects.kinds.types.core_v1 import ObjectReference
from steersman.objects.kinds.views.workloads import CronTimesView
from steersman.objects.lifetime import is_deleting
from steersman.objects.ownership import is_controlled_by
from steersman.objects.resources import CRON_JOBS, JOBS
from steersman.objects.times import format_time, parse_time
from steersman.runtime import Change, Controller, Key, Request, Requeue, Result, RetryPolicy

__all__ = ["add"]

Schedule = CronTimes | Every


def add(setup: Setup) -> None:
    cron_jobs = _CronJobs(setup)
    controller = setup.controller(
        "cronjob", retrying_conflicts(cron_jobs.reconcile), concurrency=8, retry=RetryPolicy.client_go()
    )
    cron_jobs.controller = controller
    controller.primary(cron_jobs.cron_jobs, cron_jobs.is_for_now).owns(cron_jobs.jobs, CRON_JOBS)


@dataclass(slots=True)
class _Sync:
    """One reconcile of a CronJob, and the status it will write."""

    cron_job: CronJob
    status: CronJobStatus

    @property
    def active(self) -> list[ObjectReference]:
        return list(self.status.get("active") or ())

    def is_active(self, uid: str) -> bool:
        return any(one.get("uid") == uid for one in self.active)

    def drop(self, uid: str) -> None:
        left = [one for one in self.active if one.get("uid") != uid]
        if left:
            self.status["active"] = left
        else:
            self.status.pop("active", None)


class _CronJobs:
    """Reconciles CronJobs."""

    controller: Controller

    def __init__(self, setup: Setup) -> None:
        self.cron_jobs = setup.informer(CRON_JOBS)
        self.jobs = setup.informer(JOBS)
        self.writes = setup.writes("cronjob", self.cron_jobs, self.jobs)
        self._client = setup.client
        self._recorder = setup.recorder("cronjob-controller")
        self._clock = setup.clock
        index_by_controller(self.jobs.cache)

    def is_for_now(self, change: Change) -> bool:
        """A new schedule is for the future: starts that it would have had before are not made up for."""
        if change.old is None or change.new is None or change.resync:
            return True
        if _decode_times(change.old.data) == _decode_times(change.new.data):
            return True
        new = cast("CronJob", change.new.object())
        try:
            schedule = parse_schedule(_schedule_text(new))
        except ValueError:
            return True
        wait = wait_s(new, schedule, moment(self._clock))
        self.controller.enqueue(change.key, "schedule changed", after_s=wait)
        return False

    async def reconcile(self, request: Request) -> Result | None:
        cached = self.cron_jobs.cache.get(request.key)
        if cached is None:
            return None
        cron_job = cast("CronJob", cached.object())
        jobs = [cast("Job", job.object()) for job in children(self.jobs.cache, cached.uid)]
        sync = _Sync(cron_job, {**(cron_job.get("status") or {})})
        jobs = await self._clear_histories(sync, jobs)
        wait: float | None = None
        failed: ClientError | None = None
        try:
            wait = await self._sync(sync, jobs)
        except ClientError as error:
            failed = error
        if sync.status != (cron_job.get("status") or {}):
            await self.writes.replace(CRON_JOBS, {**cron_job, "status": sync.status}, subresource="status")
        if failed is not None:
            raise Requeue from failed
        return None if wait is None else Result.requeue(wait)

    async def _sync(self, sync: _Sync, jobs: Sequence[Job]) -> float | None:
        """Bring the list of running jobs up to date and start what is due; when to come back."""
        cron_job, now = sync.cron_job, moment(self._clock)
        for job in jobs:
            self._note(sync, job)
        await self._drop_missing(sync, {job["metadata"]["uid"] for job in jobs})
        if is_deleting(cron_job):
            return None
        schedule = self._schedule(cron_job)
        if schedule is None:
            return None
        try:
            due = due_start(cron_job, schedule, now)
        except ValueError as error:
            text = cron_job["spec"]["schedule"]
            self._warn(cron_job, "InvalidSchedule", f"invalid schedule: {text} : {error}")
            return None
        if due.start is None:
            return wait_s(cron_job, schedule, now)
        if due.too_many_missed:
            self._warn(
                cron_job,
                "TooManyMissedTimes",
                "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock "
                "skew",
            )
        if self._may_start(sync, due.start, now):
            started = await self._start(sync, due.start)
            if not started:
                return None
        return wait_s({**cron_job, "status": sync.status}, schedule, now)

    def _note(self, sync: _Sync, job: Job) -> None:
        """What a job of ours tells about itself."""
        metadata, cron_job = job["metadata"], sync.cron_job
        known, ended = sync.is_active(metadata["uid"]), finished_condition(job)
        if not ended:
            if not known:
                note = f"Saw a job that the controller did not create or forgot: {metadata['name']}"
                self._warn(cron_job, "UnexpectedJob", note)
            return
        if known:
            sync.drop(metadata["uid"])
            note = f"Saw completed job: {metadata['name']}, condition: {ended}"
            self._recorder.event(cron_job, "Normal", "SawCompletedJob", note)
        time, last = job["status"].get("completionTime"), sync.status.get("lastSuccessfulTime")
        if ended == "Complete" and time and (last is None or parse_time(time) > parse_time(last)):
            sync.status["lastSuccessfulTime"] = time

    async def _drop_missing(self, sync: _Sync, known: set[str]) -> None:
        """Jobs that are not there any more do not run. The API itself is asked: a watch may be slow."""
        for reference in sync.active:
            if reference["uid"] in known:
                continue
            name = reference["name"]
            if await self._client.find(JOBS, name, reference["namespace"]) is None:
                self._recorder.event(
                    sync.cron_job, "Normal", "MissingJob", f"Active job went missing: {name}"
                )
                sync.drop(reference["uid"])

    def _schedule(self, cron_job: CronJob) -> Schedule | None:
        """None if nothing is to be started, and why is told."""
        spec = cron_job["spec"]
        zone = spec.get("timeZone")
        if zone is not None and not is_known_time_zone(zone):
            note = f"invalid timeZone: {quote(zone)}: unknown time zone {zone}"
            self._warn(cron_job, "UnknownTimeZone", note)
            return None
        if spec.get("suspend"):
            return None
        text = spec["schedule"]
        if "TZ" in text:
            self._warn(
                cron_job,
                "UnsupportedSchedule",
                f"CRON_TZ or TZ used in schedule {quote(text)} is not officially supported, see "
                "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
            )
        try:
            return parse_schedule(_schedule_text(cron_job))
        except ValueError as error:
            note = f"unparseable schedule: {quote(text)} : {error}"
            self._warn(cron_job, "UnparseableSchedule", note)
            return None

    def _may_start(self, sync: _Sync, start: datetime, now: datetime) -> bool:
        cron_job = sync.cron_job
        spec = cron_job["spec"]
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None and start + timedelta(seconds=deadline) < now:
            shown = start.astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
            self._warn(cron_job, "MissSchedule", f"Missed scheduled time to start a job: {shown}")
            return False
        name = job_name(cron_job, start)
        if any(one["name"] == name for one in sync.active):
            return False
        if sync.status.get("lastScheduleTime") == format_time(start):
            return False
        if spec.get("concurrencyPolicy") == "Forbid" and sync.active:
            note = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._recorder.event(cron_job, "Normal", "JobAlreadyActive", note)
            return False
        return True

    async def _start(self, sync: _Sync, start: datetime) -> bool:
        """Start a job; False if its name belongs to somebody else's."""
        cron_job = sync.cron_job
        if cron_job["spec"].get("concurrencyPolicy") == "Replace":
            for reference in sync.active:
                await self._delete(sync, Key(reference["namespace"], reference["name"]), reference["uid"])
        wanted = new_job(cron_job, start)
        try:
            job = await self.writes.create(JOBS, wanted)
        except AlreadyExists:
            # Made before, by us just before the end of a process, or by somebody else.
            found = await self._client.get(JOBS, wanted["metadata"]["name"], wanted["metadata"]["namespace"])
            job = cast("Job", found)
            if not is_controlled_by(job, cron_job["metadata"]["uid"]):
                return False
        except ClientError as error:
            if not namespace_is_terminating(error):
                self._warn(cron_job, "FailedCreate", f"Error creating job: {error}")
            raise
        else:
            note = f"Created job {job['metadata']['name']}"
            self._recorder.event(cron_job, "Normal", "SuccessfulCreate", note)
        sync.status["active"] = [*sync.active, job_reference(job)]
        sync.status["lastScheduleTime"] = format_time(start)
        return True

    # --- old jobs

    async def _clear_histories(self, sync: _Sync, jobs: list[Job]) -> list[Job]:
        """Delete the oldest jobs that are over; returns those that are left."""
        deleted: set[str] = set()
        spec = sync.cron_job["spec"]
        limits = {
            "Complete": spec.get("successfulJobsHistoryLimit"),
            "Failed": spec.get("failedJobsHistoryLimit"),
        }
        for ended, limit in limits.items():
            if limit is None:
                continue
            over = sorted((job for job in jobs if finished_condition(job) == ended), key=_age)
            for job in over[: max(0, len(over) - limit)]:
                uid = job["metadata"]["uid"]
                try:
                    await self._delete(sync, Key.of(job), uid)
                except ClientError:
                    continue
                deleted.add(uid)
        return [job for job in jobs if job["metadata"]["uid"] not in deleted]

    async def _delete(self, sync: _Sync, key: Key, uid: str) -> None:
        try:
            await self.writes.delete(JOBS, key, uid)
        except ClientError as error:
            self._warn(sync.cron_job, "FailedDelete", f"Deleted job: {error}")
            raise
        sync.drop(uid)
        self._recorder.event(sync.cron_job, "Normal", "SuccessfulDelete", f"Deleted job {key.name}")

    def _warn(self, cron_job: CronJob, reason: str, note: str) -> None:
        self._recorder.event(cron_job, "Warning", reason, note)


_decode_times = msgspec.json.Decoder(CronTimesView).decode


def _schedule_text(cron_job: CronJob) -> str:
    """The schedule with its time zone."""
    spec = cron_job["spec"]
    text = spec["schedule"]
    zone = spec.get("timeZone")
    if "TZ" in text or zone is None or not is_known_time_zone(zone):
        return text
    return f"TZ={zone} {text}"


def _age(job: Job) -> tuple[bool, str, str]:
    """Those that started first come first, those that never did last."""
    start = (job.get("status") or {}).get("startTime")
    return start is None, start or "", job["metadata"]["name"]
