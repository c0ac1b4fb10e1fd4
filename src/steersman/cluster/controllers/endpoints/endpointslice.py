"""Keeps the EndpointSlices of services that select pods."""

from __future__ import annotations

from typing import Final

from steersman.client import ClientError, Conflict
from steersman.cluster.controllers.endpoints.service_slices import CONTROLLER, plan_slices
from steersman.cluster.controllers.endpoints.services import Selections, Service
from steersman.cluster.controllers.endpoints.slice_writing import ManagedSlices
from steersman.cluster.controllers.endpoints.slices import Plan
from steersman.cluster.controllers.endpoints.trigger_times import TRIGGER_TIME, TriggerTimes
from steersman.cluster.controllers.pods_on_nodes import index_by_node
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.resources import ENDPOINT_SLICES, NODES, PODS, SERVICES
from steersman.runtime import Request, RetryPolicy

__all__ = ["CALM_S", "add"]

#: Pods often become ready one after the other; their service is not written for each of them. The first
#: change is told at once, those that follow it closely together.
CALM_S: Final = 0.5


def add(setup: Setup) -> None:
    slices = _ServiceSlices(setup)
    controller = setup.controller(
        "endpointslice",
        retrying_conflicts(slices.reconcile),
        retry=RetryPolicy.exponential(1.0, 1000.0),
        min_interval_s=CALM_S,
    )
    controller.primary(slices.services)
    controller.watches(slices.pods, slices.selections.on_pod)
    controller.watches(slices.nodes, slices.selections.on_node)
    controller.watches(slices.slices, slices.managed.on_slice)


class _ServiceSlices:
    def __init__(self, setup: Setup) -> None:
        self.services = setup.informer(SERVICES)
        self.pods = setup.informer(PODS)
        self.nodes = setup.informer(NODES)
        self.slices = setup.informer(ENDPOINT_SLICES)
        index_by_node(self.pods.cache)
        self.selections = Selections(self.services.cache, self.pods.cache, self.nodes.cache)
        self.managed = ManagedSlices(
            self.slices.cache, CONTROLLER, setup.writes("endpointslice", self.slices)
        )
        self._triggers = TriggerTimes()
        self._recorder = setup.recorder("endpoint-slice-controller")

    async def reconcile(self, request: Request) -> None:
        cached = self.services.cache.get(request.key)
        if cached is None:
            self._triggers.forget(request.key)  # its slices go with it
            return
        service = Service.read(cached)
        if service.selector is None:
            return
        pods = self.selections.pods_of(service)
        triggered_at = self._triggers.changed_at(service, pods)
        plan = plan_slices(service, pods, self.managed.of(request.key), self.selections.zone_of)
        _stamp(plan, triggered_at)
        try:
            await self.managed.write(plan, may_create=service.metadata.deletion_timestamp is None)
        except Conflict:
            raise
        except ClientError as error:
            note = f"Error updating Endpoint Slices for Service {request.key}: {error}"
            self._recorder.event(cached.object(), "Warning", "FailedToUpdateEndpointSlices", note)
            raise


def _stamp(plan: Plan, triggered_at: str) -> None:
    for one in [*plan.create, *plan.update]:
        metadata = one["metadata"]
        annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != TRIGGER_TIME}
        if triggered_at:
            annotations[TRIGGER_TIME] = triggered_at
        one["metadata"] = {**metadata, "annotations": annotations}
