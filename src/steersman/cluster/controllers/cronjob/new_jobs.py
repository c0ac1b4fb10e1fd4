"""The Job that a CronJob creates: name, labels, annotations and owner reference. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from steersman.cluster.controllers.cronjob.schedule import time_zone
from steersman.cluster.controllers.ownership import controller_reference
from steersman.objects.kinds.types.batch_v1 import CronJob, Job
from steersman.objects.kinds.types.core_v1 import ObjectReference
from steersman.objects.resources import CRON_JOBS, JOBS

__all__ = ["job_name", "job_reference", "new_job"]


_SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def job_name(cron_job: CronJob, start: datetime) -> str:
    """One name for each start, so that none happens twice."""
    return f"{cron_job['metadata']['name']}-{int(start.timestamp()) // 60}"


def new_job(cron_job: CronJob, start: datetime) -> Job:
    template = cron_job["spec"]["jobTemplate"]
    given = template.get("metadata") or {}
    local = start.astimezone(time_zone(cron_job["spec"].get("timeZone"))).replace(microsecond=0)
    stamp = local.isoformat()
    if local.tzinfo is UTC or not local.utcoffset():
        stamp = stamp.replace("+00:00", "Z")
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": job_name(cron_job, start),
            "namespace": cron_job["metadata"]["namespace"],
            "labels": dict(given.get("labels") or {}),
            "annotations": {**(given.get("annotations") or {}), _SCHEDULED: stamp},
            "ownerReferences": [controller_reference(cron_job, CRON_JOBS)],
        },
        "spec": template["spec"],
    }


def job_reference(job: Job) -> ObjectReference:
    """What `status.active` holds."""
    metadata = job["metadata"]
    return {
        "kind": JOBS.kind,
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "apiVersion": JOBS.api_version,
        "resourceVersion": metadata["resourceVersion"],
    }
