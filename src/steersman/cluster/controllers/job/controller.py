"""The Job controller: creates and deletes pods according to `plan` and counts finished ones with
`tracking`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from steersman.client import ClientError, NotFound
from steersman.cluster.controllers.job.backoff import NO_FAILURES, JobBackoff
from steersman.cluster.controllers.job.job_pods import TRACKING_FINALIZER, JobPod, matters_to_job
from steersman.cluster.controllers.job.job_spec import JobState
from steersman.cluster.controllers.job.new_pods import name_prefix, new_pod_template
from steersman.cluster.controllers.job.orphan_pods import add_orphan_controller
from steersman.cluster.controllers.job.plan import JobPlan, plan
from steersman.cluster.controllers.job.status import (
    decided,
    finished,
    normal,
    started,
    with_counts,
    with_suspension,
)
from steersman.cluster.controllers.job.tally import Counts, JobTally, count, tally_of
from steersman.cluster.controllers.job.tracking import counted, track
from steersman.cluster.controllers.job.verdict import JobVerdict, completed, deadline_s, judge
from steersman.cluster.controllers.ownership import Claims, WakeOwners, children, selector_of
from steersman.cluster.controllers.pod_control import (
    PodControl,
    namespace_is_terminating,
    slow_start,
    together,
)
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.jobs import is_finished
from steersman.objects.kinds.types import batch_v1
from steersman.objects.kinds.types.batch_v1 import JobStatus
from steersman.objects.resources import JOBS, PODS
from steersman.runtime import Key, Request, Requeue, Result, RetryPolicy

__all__ = ["add"]


#: Many pods of a job end at about the same time: they are counted together.
_INTERVAL_S: Final = 0.5
#: Takes the finalizer from a pod.
_RELEASE: Final = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER]}}


def add(setup: Setup) -> None:
    jobs = _Jobs(setup)
    controller = setup.controller(
        "job",
        retrying_conflicts(jobs.reconcile),
        concurrency=16,
        retry=RetryPolicy.exponential(1, 60),
        min_interval_s=_INTERVAL_S,
    )
    controller.primary(jobs.jobs).watches(jobs.pods, jobs.wake)
    jobs.claims.on_released = jobs.wake.on_release(controller)
    add_orphan_controller(setup, jobs.jobs, jobs.pods)


@dataclass(frozen=True, slots=True)
class _Work:
    """The pods created and deleted by a reconcile."""

    verdict: JobVerdict | None
    counts: Counts
    failed: ClientError | None = None
    wait_s: float = 0.0
    acted: bool = False
    #: Whether pods may be made and deleted at all, so that the job is suspended or it is not.
    managed: bool = False


class _Jobs:
    """Reconciles Jobs."""

    def __init__(self, setup: Setup) -> None:
        self.jobs = setup.informer(JOBS)
        self.pods = setup.informer(PODS)
        self.wake = WakeOwners(self.jobs.cache, JOBS, matters_to_job)
        self.writes = setup.writes("job", self.jobs, self.pods)
        self.claims = Claims(
            setup.client, self.writes, JOBS, PODS, self.pods.cache, finalizer=TRACKING_FINALIZER
        )
        self._recorder = setup.recorder("job-controller")
        self._control = PodControl(self.writes, self._recorder, JOBS)
        self._clock = setup.clock
        #: By uid: failures of the jobs that are not over.
        self._backoffs: dict[str, JobBackoff] = {}
        self._uids: dict[Key, str] = {}

    async def reconcile(self, request: Request) -> Result | None:
        cached = self.jobs.cache.get(request.key)
        obj = cast("batch_v1.Job", cached.object()) if cached is not None else None
        if cached is None or obj is None or is_finished(obj):
            self._forget(request.key)
            return None
        if JobState(obj).managed_elsewhere:
            return None
        now = moment(self._clock)
        old_status = obj.get("status")
        obj["status"] = started(obj, now)
        job = JobState(obj)
        claimed = await self.claims.claim(obj, selector_of(cached))
        tally = tally_of(job, [JobPod.read(pod) for pod in claimed])
        backoff = self._backoffs.get(cached.uid, NO_FAILURES)
        backoff = backoff.after(tally.newly_succeeded, tally.newly_failed)
        work = await self._work(tally, backoff, now)
        acted = await self._update_status(tally, work, old_status, backoff, now) or work.acted
        if work.failed is not None:
            raise Requeue from work.failed
        if acted:
            return Result.requeue(0)  # the watch does not tell of our own writes
        waits = [wait for wait in (work.wait_s, deadline_s(job, now)) if wait and wait > 0]
        return Result.requeue(min(waits)) if waits else None

    def _forget(self, key: Key) -> None:
        self._backoffs.pop(self._uids.pop(key, ""), None)

    def _remember(self, obj: batch_v1.Job, backoff: JobBackoff) -> None:
        uid = obj["metadata"]["uid"]
        if backoff == NO_FAILURES and uid not in self._backoffs:
            return
        self._uids[Key.of(obj)] = uid
        self._backoffs[uid] = backoff

    # --- pods

    async def _work(self, tally: JobTally, backoff: JobBackoff, now: datetime) -> _Work:
        job = tally.job
        verdict = judge(tally, now)
        if verdict is not None:
            failed = await self._control.delete_many(
                job.obj, [(pod.state.key, pod.uid) for pod in tally.active]
            )
            # As long as a pod may still run nobody knows how it ends.
            return _Work(None if failed else verdict, self._count(job), failed, acted=bool(tally.active))
        failed, steps = None, JobPlan()
        if not job.deleting:
            steps = plan(tally, backoff, now)
            failed = await self._delete(job, steps.delete) or await self._create(tally, steps)
        counts = self._count(job)
        acted = bool(steps.delete or steps.create)
        verdict = completed(tally, counts.active)
        return _Work(verdict, counts, failed, steps.wait_s, acted, managed=not job.deleting)

    async def _delete(self, job: JobState, pods: Sequence[JobPod]) -> ClientError | None:
        """Delete pods that nobody wants: they count for nothing."""

        async def delete(pod: JobPod) -> None:
            await self._let_go(pod)
            await self._control.delete(job.obj, pod.state.key, pod.uid)

        return await together(map(delete, pods))

    async def _create(self, tally: JobTally, steps: JobPlan) -> ClientError | None:
        job = tally.job

        async def create(index: int | None) -> None:
            replaced = None if index is None else tally.last_failed.get(index)
            template = new_pod_template(job, index, replaced)
            try:
                await self._control.create(job.obj, template, name_prefix(job, index))
            except ClientError as error:
                if not namespace_is_terminating(error):
                    raise

        return await slow_start(steps.create, create)

    def _count(self, job: JobState) -> Counts:
        pods = children(self.pods.cache, job.obj["metadata"]["uid"])
        return count([JobPod.read(pod) for pod in pods])

    async def _let_go(self, pod: JobPod) -> None:
        if not pod.tracked:
            return
        try:
            await self.writes.patch(PODS, pod.state.key, _RELEASE, type="strategic")
        except NotFound:
            return

    # --- status

    async def _update_status(
        self, tally: JobTally, work: _Work, old_status: JobStatus | None, backoff: JobBackoff, now: datetime
    ) -> bool:
        """Count the pods that ended and write the status; whether anything was written."""
        job, verdict = tally.job, work.verdict
        status = with_counts(job.status, work.counts)
        if work.managed and verdict is None:
            status = with_suspension(job, status, now)
        suspension_told = status.get("conditions") != job.status.get("conditions")
        tracking = track(tally, status, verdict)
        status = tracking.status if verdict is None else decided(tracking.status, verdict, now)
        latest = cast("batch_v1.Job", {**job.obj, "status": old_status})
        written = await self._flush(latest, status)
        if suspension_told:
            self._record_suspension(job)
        self._remember(job.obj, backoff)
        failed = await together([self._let_go(pod) for pod in tracking.release])
        tracked = {pod.uid for pod in tally.pods if pod.tracked and self._is_held(pod)}
        status = counted(status, tracked)
        over = (
            verdict is not None
            and failed is None
            and not tracking.full
            and not status["uncountedTerminatedPods"]
            and not work.counts.terminating
        )
        if verdict is not None and over:
            status = finished(status, verdict, now)
        final = await self._flush(written, status)
        if failed is not None:
            raise Requeue from failed
        if verdict is not None and over:
            self._record_end(job, verdict, status)
        return final is not latest or bool(tracking.release)

    async def _flush(self, obj: batch_v1.Job, status: JobStatus) -> batch_v1.Job:
        """Write the status if it is another one; the job as it is then."""
        status = normal(status)
        if status == obj.get("status"):
            return obj
        return await self.writes.replace(JOBS, {**obj, "status": status}, subresource="status")

    def _is_held(self, pod: JobPod) -> bool:
        """Whether the pod still has its finalizer."""
        cached = self.pods.cache.get(pod.state.key)
        return cached is not None and cached.uid == pod.uid and JobPod.read(cached).tracked

    def _record_suspension(self, job: JobState) -> None:
        reason = "Suspended" if job.suspended else "Resumed"
        self._recorder.event(job.obj, "Normal", reason, f"Job {reason.lower()}")

    def _record_end(self, job: JobState, verdict: JobVerdict, status: JobStatus) -> None:
        if not verdict.success:
            self._recorder.event(job.obj, "Warning", verdict.reason, verdict.message)
            return
        if job.completions is not None and (status.get("succeeded") or 0) > job.completions:
            note = "Too many succeeded pods running after completion count reached"
            self._recorder.event(job.obj, "Warning", "TooManySucceededPods", note)
        self._recorder.event(job.obj, "Normal", "Completed", "Job completed")
