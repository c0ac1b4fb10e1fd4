"""The TTL-after-finished controller: deletes finished Jobs after `spec.ttlSecondsAfterFinished`, with their
pods.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.jobs import FINISHED_CONDITIONS
from steersman.objects.kinds.types.batch_v1 import Job
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import JOBS
from steersman.objects.times import parse_time
from steersman.runtime import Request, Result

__all__ = ["add", "expires_at"]


def expires_at(job: Job) -> datetime | None:
    """When a job's time is up; None if that is not known, or nobody wants it to be."""
    ttl_s = job["spec"].get("ttlSecondsAfterFinished")
    if ttl_s is None or is_deleting(job):
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        ended = condition["type"] in FINISHED_CONDITIONS and condition["status"] == "True"
        if ended and (since := condition.get("lastTransitionTime")):
            return parse_time(since) + timedelta(seconds=ttl_s)
    return None


def add(setup: Setup) -> None:
    jobs = setup.informer(JOBS)
    writes = setup.writes("ttl-after-finished", jobs)

    async def reconcile(request: Request) -> Result | None:
        cached = jobs.cache.get(request.key)
        if cached is None:
            return None
        expires = expires_at(cast("Job", cached.object()))
        if expires is not None and expires <= moment(setup.clock):
            # Somebody may have given it more time since.
            fresh = await setup.client.find(JOBS, request.name, request.namespace)
            expires = expires_at(cast("Job", fresh)) if fresh is not None else None
            if fresh is not None and expires is not None and expires <= moment(setup.clock):
                uid = fresh["metadata"]["uid"]
                await writes.delete(JOBS, request.key, uid, propagation="Foreground")
                return None
        if expires is None:
            return None
        return Result.requeue(max((expires - moment(setup.clock)).total_seconds(), 0.0))

    setup.controller("ttl-after-finished", retrying_conflicts(reconcile)).primary(jobs)
