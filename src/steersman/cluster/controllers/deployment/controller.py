"""The Deployment controller: creates a ReplicaSet per pod template and scales old and new ReplicaSets
(rolling update, recreate).

One reconcile goes as far as it can: it sees its own writes at once, and writes the status once, at the end. A
change of a pod or ReplicaSet triggers the next reconcile.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from steersman.client import AlreadyExists, ClientError
from steersman.cluster.controllers.deployment import progress, revisions, sizes
from steersman.cluster.controllers.deployment.revisions import REVISION
from steersman.cluster.controllers.ownership import (
    Claims,
    Ownership,
    WakeOwners,
    children,
    index_by_controller,
    selector_of,
)
from steersman.cluster.controllers.pod_control import namespace_is_terminating
from steersman.cluster.controllers.pod_states import PodState
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.cluster.controllers.templates import POD_TEMPLATE_HASH, same_template
from steersman.objects.kinds.types.apps_v1 import Deployment, DeploymentStatus, ReplicaSet
from steersman.objects.kinds.types.core_v1 import PodTemplateSpec
from steersman.objects.labels import annotations_of
from steersman.objects.lifetime import is_deleting
from steersman.objects.ownership import is_controlled_by
from steersman.objects.resources import DEPLOYMENTS, PODS, REPLICA_SETS
from steersman.runtime import Change, Key, Request, Requeue, Result, RetryPolicy

__all__ = ["add"]

#: More rounds than any rollout needs before it has to wait for pods.
_MOST_ROUNDS = 10


def add(setup: Setup) -> None:
    deployments = _Deployments(setup)
    controller = setup.controller(
        "deployment",
        retrying_conflicts(deployments.reconcile),
        concurrency=32,
        retry=RetryPolicy.client_go(),
    )
    controller.primary(deployments.deployments)
    controller.watches(deployments.sets, deployments.wake)
    controller.watches(
        deployments.pods, deployments.waiting_for, lambda change: change.new is None, reason="a pod is gone"
    )
    deployments.claims.on_released = deployments.wake.on_release(controller)


class _NamespaceGoes(Exception):
    """The namespace is terminating: no ReplicaSet can be created."""


class _Deployments:
    """Reconciles Deployments."""

    def __init__(self, setup: Setup) -> None:
        self.deployments = setup.informer(DEPLOYMENTS)
        self.sets = setup.informer(REPLICA_SETS)
        self.pods = setup.informer(PODS)
        index_by_controller(self.pods.cache)
        self.wake = WakeOwners(self.deployments.cache, DEPLOYMENTS)
        self.writes = setup.writes("deployment", self.deployments, self.sets)
        self.claims = Claims(setup.client, self.writes, DEPLOYMENTS, REPLICA_SETS, self.sets.cache)
        self.client = setup.client
        self.recorder = setup.recorder("deployment-controller")
        self._clock = setup.clock

    def waiting_for(self, change: Change) -> tuple[Key, ...]:
        """The Deployment that may wait for a pod to be gone before it makes new ones."""
        assert change.old is not None
        owner = Ownership.read(change.old).controller
        if owner is None or owner.kind != REPLICA_SETS.kind:
            return ()
        replica_set = self.sets.cache.get((change.key.namespace, owner.name))
        above = Ownership.read(replica_set).controller if replica_set is not None else None
        if above is None or above.kind != DEPLOYMENTS.kind:
            return ()
        deployment = self.deployments.cache.get((change.key.namespace, above.name))
        if deployment is None or sizes.is_rolling(cast("Deployment", deployment.object())):
            return ()
        return (deployment.key,)

    async def reconcile(self, request: Request) -> Result | None:
        cached = self.deployments.cache.get(request.key)
        if cached is None:
            return None
        deployment = cast("Deployment", cached.object())
        if deployment["spec"]["selector"] == {}:
            note = "This deployment is selecting all pods. A non-empty selector is required."
            self.recorder.event(deployment, "Warning", "SelectingAll", note)
            return None
        now = moment(self._clock)
        try:
            claimed = await self.claims.claim(deployment, selector_of(cached))
            rollout = _Rollout(self, deployment, [cast("ReplicaSet", one.object()) for one in claimed], now)
            return await rollout.run()
        except _NamespaceGoes:
            return None

    def pods_left(self, sets: list[ReplicaSet]) -> bool:
        """Whether any of these has a pod that may still run."""
        return any(
            not PodState.read(pod).terminal
            for one in sets
            for pod in children(self.pods.cache, one["metadata"]["uid"])
        )


class _Rollout:
    """One reconcile of one Deployment."""

    def __init__(
        self, context: _Deployments, deployment: Deployment, sets: list[ReplicaSet], now: datetime
    ) -> None:
        self._context = context
        self._deployment = deployment
        self._sets = {one["metadata"]["uid"]: one for one in sets}
        self._now = now
        #: As the API has it, to tell whether there is anything to write.
        self._stored = deployment.get("status") or {}, annotations_of(deployment).get(REVISION)

        new = revisions.find_new(deployment, sets)
        self._new_uid = new["metadata"]["uid"] if new is not None else ""

    @property
    def _new(self) -> ReplicaSet | None:
        """The ReplicaSet of the template as it is now."""
        return self._sets.get(self._new_uid)

    @property
    def _old(self) -> list[ReplicaSet]:
        return [one for uid, one in self._sets.items() if uid != self._new_uid]

    async def run(self) -> Result | None:
        deployment = self._deployment
        if is_deleting(deployment):
            await self._store(progress.counted(deployment, list(self._sets.values()), self._new, self._now))
            return None
        deployment["status"] = progress.pausing(deployment, self._now)
        if deployment["spec"].get("paused"):
            await self._update_new()
            await self._scale()
            await self._clean_up()
            await self._store(progress.counted(deployment, list(self._sets.values()), self._new, self._now))
            return None
        if revisions.ROLLBACK_TO in annotations_of(deployment) and await self._roll_back():
            return Result.requeue(0)
        await self._update_new()
        if self._was_scaled():
            await self._scale()
        if sizes.is_rolling(deployment):
            await self._roll()
        else:
            await self._recreate()
        status = progress.rolled_out(deployment, list(self._sets.values()), self._new, self._now)
        if progress.is_complete(deployment, status):
            await self._clean_up()
        await self._store(status)
        wait_s = progress.progress_check_s(deployment, status, self._now)
        return None if wait_s is None else Result.requeue(wait_s)

    # --- the newest ReplicaSet

    async def _update_new(self) -> None:
        """Bring the ReplicaSet of the template up to date, if there is one."""
        new = self._new
        if new is None:
            return
        deployment = self._deployment
        annotations = revisions.annotated(new, deployment, revisions.highest(self._old) + 1)
        min_ready_s = deployment["spec"].get("minReadySeconds")
        if annotations != annotations_of(new) or new["spec"].get("minReadySeconds") != min_ready_s:
            changed: ReplicaSet = {
                **new,
                "metadata": {**new["metadata"], "annotations": annotations},
                "spec": {**new["spec"], "minReadySeconds": min_ready_s or 0},
            }
            new = self._keep(await self._context.writes.replace(REPLICA_SETS, changed))
        self._set_revision(annotations_of(new).get(REVISION, ""))
        conditions = deployment["status"].get("conditions")
        if progress.has_deadline(deployment) and not any(
            condition["type"] == progress.PROGRESSING for condition in conditions or ()
        ):
            self._progress("True", "FoundNewReplicaSet", f'Found new replica set "{new["metadata"]["name"]}"')

    async def _make_new(self) -> ReplicaSet:
        deployment = self._deployment
        made = revisions.new_replica_set(deployment)
        revision = revisions.highest(self._sets.values()) + 1
        desired = sizes.wanted(deployment)
        made["spec"]["replicas"] = sizes.new_size(deployment, self._sets.values(), 0)
        made["metadata"]["annotations"] = revisions.with_replica_annotations(
            revisions.annotated(made, deployment, revision), desired, desired + sizes.max_surge(deployment)
        )
        try:
            new = await self._context.writes.create(REPLICA_SETS, made)
        except AlreadyExists:
            new = await self._existing(made["metadata"]["name"])
            self._set_revision(annotations_of(new).get(REVISION, ""))
            self._new_uid = new["metadata"]["uid"]
            return self._keep(new)
        except ClientError as error:
            await self._report_failure(made["metadata"]["name"], error)
            raise
        self._new_uid = new["metadata"]["uid"]
        name = new["metadata"]["name"]
        if count := sizes.size(new):
            self._event("Normal", "ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {count}")
        self._set_revision(str(revision))
        if progress.has_deadline(deployment):
            self._progress("True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
        return self._keep(new)

    async def _existing(self, name: str) -> ReplicaSet:
        """The ReplicaSet that has our name: ours after all, or one whose template has the same hash."""
        metadata = self._deployment["metadata"]
        found = await self._context.client.find(REPLICA_SETS, name, metadata["namespace"])
        if found is None:
            raise Requeue
        ours = is_controlled_by(found, metadata["uid"])
        if ours and same_template(found["spec"]["template"], self._deployment["spec"]["template"]):
            return cast("ReplicaSet", found)
        status = self._deployment["status"]
        await self._store({**status, "collisionCount": (status.get("collisionCount") or 0) + 1})
        raise Requeue(0)

    async def _report_failure(self, name: str, error: ClientError) -> None:
        if namespace_is_terminating(error):
            raise _NamespaceGoes from error
        message = f'Failed to create new replica set "{name}": {error}'
        self._event("Warning", "ReplicaSetCreateError", message)
        if progress.has_deadline(self._deployment):
            self._progress("False", "ReplicaSetCreateError", message)
            await self._store(self._deployment["status"])

    # --- shifting pods

    async def _roll(self) -> None:
        deployment = self._deployment
        new = self._new or await self._make_new()
        for _ in range(_MOST_ROUNDS):
            desired = sizes.wanted(deployment)
            target = desired
            if sizes.size(new) < desired:
                target = sizes.new_size(deployment, self._sets.values(), sizes.size(new))
            if target != sizes.size(new):
                new = await self._resize(new, target)
                continue
            smaller = sizes.old_sizes(deployment, new, self._old)
            if not smaller:
                return
            for one, count in smaller:
                await self._resize(one, count)

    async def _recreate(self) -> None:
        """All old pods go before the first new one comes."""
        old = self._old
        shrinking = sizes.active(old)
        for one in shrinking:
            await self._resize(one, 0)
        if shrinking or any((one.get("status") or {}).get("replicas") for one in old):
            return
        if self._context.pods_left(old):
            return
        new = self._new or await self._make_new()
        if sizes.size(new) != sizes.wanted(self._deployment):
            await self._resize(new, sizes.wanted(self._deployment))

    def _was_scaled(self) -> bool:
        """Whether the Deployment was scaled since its ReplicaSets were: that is no rollout."""
        desired = sizes.wanted(self._deployment)
        return any(
            revisions.number_in(one, revisions.DESIRED_REPLICAS) not in (None, desired)
            for one in sizes.active(self._sets.values())
        )

    async def _scale(self) -> None:
        deployment = self._deployment
        new, old = self._new, self._old
        only = sizes.only_one_to_scale(new, old)
        if only is not None:
            changes = [(only, sizes.wanted(deployment))]
        elif sizes.is_saturated(deployment, new):
            changes = [(one, 0) for one in sizes.active(old)]
        elif sizes.is_rolling(deployment):
            changes = sizes.proportional_sizes(deployment, self._sets.values())
        else:
            return
        for one, count in changes:
            await self._resize(one, count)

    async def _resize(self, replica_set: ReplicaSet, count: int) -> ReplicaSet:
        """Give a ReplicaSet another size, and note what the Deployment's was then."""
        before = sizes.size(replica_set)
        desired = sizes.wanted(self._deployment)
        most = desired + sizes.max_surge(self._deployment)
        annotations = revisions.with_replica_annotations(annotations_of(replica_set), desired, most)
        if count == before and annotations == annotations_of(replica_set):
            return replica_set
        changed: ReplicaSet = {
            **replica_set,
            "metadata": {**replica_set["metadata"], "annotations": annotations},
            "spec": {**replica_set["spec"], "replicas": count},
        }
        resized = self._keep(await self._context.writes.replace(REPLICA_SETS, changed))
        if count != before:
            way = "up" if count > before else "down"
            name = replica_set["metadata"]["name"]
            note = f"Scaled {way} replica set {name} from {before} to {count}"
            self._event("Normal", "ScalingReplicaSet", note)
        return resized

    async def _clean_up(self) -> None:
        for one in revisions.history_to_delete(self._deployment, self._old):
            metadata = one["metadata"]
            key = Key(metadata["namespace"], metadata["name"])
            await self._context.writes.delete(REPLICA_SETS, key, metadata["uid"])
            del self._sets[metadata["uid"]]

    # --- rolling back by annotation, as clients of the first API versions ask

    async def _roll_back(self) -> bool:
        """Put the template of another revision in place. False if nothing sensible was asked for."""
        deployment = self._deployment
        asked = annotations_of(deployment)[revisions.ROLLBACK_TO]
        if not asked.lstrip("+-").isdecimal():
            return False
        await self._update_new()
        if self._new is None:
            await self._make_new()
        name = deployment["metadata"]["name"]
        wanted = int(asked) or revisions.last_but_one(self._sets.values())
        found = [one for one in self._sets.values() if wanted and revisions.revision_of(one) == wanted]
        annotations = dict(annotations_of(deployment))
        spec = deployment["spec"]
        if not found:
            missing = "the revision to rollback to" if int(asked) else "last revision"
            self._event("Warning", "DeploymentRollbackRevisionNotFound", f"Unable to find {missing}.")
        elif same_template(found[0]["spec"]["template"], spec["template"]):
            note = f'The rollback revision contains the same template as current deployment "{name}"'
            self._event("Warning", "DeploymentRollbackTemplateUnchanged", note)
        else:
            spec = {**spec, "template": _without_hash(found[0]["spec"]["template"])}
            shared = revisions.uncopied(annotations_of(found[0]), own=False)
            annotations = {**revisions.uncopied(annotations, own=True), **shared}
            note = f'Rolled back deployment "{name}" to revision {wanted}'
            self._event("Normal", "DeploymentRollback", note)
        del annotations[revisions.ROLLBACK_TO]
        metadata = {**deployment["metadata"], "annotations": annotations}
        await self._context.writes.replace(DEPLOYMENTS, {**deployment, "metadata": metadata, "spec": spec})
        return True

    # --- noting

    def _keep(self, replica_set: ReplicaSet) -> ReplicaSet:
        self._sets[replica_set["metadata"]["uid"]] = replica_set
        return replica_set

    def _set_revision(self, revision: str) -> None:
        metadata = self._deployment["metadata"]
        metadata["annotations"] = {**annotations_of(self._deployment), REVISION: revision}

    def _progress(self, value: str, reason: str, message: str) -> None:
        self._deployment["status"] = progress.with_progress(
            self._deployment, value, reason, message, self._now
        )

    def _event(self, kind: Any, reason: str, note: str) -> None:
        self._context.recorder.event(self._deployment, kind, reason, note)

    async def _store(self, status: DeploymentStatus) -> None:
        """Write the status, and the revision with it, if they are new."""
        if (status, annotations_of(self._deployment).get(REVISION)) == self._stored:
            return
        changed = {**self._deployment, "status": status}
        await self._context.writes.replace(DEPLOYMENTS, changed, subresource="status")


def _without_hash(template: PodTemplateSpec) -> PodTemplateSpec:
    metadata = template.get("metadata") or {}
    labels = dict(metadata.get("labels") or {})
    labels.pop(POD_TEMPLATE_HASH, None)
    return {**template, "metadata": {**metadata, "labels": labels}}
