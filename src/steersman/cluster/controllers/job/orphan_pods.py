"""The orphan pod worker of the Job controller: removes the tracking finalizer from pods that no Job will
count.

Such pods have no Job, or one that is deleted or finished. Pods of other controllers are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from steersman.client import NotFound
from steersman.cluster.controllers.job.job_pods import TRACKING_FINALIZER, is_tracked
from steersman.cluster.controllers.job.job_spec import CONTROLLER_NAME
from steersman.cluster.controllers.ownership import Ownership, children, index_by_controller
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.views.workloads import FinishedJobView
from steersman.objects.resources import JOBS, PODS
from steersman.runtime import Cached, Change, Informer, Key, Request, RetryPolicy

__all__ = ["add_orphan_controller"]


def add_orphan_controller(setup: Setup, jobs: Informer, pods: Informer) -> None:
    orphans = _OrphanPods(setup, jobs, pods)
    controller = setup.controller(
        "job-orphan-pods", orphans.reconcile, concurrency=4, retry=RetryPolicy.exponential(1, 60)
    )
    controller.watches(pods, orphans.of_pod).watches(jobs, orphans.of_job)


class _OrphanPods:
    """Reconciles pods that have the tracking finalizer and no unfinished Job."""

    def __init__(self, setup: Setup, jobs: Informer, pods: Informer) -> None:
        self._client = setup.client
        self._jobs = jobs.cache
        self._pods = pods.cache
        self._writes = setup.writes("job-orphan-pods", pods)
        index_by_controller(pods.cache)

    def of_pod(self, change: Change) -> Iterable[Key]:
        pod = change.new
        return (pod.key,) if pod is not None and is_tracked(pod) and self._is_orphan(pod) else ()

    def of_job(self, change: Change) -> Iterable[Key]:
        """The pods of a job that is gone or over."""
        job = change.new or change.old
        assert job is not None
        if change.new is not None and not _decode_job(change.new.data).finished:
            return ()
        return [pod.key for pod in children(self._pods, job.uid) if is_tracked(pod)]

    async def reconcile(self, request: Request) -> None:
        pod = self._pods.get(request.key)
        if pod is None or not is_tracked(pod) or not self._is_orphan(pod):
            return
        if await self._has_new_job(pod):
            return  # it will count the pod
        patch = {"metadata": {"uid": pod.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER]}}
        try:
            await self._writes.patch(PODS, request.key, patch, type="strategic")
        except NotFound:
            return

    async def _has_new_job(self, pod: Cached) -> bool:
        """Whether the pod's job is there and only the cache has not heard of it yet."""
        controller = Ownership.read(pod).controller
        if controller is None or self._jobs.get((pod.key.namespace, controller.name)) is not None:
            return False
        found = await self._client.find(JOBS, controller.name, pod.key.namespace)
        return found is not None and found["metadata"]["uid"] == controller.uid

    def _is_orphan(self, pod: Cached) -> bool:
        controller = Ownership.read(pod).controller
        if controller is None:
            return True
        if (controller.api_version, controller.kind) != (JOBS.api_version, JOBS.kind):
            return False
        cached = self._jobs.get((pod.key.namespace, controller.name))
        if cached is None or cached.uid != controller.uid:
            return True
        job = _decode_job(cached.data)
        return job.finished and (job.spec.managed_by or CONTROLLER_NAME) == CONTROLLER_NAME


_decode_job = msgspec.json.Decoder(FinishedJobView).decode
