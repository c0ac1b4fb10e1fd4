"""Stopping a workload, and knowing that it has stopped.

Every request says which object in which state it means (its uid, its resourceVersion), so that it does no
harm when it arrives late: what a later leader has written is left alone.
"""

from __future__ import annotations

from typing import Any

from steersman.client import Conflict, NotFound
from steersman.highlander.live import LiveObjects
from steersman.highlander.state import WorkloadKind
from steersman.highlander.workloads.copies import living
from steersman.highlander.workloads.ownership import WorkloadKey, epoch_of
from steersman.objects.jobs import is_finished
from steersman.objects.kinds import Object
from steersman.objects.lifetime import is_deleting
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CRON_JOBS, DEPLOYMENTS, JOBS, PODS, STATEFUL_SETS
from steersman.runtime import Key, Writes

__all__ = ["is_stopped", "living_copies", "stop"]


_SCALED = {WorkloadKind.SERVICE: DEPLOYMENTS, WorkloadKind.PERSISTENT: STATEFUL_SETS}


async def stop(writes: Writes, live: LiveObjects, tenant: str, key: WorkloadKey, epoch: int) -> None:
    """Ask for the end of all that runs of a workload; what is ending already is not asked again.

    What was written in a later epoch than the caller's is not the caller's to stop.
    """

    def ours(resource: ResourceType) -> list[Object]:
        return [each for each in live.of_workload(resource, tenant, key) if epoch_of(each) <= epoch]

    if key.kind is WorkloadKind.PROCESS:
        for pod in ours(PODS):
            await _delete(writes, PODS, pod)
    elif key.kind is WorkloadKind.CRON_JOB:
        for cron_job in ours(CRON_JOBS):
            if not cron_job["spec"].get("suspend"):
                await _patch(writes, CRON_JOBS, cron_job, {"suspend": True})
        for job in _unfinished(ours(JOBS)):
            await _delete(writes, JOBS, job)
    else:
        resource = _SCALED[key.kind]
        for scaled in ours(resource):
            if scaled["spec"].get("replicas") != 0:
                await _patch(writes, resource, scaled, {"replicas": 0})


def is_stopped(live: LiveObjects, tenant: str, key: WorkloadKey) -> bool:
    """Whether nothing runs and nothing will start by itself."""
    if living_copies(live, tenant, key):
        return False
    if key.kind is WorkloadKind.CRON_JOB:
        suspended = all(each["spec"].get("suspend") for each in live.of_workload(CRON_JOBS, tenant, key))
        return suspended and not _unfinished(live.of_workload(JOBS, tenant, key))
    if key.kind in _SCALED:
        return all(_is_down(each) for each in live.of_workload(_SCALED[key.kind], tenant, key))
    return True


def living_copies(live: LiveObjects, tenant: str, key: WorkloadKey) -> list[Any]:
    return living(live.of_workload(PODS, tenant, key))


def _is_down(scaled: Object) -> bool:
    """Whether its controller has seen that it is to have no pods, and has none."""
    status = scaled.get("status") or {}
    seen = status.get("observedGeneration", 0) >= scaled["metadata"].get("generation", 0)
    return scaled["spec"].get("replicas") == 0 and seen and not status.get("replicas")


def _unfinished(jobs: list[Object]) -> list[Object]:
    return [job for job in jobs if not is_finished(job)]


async def _delete(writes: Writes, resource: ResourceType, obj: Object) -> None:
    if is_deleting(obj):
        return
    try:
        await writes.delete(resource, Key.of(obj), obj["metadata"]["uid"])
    except Conflict:
        # Another object has the name by now: the watch will show it.
        return


async def _patch(writes: Writes, resource: ResourceType, obj: Object, spec: Object) -> None:
    patch = {"metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]}, "spec": spec}
    try:
        await writes.patch(resource, Key.of(obj), patch)
    except (Conflict, NotFound):
        return
