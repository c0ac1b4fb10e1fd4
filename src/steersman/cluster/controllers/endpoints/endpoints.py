"""The Endpoints controller: keeps the (deprecated) Endpoints object of each Service with a selector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from steersman.client import ApiError, ClientError, Conflict
from steersman.cluster.controllers.endpoints.endpointslice import CALM_S
from steersman.cluster.controllers.endpoints.services import HEADLESS_LABEL, SelectingService, Selections
from steersman.cluster.controllers.endpoints.subsets import (
    repacked,
    service_subsets,
    truncated,
    without_versions,
)
from steersman.cluster.controllers.endpoints.trigger_times import TRIGGER_TIME, TriggerTimes
from steersman.cluster.controllers.pod_control import namespace_is_terminating
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.types.core_v1 import Endpoints, EndpointSubset
from steersman.objects.kinds.types.meta_v1 import ObjectMeta
from steersman.objects.resources import ENDPOINTS, PODS, SERVICES
from steersman.runtime import Cached, Change, Key, Request, RetryPolicy

__all__ = ["add"]


_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_CONTROLLER: Final = "endpoint-controller"
_OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"


def add(setup: Setup) -> None:
    endpoints = _ServiceEndpoints(setup)
    controller = setup.controller(
        "endpoints",
        retrying_conflicts(endpoints.reconcile),
        retry=RetryPolicy.exponential(1.0, 1000.0),
        min_interval_s=CALM_S,
    )
    controller.watches(endpoints.services, endpoints.on_service)
    controller.watches(endpoints.pods, endpoints.selections.on_pod)
    controller.watches(endpoints.endpoints, lambda change: (change.key,))


class _ServiceEndpoints:
    """Reconciles the Endpoints of Services."""

    def __init__(self, setup: Setup) -> None:
        self.services = setup.informer(SERVICES)
        self.pods = setup.informer(PODS)
        self.endpoints = setup.informer(ENDPOINTS)
        self.selections = Selections(self.services.cache, self.pods.cache)
        self._writes = setup.writes("endpoints", self.endpoints)
        self._recorder = setup.recorder(_CONTROLLER)
        self._triggers = TriggerTimes()
        #: Services that were seen going: their endpoints go too, whoever made them.
        self._gone: set[Key] = set()

    def on_service(self, change: Change) -> Iterable[Key]:
        if change.new is None:
            self._gone.add(change.key)
        return (change.key,)

    async def reconcile(self, request: Request) -> None:
        cached = self.services.cache.get(request.key)
        present = self.endpoints.cache.get(request.key)
        if cached is None:
            self._triggers.forget(request.key)
            if present is not None and (request.key in self._gone or _is_ours(present)):
                await self._writes.delete(ENDPOINTS, request.key, present.uid, propagation=None)
            self._gone.discard(request.key)
            return
        self._gone.discard(request.key)
        service = SelectingService.read(cached)
        if service.selector is None:
            return
        pods = self.selections.pods_of(service)
        triggered_at = self._triggers.changed_at(service, pods)
        old = cast("Endpoints", present.object()) if present is not None else None
        new = _endpoints(service, service_subsets(service, pods), old, triggered_at)
        if new is not None:
            await self._write(service, new, old)

    async def _write(self, service: SelectingService, new: Endpoints, old: Endpoints | None) -> None:
        what = f"{service.namespace}/{service.name}"
        try:
            if old is None:
                await self._writes.create(ENDPOINTS, new)
            else:
                await self._writes.replace(ENDPOINTS, new)
        except Conflict:
            raise
        except ClientError as error:
            if isinstance(error, ApiError) and namespace_is_terminating(error):
                return
            about = {"apiVersion": "v1", "kind": "Endpoints", **new}
            if old is None:
                note = f"Failed to create endpoint for service {what}: {error}"
                self._recorder.event(about, "Warning", "FailedToCreateEndpoint", note)
            else:
                note = f"Failed to update endpoint {what}: {error}"
                self._recorder.event(about, "Warning", "FailedToUpdateEndpoint", note)
            raise


def _is_ours(cached: Cached) -> bool:
    return cached.labels().get(_MANAGED_BY) == _CONTROLLER


def _endpoints(
    service: SelectingService, subsets: list[EndpointSubset], old: Endpoints | None, triggered_at: str
) -> Endpoints | None:
    """The Endpoints to write; None if those that are there say the same."""
    metadata: ObjectMeta = {"name": service.name, "namespace": service.namespace}
    if old is not None:
        metadata = old["metadata"]
    annotations = dict(metadata.get("annotations") or {})
    cut = truncated(subsets)
    labels = {name: value for name, value in service.labels.items() if name != HEADLESS_LABEL}
    if service.headless:
        labels[HEADLESS_LABEL] = ""
    labels[_MANAGED_BY] = _CONTROLLER
    desired = subsets if cut is None else cut
    if (
        old is not None
        and repacked(without_versions(old.get("subsets"))) == desired
        and metadata.get("labels") == labels
        and (_OVER_CAPACITY in annotations) == (cut is not None)
    ):
        return None
    for name, value in ((TRIGGER_TIME, triggered_at), (_OVER_CAPACITY, "" if cut is None else "truncated")):
        annotations.pop(name, None)
        if value:
            annotations[name] = value
    return {"metadata": {**metadata, "labels": labels, "annotations": annotations}, "subsets": desired}
