"""The StatefulSet controller: carries out the steps of `plan`, keeps ControllerRevisions and updates the
status.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from steersman.client import AlreadyExists, ClientError
from steersman.cluster.controllers.controller_revisions import (
    RevisionHistory,
    new_revision,
    revision_data,
    template_of,
)
from steersman.cluster.controllers.ownership import Claims, WakeOwners, selector_of
from steersman.cluster.controllers.pod_control import namespace_is_terminating, slow_start
from steersman.cluster.controllers.pod_states import PodState, matters_to_owner, next_availability_s
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.cluster.controllers.statefulset import identity
from steersman.cluster.controllers.statefulset.claim_control import ClaimControl
from steersman.cluster.controllers.statefulset.plan import PodStep, next_steps, sorted_out
from steersman.cluster.controllers.statefulset.status import stateful_status
from steersman.cluster.controllers.templates import fnv32, json_bytes, safe_encoded
from steersman.objects.kinds.types.apps_v1 import ControllerRevision, StatefulSet
from steersman.objects.kinds.types.core_v1 import Pod
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import (
    CONTROLLER_REVISIONS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    STATEFUL_SETS,
)
from steersman.runtime import Cached, Key, Request, Result, RetryPolicy

__all__ = ["add"]


#: So often steps follow from steps before others get a turn.
_MOST_ROUNDS = 10
_NAME_LENGTH = 223
_HASH_LABEL = "controller.kubernetes.io/hash"


def add(setup: Setup) -> None:
    sets = _StatefulSets(setup)
    controller = setup.controller(
        "statefulset", retrying_conflicts(sets.reconcile), concurrency=16, retry=RetryPolicy.client_go()
    )
    controller.primary(sets.sets).watches(sets.pods, sets.wake)

    sets.claims.on_released = sets.wake.on_release(controller)


@dataclass(frozen=True, slots=True)
class _Revisions:
    """The current and the update revision of a set."""

    current: ControllerRevision
    update: ControllerRevision
    collisions: int

    @property
    def current_name(self) -> str:
        name: str = self.current["metadata"]["name"]
        return name

    @property
    def update_name(self) -> str:
        name: str = self.update["metadata"]["name"]
        return name


class _StatefulSets:
    """Reconciles StatefulSets."""

    def __init__(self, setup: Setup) -> None:
        self.sets = setup.informer(STATEFUL_SETS)
        self.pods = setup.informer(PODS)
        volumes = setup.informer(PERSISTENT_VOLUME_CLAIMS)
        revisions = setup.informer(CONTROLLER_REVISIONS)
        self.wake = WakeOwners(self.sets.cache, STATEFUL_SETS, matters_to_owner)
        self.writes = setup.writes("statefulset", self.sets, self.pods, volumes, revisions)
        self.claims = Claims(setup.client, self.writes, STATEFUL_SETS, PODS, self.pods.cache)
        self._recorder = setup.recorder("statefulset-controller")
        self._history = RevisionHistory(setup.client, self.writes, STATEFUL_SETS, revisions)
        self._volumes = ClaimControl(self.writes, self._recorder, volumes.cache)
        self._clock = setup.clock

    async def reconcile(self, request: Request) -> Result | None:
        cached = self.sets.cache.get(request.key)
        if cached is None:
            return None
        stateful_set = cast("StatefulSet", cached.object())
        selector = selector_of(cached)
        history = await self._history.list(stateful_set, selector)
        revisions = await self._revisions(stateful_set, history)
        done, failed = True, None
        if not is_deleting(stateful_set):
            done, failed = await self._advance(cached, stateful_set, revisions)
        pods = await self._members(cached, stateful_set)
        now = moment(self._clock)
        status = stateful_status(
            stateful_set, pods, revisions.current_name, revisions.update_name, revisions.collisions, now
        )
        if status != stateful_set.get("status"):
            await self.writes.replace(STATEFUL_SETS, {**stateful_set, "status": status}, subresource="status")
        live = {status["currentRevision"], status["updateRevision"], *map(identity.revision_of, pods)}
        await self._truncate(stateful_set, history, live)
        if failed is not None:
            if namespace_is_terminating(failed):
                return None
            raise failed
        if not done:
            return Result.requeue(0)
        wait_s = next_availability_s(pods, stateful_set["spec"].get("minReadySeconds") or 0, now)
        return None if wait_s is None else Result.requeue(wait_s)

    async def _advance(
        self, cached: Cached, stateful_set: StatefulSet, revisions: _Revisions
    ) -> tuple[bool, ClientError | None]:
        """Do what can be done now. Whether that was all, and what went wrong."""
        for _ in range(_MOST_ROUNDS):
            pods = await self._members(cached, stateful_set)
            members = sorted_out(stateful_set, pods)
            storage = self._volumes.of(stateful_set)
            steps = next_steps(stateful_set, members, storage, revisions.update_name, moment(self._clock))
            if not steps:
                return True, None
            failed = await self._do(stateful_set, revisions, steps)
            if failed is not None:
                return False, failed
        return False, None

    async def _members(self, cached: Cached, stateful_set: StatefulSet) -> list[PodState]:
        claimed = await self.claims.claim(
            stateful_set,
            selector_of(cached),
            lambda pod: identity.is_member(stateful_set, pod.key.name),
        )
        return [PodState.read(pod) for pod in claimed]

    # --- history

    async def _revisions(self, stateful_set: StatefulSet, history: list[ControllerRevision]) -> _Revisions:
        """The current revision and the one to update to, which is made if it is new."""
        old_status = stateful_set.get("status") or {}
        collisions = old_status.get("collisionCount") or 0
        data = revision_data(stateful_set)
        number = history[-1]["revision"] + 1 if history else 1
        same = [one for one in history if one["data"] == data]
        if same and same[-1] is history[-1]:
            update = same[-1]
        elif same:
            update = await self._history.renumber(same[-1], number)
        else:
            update, collisions = await self._new_revision(stateful_set, number, collisions)
        wanted = old_status.get("currentRevision")
        current = next((one for one in history if one["metadata"]["name"] == wanted), update)
        return _Revisions(current, update, collisions)

    async def _new_revision(
        self, stateful_set: StatefulSet, number: int, collisions: int
    ) -> tuple[ControllerRevision, int]:
        content = json_bytes(revision_data(stateful_set))
        label = safe_encoded(fnv32(content + str(collisions).encode()))
        while True:
            hashed = safe_encoded(fnv32(content + str(collisions).encode()))
            name = f"{stateful_set['metadata']['name'][:_NAME_LENGTH]}-{hashed}"
            made = new_revision(stateful_set, STATEFUL_SETS, name, number, {_HASH_LABEL: label})
            if (created := await self._history.create(made)) is not None:
                return created, collisions
            collisions += 1

    async def _truncate(
        self, stateful_set: StatefulSet, history: list[ControllerRevision], live: set[str]
    ) -> None:
        limit = stateful_set["spec"].get("revisionHistoryLimit")
        if limit is not None and limit >= 0:
            await self._history.truncate(history, live, limit)

    # --- pods

    async def _do(
        self, stateful_set: StatefulSet, revisions: _Revisions, steps: Sequence[PodStep]
    ) -> ClientError | None:
        async def do(step: PodStep) -> None:
            await self._do_one(stateful_set, revisions, step)

        # A claim gets its owner before its pod goes.
        deletes = [step for step in steps if step.action == "delete"]
        others = [step for step in steps if step.action != "delete"]
        return await slow_start(others, do) or await slow_start(deletes, do)

    async def _do_one(self, stateful_set: StatefulSet, revisions: _Revisions, step: PodStep) -> None:
        name = identity.pod_name(stateful_set, step.ordinal)
        key = Key(stateful_set["metadata"]["namespace"], name)
        cached = self.pods.cache.get(key)
        volumes = self._volumes
        if step.action == "create":
            await self._create(stateful_set, revisions, step.ordinal)
        elif cached is None:
            return  # gone meanwhile
        elif step.action == "delete":
            await self._recording(
                stateful_set, "delete", name, self.writes.delete(PODS, key, cached.uid, propagation=None)
            )
        elif step.action == "claims":
            await volumes.create_missing(stateful_set, step.ordinal)
            await volumes.retain(stateful_set, cast("Pod", cached.object()))
        elif step.action == "retain":
            await volumes.retain(stateful_set, cast("Pod", cached.object()))
        else:
            await self._recording(
                stateful_set, "update", name, self._update(stateful_set, cached, step.ordinal)
            )

    async def _create(self, stateful_set: StatefulSet, revisions: _Revisions, ordinal: int) -> None:
        of_current = self._is_of_current(stateful_set, ordinal)
        revision = revisions.current if of_current else revisions.update
        template = template_of(revision)
        pod = identity.new_pod(stateful_set, template, revision["metadata"]["name"], ordinal)

        async def create() -> None:
            await self._volumes.create_missing(stateful_set, ordinal)
            created = await self.writes.create(PODS, pod)
            await self._volumes.retain(stateful_set, created)

        await self._recording(stateful_set, "create", pod["metadata"]["name"], create())

    @staticmethod
    def _is_of_current(stateful_set: StatefulSet, ordinal: int) -> bool:
        """Whether a missing pod is made again as it was, or at the revision to update to."""
        spec, first = stateful_set["spec"], identity.start(stateful_set)
        kept = identity.partition(stateful_set)
        if kept is not None:
            return ordinal < first + kept
        if (spec.get("updateStrategy") or {}).get("type") != "RollingUpdate":
            return False
        current = (stateful_set.get("status") or {}).get("currentReplicas") or 0
        return ordinal < first + current

    async def _update(self, stateful_set: StatefulSet, cached: Cached, ordinal: int) -> None:
        pod = cast("Pod", cached.object())
        if not identity.fits(stateful_set, PodState.read(cached)):
            await self._volumes.create_missing(stateful_set, ordinal)
            await self.writes.replace(PODS, identity.identified(stateful_set, pod))
        await self._volumes.retain(stateful_set, pod)

    async def _recording(self, stateful_set: StatefulSet, verb: str, pod: str, work: Any) -> None:
        """Do it, and tell how it went."""
        title, name = verb.capitalize(), stateful_set["metadata"]["name"]
        what = f"{title} Pod {pod} in StatefulSet {name}"
        try:
            await work
        except AlreadyExists:
            raise
        except ClientError as error:
            self._recorder.event(stateful_set, "Warning", f"Failed{title}", f"{what} failed error: {error}")
            raise
        self._recorder.event(stateful_set, "Normal", f"Successful{title}", f"{what} successful")
