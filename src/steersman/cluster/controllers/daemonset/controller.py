"""The DaemonSet controller: creates a pod on every eligible node, rolls out new templates and keeps
ControllerRevisions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from steersman.client import ClientError
from steersman.cluster.controllers.controller_revisions import (
    REVISION_LABEL,
    RevisionHistory,
    new_revision,
    revision_data,
)
from steersman.cluster.controllers.daemonset.failed_pods import FailedPods
from steersman.cluster.controllers.daemonset.placement import DaemonNodeState, pinned, tolerations
from steersman.cluster.controllers.daemonset.rollout import (
    GENERATION_ANNOTATION,
    GENERATION_LABEL,
    Changes,
    DaemonSetView,
    daemon_status,
    placed,
    updated,
)
from steersman.cluster.controllers.ownership import Claims, WakeOwners, children, selector_of
from steersman.cluster.controllers.pod_control import PodControl, namespace_is_terminating
from steersman.cluster.controllers.pod_states import PodState, matters_to_owner, next_availability_s
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.cluster.controllers.templates import template_hash
from steersman.objects.kinds.types.apps_v1 import ControllerRevision, DaemonSet
from steersman.objects.kinds.types.core_v1 import PodTemplateSpec
from steersman.objects.kinds.types.meta_v1 import ObjectMeta
from steersman.objects.labels import annotations_of
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from steersman.runtime import Cached, Change, Key, Request, Requeue, Result, RetryPolicy

__all__ = ["add"]


#: How many pods of one set are made or deleted in one go.
_BURST = 250
_MOST_ROUNDS = 10
#: A set with a pod on every node hears of a lot at once; it is looked at as a whole.
_MIN_INTERVAL_S = 0.1


def add(setup: Setup) -> None:
    sets = _DaemonSets(setup)
    controller = setup.controller(
        "daemonset",
        retrying_conflicts(sets.reconcile),
        concurrency=8,
        retry=RetryPolicy.client_go(),
        min_interval_s=_MIN_INTERVAL_S,
    )
    controller.primary(sets.sets).watches(sets.pods, sets.wake)
    controller.watches(sets.nodes, sets.all_sets, _concerns_placement)

    sets.claims.on_released = sets.wake.on_release(controller)


def _concerns_placement(change: Change) -> bool:
    """Nodes report their health all the time; only labels and taints decide where pods run."""
    if change.old is None or change.new is None:
        return True
    return DaemonNodeState.read(change.old) != DaemonNodeState.read(change.new)


class _DaemonSets:
    """Reconciles DaemonSets."""

    def __init__(self, setup: Setup) -> None:
        self.sets = setup.informer(DAEMON_SETS)
        self.pods = setup.informer(PODS)
        self.nodes = setup.informer(NODES)
        revisions = setup.informer(CONTROLLER_REVISIONS)
        self.wake = WakeOwners(self.sets.cache, DAEMON_SETS, matters_to_owner)
        self.writes = setup.writes("daemonset", self.sets, self.pods, revisions)
        self.claims = Claims(setup.client, self.writes, DAEMON_SETS, PODS, self.pods.cache)
        self._recorder = setup.recorder("daemonset-controller")
        self._control = PodControl(self.writes, self._recorder, DAEMON_SETS)
        self._history = RevisionHistory(setup.client, self.writes, DAEMON_SETS, revisions)
        self._failed = FailedPods()
        self._clock = setup.clock
        #: Nodes as they were read last, by name.
        self._read: dict[str, tuple[Cached, DaemonNodeState]] = {}

    def all_sets(self, change: Change) -> list[Key]:
        return self.sets.cache.keys()

    async def reconcile(self, request: Request) -> Result | None:
        cached = self.sets.cache.get(request.key)
        if cached is None:
            return None
        daemon_set = cast("DaemonSet", cached.object())
        if daemon_set["spec"]["selector"] == {}:
            note = "This daemon set is selecting all pods. A non-empty selector is required."
            self._recorder.event(daemon_set, "Warning", "SelectingAll", note)
            return None
        if is_deleting(daemon_set):
            return None  # its history may be gone before its pods are
        return await self._reconcile(cached, daemon_set)

    async def _reconcile(self, cached: Cached, daemon_set: DaemonSet) -> Result | None:
        current, old = await self._revisions(cached, daemon_set)
        revision = current["metadata"]["labels"][REVISION_LABEL]
        waits: list[float] = []
        failed = None
        for _ in range(_MOST_ROUNDS):
            view = await self._view(cached, daemon_set, revision)
            waits = []
            changes = placed(view, self._may_replace(daemon_set, waits)) or updated(view)
            if not changes:
                break
            failed = await self._do(daemon_set, revision, changes)
            if failed is not None:
                view = await self._view(cached, daemon_set, revision)
                break
        else:
            waits.append(0)
        await self._truncate(daemon_set, old)
        old_status = daemon_set.get("status") or {}
        status = daemon_status(view, old_status, daemon_set["metadata"].get("generation", 0))
        if status != old_status:
            await self.writes.replace(DAEMON_SETS, {**daemon_set, "status": status}, subresource="status")
        if failed is not None:
            if namespace_is_terminating(failed):
                return None
            raise failed
        min_ready_s = daemon_set["spec"].get("minReadySeconds") or 0
        pods = (pod for pods in view.pods.values() for pod in pods)
        if (wait_s := next_availability_s(pods, min_ready_s, view.now)) is not None:
            waits.append(wait_s)
        return Result.requeue(min(waits)) if waits else None

    async def _view(self, cached: Cached, daemon_set: DaemonSet, revision: str) -> DaemonSetView:
        claimed = await self.claims.claim(daemon_set, selector_of(cached))
        now = moment(self._clock)
        return DaemonSetView(daemon_set, revision, self._nodes(), map(PodState.read, claimed), now)

    def _nodes(self) -> list[DaemonNodeState]:
        """All nodes; those that have not changed are not read again."""
        known, self._read = self._read, {}
        for cached in self.nodes.cache:
            entry = known.get(cached.key.name)
            if entry is None or entry[0] is not cached:
                entry = cached, DaemonNodeState.read(cached)
            self._read[cached.key.name] = entry
        return [node for _, node in self._read.values()]

    def _may_replace(self, daemon_set: DaemonSet, waits: list[float]) -> Callable[[str], bool]:
        """Whether a node's failed pod may go; if not, how long that takes is added to `waits`."""
        uid = daemon_set["metadata"]["uid"]
        generation = (daemon_set.get("status") or {}).get("observedGeneration") or 0

        def may_replace(node: str) -> bool:
            wait_s = self._failed.wait_s(uid, generation, node, self._clock.monotonic())
            if wait_s:
                waits.append(wait_s)
            return not wait_s

        return may_replace

    async def _do(self, daemon_set: DaemonSet, revision: str, changes: Changes) -> ClientError | None:
        for pod, node in changes.ended:
            ended = pod.phase.lower()
            then = "kill" if pod.phase == "Failed" else "delete"
            note = f"Found {ended} daemon pod {pod.key} on node {node}, will try to {then} it"
            level: Any = "Warning" if pod.phase == "Failed" else "Normal"
            self._recorder.event(daemon_set, level, f"{pod.phase}DaemonPod", note)
        templates = [_template(daemon_set, revision, node) for node in changes.create[:_BURST]]
        failed = await self._control.create_many(daemon_set, templates)
        doomed = [(pod.key, pod.uid) for pod in changes.delete[:_BURST]]
        return failed or await self._control.delete_many(daemon_set, doomed)

    # --- history

    async def _revisions(
        self, cached: Cached, daemon_set: DaemonSet
    ) -> tuple[ControllerRevision, list[ControllerRevision]]:
        """The revision of the template as it is, made if it is new, and the others."""
        history = await self._history.list(daemon_set, selector_of(cached))
        history = [await self._labelled(one) for one in history]
        data = revision_data(daemon_set)
        same = [one for one in history if one["data"] == data]
        old = [one for one in history if one["data"] != data]
        number = max((one["revision"] for one in old), default=0) + 1
        if not same:
            return await self._new_revision(daemon_set, number), old
        current = same[-1]
        for duplicate in same[:-1]:
            await self._relabel_pods(daemon_set, current)
            await self._history.delete(duplicate)
        if current["revision"] < number:
            current = await self._history.renumber(current, number)
        return current, old

    async def _labelled(self, revision: ControllerRevision) -> ControllerRevision:
        metadata = revision["metadata"]
        labels = metadata.get("labels") or {}
        if REVISION_LABEL in labels:
            return revision
        labelled: ObjectMeta = {**metadata, "labels": {**labels, REVISION_LABEL: metadata["name"]}}
        return await self.writes.replace(CONTROLLER_REVISIONS, {**revision, "metadata": labelled})

    async def _relabel_pods(self, daemon_set: DaemonSet, current: ControllerRevision) -> None:
        revision = current["metadata"]["labels"][REVISION_LABEL]
        for pod in children(self.pods.cache, daemon_set["metadata"]["uid"]):
            if pod.labels().get(REVISION_LABEL) != revision:
                await self.writes.patch(PODS, pod.key, {"metadata": {"labels": {REVISION_LABEL: revision}}})

    async def _new_revision(self, daemon_set: DaemonSet, number: int) -> ControllerRevision:
        status = daemon_set.get("status") or {}
        collisions = status.get("collisionCount")
        hashed = template_hash(daemon_set["spec"]["template"], collisions)
        name = f"{daemon_set['metadata']['name']}-{hashed}"
        made = new_revision(daemon_set, DAEMON_SETS, name, number, {REVISION_LABEL: hashed})
        created = await self._history.create(made)
        if created is None:
            status = {**status, "collisionCount": (collisions or 0) + 1}
            await self.writes.replace(DAEMON_SETS, {**daemon_set, "status": status}, subresource="status")
            raise Requeue(0)
        return created

    async def _truncate(self, daemon_set: DaemonSet, old: list[ControllerRevision]) -> None:
        limit = daemon_set["spec"].get("revisionHistoryLimit")
        if limit is None or len(old) <= limit:
            return
        pods = children(self.pods.cache, daemon_set["metadata"]["uid"])
        live = {pod.labels().get(REVISION_LABEL, "") for pod in pods}
        await self._history.truncate(old, live, limit, REVISION_LABEL)


def _template(daemon_set: DaemonSet, revision: str, node: str) -> PodTemplateSpec:
    """The template of one node's pod."""
    template = daemon_set["spec"]["template"]
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), REVISION_LABEL: revision}
    generation = annotations_of(daemon_set).get(GENERATION_ANNOTATION)
    if generation is not None:
        labels[GENERATION_LABEL] = generation
    spec = template["spec"]
    return {
        "metadata": {**metadata, "labels": labels},
        "spec": {**spec, "tolerations": tolerations(spec), "affinity": pinned(spec.get("affinity"), node)},
    }
