"""Workloads from custom resources: what a tenant's own say is run beside what the file says.

Every controller of the tenant follows them; its leader also answers: a finalizer holds an object until its
workload has stopped and is taken away, the status says how it is. An object that makes no sense leaves what
runs as it was, and says so in its status. Where the file has a workload of the same kind and name, the file's
counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from steersman.aio import Clock, wait_for_event
from steersman.client import Client, ClientError
from steersman.highlander.config.specs import CronJobSpec, WorkloadSpec
from steersman.highlander.live import LiveObjects
from steersman.highlander.resources import RESOURCES, Workload
from steersman.highlander.state import WorkloadPhase, WorkloadState
from steersman.highlander.stopping import is_stopped
from steersman.highlander.tenant import Tenant
from steersman.highlander.workloads.ownership import WorkloadKey
from steersman.objects.conditions import set_condition
from steersman.objects.custom import InvalidObjectError
from steersman.objects.kinds import Object
from steersman.objects.labels import labels_of
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import CRON_JOBS, DEPLOYMENTS, PODS, STATEFUL_SETS
from steersman.objects.times import format_time
from steersman.runtime import Change, Key, Writes, add_finalizer, remove_finalizer

__all__ = ["FINALIZER", "CustomWorkloads"]

_log = logging.getLogger(__name__)

FINALIZER = "highlander.steersman.dev/stop"

#: After a request that failed.
_RETRY_S = 2.0
_MAIN = (PODS, CRON_JOBS, DEPLOYMENTS, STATEFUL_SETS)


class CustomWorkloads:
    """One tenant's. `live` must look at all namespaces."""

    def __init__(self, tenant: Tenant, client: Client, live: LiveObjects, clock: Clock) -> None:
        self._tenant = tenant
        self._live = live
        self._clock = clock
        self._changed = asyncio.Event()
        #: What an object said last that made sense.
        self._good: dict[WorkloadKey, WorkloadSpec] = {}
        self._informers = {kind: live.informers.get(kind) for kind in RESOURCES}
        caches = {kind.resource_type: informer.cache for kind, informer in self._informers.items()}
        self._writes = Writes(client, FINALIZER, caches.get)
        for informer in self._informers.values():
            informer.add_handler(self._look_soon)

    def close(self) -> None:
        """Hear of nothing any more."""
        for informer in self._informers.values():
            informer.remove_handler(self._look_soon)

    def _look_soon(self, _: Change) -> None:
        self._changed.set()

    async def run(self) -> None:
        end = self._tenant.board.subscribe(lambda what, _: self._changed.set())
        try:
            while True:
                self._changed.clear()
                wait_s: float | None = None
                try:
                    # What is being taken away is looked at again: nobody tells of its last object here.
                    wait_s = _RETRY_S if await self._look() else None
                except ClientError as error:
                    _log.warning("custom resources of tenant %s: %s", self._tenant.name, error)
                    wait_s = _RETRY_S
                await wait_for_event(self._changed, self._clock, wait_s)
        finally:
            end()

    async def _look(self) -> bool:
        """Bring the tenant's workloads to what the objects say; as the leader, answer each of them.

        Whether some are being taken away.
        """
        specs: dict[WorkloadKey, WorkloadSpec] = {}
        known: list[tuple[type[Workload], Object, WorkloadKey, str]] = []
        for kind, informer in self._informers.items():
            for cached in informer.cache:
                obj = cached.object()
                key = _key_of(kind, obj)
                if _tenant_of(obj) != self._tenant.name and key not in self._tenant.references:
                    continue
                problem = self._read(kind, obj, key)
                known.append((kind, obj, key, problem))
                if not is_deleting(obj) and key in self._good:
                    specs[key] = self._good[key]
        self._good = {key: spec for key, spec in self._good.items() if key in {each[2] for each in known}}
        self._tenant.add_workloads(specs)
        for kind, obj, key, problem in known:
            if not self._tenant.leads:
                return False
            await self._answer(kind, obj, key, problem)
        return any(is_deleting(obj) for _, obj, _, _ in known)

    def _read(self, kind: type[Workload], obj: Object, key: WorkloadKey) -> str:
        """Take it over; what is wrong with it if that cannot be."""
        try:
            spec: WorkloadSpec = kind.from_object(obj).spec
        except InvalidObjectError as error:
            return str(error)
        if not spec.image:
            return "spec.image: a workload needs an image"
        if isinstance(spec, CronJobSpec) and not spec.schedule:
            return "spec.schedule: a cron job needs a schedule"
        self._good[key] = spec.model_copy(update={"name": key.name, "namespace": key.namespace})
        return ""

    async def _answer(self, kind: type[Workload], obj: Object, key: WorkloadKey, problem: str) -> None:
        resource = kind.resource_type
        if is_deleting(obj):
            if self._is_gone(key):
                await remove_finalizer(self._writes, resource, obj, FINALIZER)
            return
        held = await add_finalizer(self._writes, resource, obj, FINALIZER)
        if held is None:
            return
        obj = held
        state = self._tenant.board.workloads.get(str(key))
        now = format_time(datetime.fromtimestamp(self._clock.wall(), UTC))
        status = _status(obj, state, problem, self._tenant.board.controller.id, now)
        if status != (obj.get("status") or {}):
            await self._writes.patch(resource, Key.of(obj), {"status": status}, subresource="status")

    def _is_gone(self, key: WorkloadKey) -> bool:
        if key in self._tenant.specs:
            # The file has it too: it is not this object's to take away.
            return True
        name = self._tenant.name
        return is_stopped(self._live, name, key) and not any(
            self._live.of_workload(resource, name, key) for resource in _MAIN
        )


def _key_of(kind: type[Workload], obj: Object) -> WorkloadKey:
    spec_type: type[WorkloadSpec] = kind.model_fields["spec"].annotation  # type: ignore[assignment]
    metadata = obj["metadata"]
    return WorkloadKey(spec_type.kind, metadata["namespace"], metadata["name"])


def _tenant_of(obj: Mapping[str, Any]) -> str:
    """Whose an object is: what its spec says, or its label, or the default tenant's."""
    labels = labels_of(obj)
    return (obj.get("spec") or {}).get("tenant") or labels.get("tenant") or "default"


def _status(
    obj: Mapping[str, Any], state: WorkloadState | None, problem: str, controller: str, now: str
) -> Object:
    old = obj.get("status") or {}
    generation = obj["metadata"].get("generation", 0)
    phase = state.phase if state is not None else WorkloadPhase.PENDING
    ready = state is not None and state.ready and not problem
    reason = "Invalid" if problem else "".join(word.capitalize() for word in str(phase).split("-"))
    error = problem or (state.last_error if state is not None else "")
    conditions = set_condition(
        old.get("conditions"),
        "Ready",
        str(ready),
        reason=reason,
        message=error,
        observed_generation=generation,
        now=now,
    )
    return {
        "phase": str(phase),
        "ready": ready,
        "restarts": state.restarts if state is not None else 0,
        "epoch": state.epoch if state is not None else 0,
        "controller": controller,
        "lastError": error,
        "observedGeneration": generation,
        "conditions": list(conditions),
    }
