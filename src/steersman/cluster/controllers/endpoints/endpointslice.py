"""The EndpointSlice controller: keeps the EndpointSlices of Services with a selector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from steersman.client import ClientError, Conflict
from steersman.cluster.controllers.endpoints.service_slices import CONTROLLER, plan_slices
from steersman.cluster.controllers.endpoints.services import SelectingService, Selections
from steersman.cluster.controllers.endpoints.slice_writing import ManagedSlices
from steersman.cluster.controllers.endpoints.slices import SlicePlan
from steersman.cluster.controllers.endpoints.trigger_times import TRIGGER_TIME, TriggerTimes
from steersman.cluster.controllers.endpoints.zone_hints import (
    DISABLED,
    ENABLED,
    Hinting,
    asks_for_hints,
    node_share,
    zone_ratios,
)
from steersman.cluster.controllers.pods_on_nodes import index_by_node
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.resources import ENDPOINT_SLICES, NODES, PODS, SERVICES
from steersman.runtime import Cached, Change, Key, Request, RetryPolicy

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
    controller.watches(slices.nodes, slices.on_node)
    controller.watches(slices.slices, slices.managed.on_slice)


class _ServiceSlices:
    """Reconciles the EndpointSlices of Services."""

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
        #: Services that have asked for hints, and whether their endpoints have them.
        self._hinted: dict[Key, bool] = {}

    async def reconcile(self, request: Request) -> None:
        cached = self.services.cache.get(request.key)
        if cached is None:
            self._triggers.forget(request.key)  # its slices go with it
            self._hinted.pop(request.key, None)
            return
        service = SelectingService.read(cached)
        if service.selector is None:
            return
        pods = self.selections.pods_of(service)
        triggered_at = self._triggers.changed_at(service, pods)
        hinting = self._hinting(service)
        plan = plan_slices(service, pods, self.managed.of(request.key), self.selections.zone_of, hinting)
        _stamp(plan, triggered_at)
        try:
            await self.managed.write(plan, may_create=service.metadata.deletion_timestamp is None)
        except Conflict:
            raise
        except ClientError as error:
            note = f"Error updating Endpoint Slices for Service {request.key}: {error}"
            self._recorder.event(cached.object(), "Warning", "FailedToUpdateEndpointSlices", note)
            raise
        finally:
            self._report_hints(cached, service, hinting)

    def on_node(self, change: Change) -> Iterable[Key]:
        """Also the services whose hints depend on what nodes there are."""
        hinted = self._hinted if self._hinted and _counts_otherwise(change) else ()
        return {*self.selections.on_node(change), *hinted}

    def _hinting(self, service: SelectingService) -> Hinting | None:
        if not asks_for_hints(service.annotations):
            return None
        shares = (node_share(node.data) for node in self.nodes.cache)
        return Hinting(zone_ratios(share for share in shares if share is not None))

    def _report_hints(self, cached: Cached, service: SelectingService, hinting: Hinting | None) -> None:
        had = self._hinted.pop(cached.key, False)
        if hinting is None:
            for family in service.families if had else ():
                self._record_hints(cached, "Disabled", f"{DISABLED}, addressType: {family}")
            return
        for family, problem in hinting.problems.items():
            if problem:
                self._record_hints(cached, "Disabled", f"{problem}, addressType: {family}")
            elif not had:
                self._record_hints(cached, "Enabled", f"{ENABLED}, addressType: {family}")
        self._hinted[cached.key] = not all(hinting.problems.values())

    def _record_hints(self, cached: Cached, what: Literal["Enabled", "Disabled"], note: str) -> None:
        kind: Literal["Normal", "Warning"] = "Normal" if what == "Enabled" else "Warning"
        self._recorder.event(cached.object(), kind, f"TopologyAwareHints{what}", note)


def _counts_otherwise(change: Change) -> bool:
    """Whether a node's share of its zone is another one now."""
    old, new = (None if one is None else node_share(one.data) for one in (change.old, change.new))
    return old != new


def _stamp(plan: SlicePlan, triggered_at: str) -> None:
    for one in [*plan.create, *plan.update]:
        metadata = one["metadata"]
        annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != TRIGGER_TIME}
        if triggered_at:
            annotations[TRIGGER_TIME] = triggered_at
        one["metadata"] = {**metadata, "annotations": annotations}
