"""The ReplicaSet and ReplicationController controllers: create and delete pods until there are
`spec.replicas`.

Matching pods are adopted, others released; missing pods are created, surplus ones deleted in the order of
`deletion_order`; the status counts them. `replicaset` and `replicationcontroller` define the differences of
the two kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steersman.client import ClientError
from steersman.cluster.controllers.deletion_order import first_to_go
from steersman.cluster.controllers.ownership import Claims, WakeOwners, children, selector_of
from steersman.cluster.controllers.pod_control import BURST, PodControl, namespace_is_terminating
from steersman.cluster.controllers.pod_states import PodState, matters_to_owner, next_availability_s
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.replica_status import replica_status
from steersman.cluster.controllers.setup import Setup
from steersman.objects.lifetime import is_deleting
from steersman.objects.ownership import controlling_reference
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import PODS
from steersman.objects.selectors import LabelSelector
from steersman.runtime import Request, Requeue, Result, RetryPolicy
from steersman.runtime.cache import OWNER

__all__ = ["ReplicaKind", "add_replica_controller"]


@dataclass(frozen=True, slots=True)
class ReplicaKind:
    """The differences between ReplicaSets and ReplicationControllers."""

    #: The controller's name.
    name: str
    #: Who its events come from.
    component: str
    resource: ResourceType
    #: Whether the status tells of pods that are being deleted.
    counts_terminating: bool


def add_replica_controller(setup: Setup, kind: ReplicaKind) -> None:
    replicas = _Replicas(setup, kind)
    controller = setup.controller(
        kind.name, retrying_conflicts(replicas.reconcile), concurrency=32, retry=RetryPolicy.client_go()
    )
    controller.primary(replicas.owners).watches(replicas.pods, replicas.wake)
    replicas.claims.on_released = replicas.wake.on_release(controller)


class _Replicas:
    """Reconciles the owners of one kind."""

    def __init__(self, setup: Setup, kind: ReplicaKind) -> None:
        self.kind = kind
        self.owners = setup.informer(kind.resource)
        self.pods = setup.informer(PODS)
        self.wake = WakeOwners(self.owners.cache, kind.resource, matters_to_owner)
        self.writes = setup.writes(kind.name, self.owners, self.pods)
        self.claims = Claims(setup.client, self.writes, kind.resource, PODS, self.pods.cache)
        self._clock = setup.clock
        self._control = PodControl(self.writes, setup.recorder(kind.component), kind.resource)

    async def reconcile(self, request: Request) -> Result | None:
        cached = self.owners.cache.get(request.key)
        if cached is None:
            return None
        owner = cached.object()
        selector = selector_of(cached)
        deleting = is_deleting(owner)
        active, terminating = await self._claim(owner, selector, deleting)
        excess = 0 if deleting else len(active) - (owner["spec"].get("replicas") or 0)
        failed: ClientError | None = None
        if excess:
            failed = await self._manage(owner, active, excess)
            active, terminating = await self._claim(owner, selector, deleting)
        if failed is not None and namespace_is_terminating(failed):
            failed = None
        now = moment(self._clock)
        failure = str(failed) if failed is not None else None
        told = terminating if self.kind.counts_terminating else None
        status = replica_status(owner, active, told, failure, now)
        if status != owner.get("status"):
            await self.writes.replace(self.kind.resource, {**owner, "status": status}, subresource="status")
        if failed is not None:
            raise Requeue from failed
        if abs(excess) > BURST:
            return Result.requeue(0)
        min_ready_s = owner["spec"].get("minReadySeconds") or 0
        wait_s = next_availability_s(active, min_ready_s, now)
        return None if wait_s is None else Result.requeue(wait_s)

    async def _claim(
        self, owner: Mapping[str, Any], selector: LabelSelector, deleting: bool
    ) -> tuple[list[PodState], int]:
        """The active pods that are the owner's now, and how many more are being deleted."""
        active, terminating = [], 0
        for cached in children(self.pods.cache, owner["metadata"]["uid"]):
            pod = PodState.read(cached)
            matches = selector.matches(pod.labels)
            if not pod.active:
                terminating += pod.terminating and matches
            elif matches:
                active.append(pod)
            elif not deleting:
                await self.claims.release(owner, cached)
        if not deleting:
            found = self.claims.adoptable(owner["metadata"]["namespace"], selector)
            alive = [cached for cached in found if PodState.read(cached).active]
            active += map(PodState.read, await self.claims.adopt(owner, alive))
        return active, terminating

    async def _manage(
        self, owner: Mapping[str, Any], active: Sequence[PodState], excess: int
    ) -> ClientError | None:
        """Make or delete pods; returns what went wrong."""
        if excess < 0:
            template = owner["spec"]["template"]
            return await self._control.create_many(owner, [template] * min(-excess, BURST))
        related = self._related(owner) if excess < len(active) else ()
        chosen = first_to_go(active, min(excess, BURST), related, moment(self._clock))
        return await self._control.delete_many(owner, [(pod.key, pod.uid) for pod in chosen])

    def _related(self, owner: Mapping[str, Any]) -> list[PodState]:
        """The pods of all that have the same controller as this owner."""
        above = controlling_reference(owner)
        if above is None:
            return []
        siblings = [sibling.uid for sibling in self.owners.cache.by_index(OWNER, above["uid"])]
        return [PodState.read(pod) for uid in siblings for pod in children(self.pods.cache, uid)]
