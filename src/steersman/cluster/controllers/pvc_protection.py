"""The PVC protection controller: removes the finalizer of a deleted PersistentVolumeClaim when no pod uses
it.

It also keeps the condition Unused of bound claims.
"""

from __future__ import annotations

from typing import Final, cast

from steersman.client import NotFound
from steersman.cluster.controllers.pods_of_claims import ClaimUser, claims_of, index_by_claim, users_of
from steersman.cluster.controllers.reconciling import moment, retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.conditions import condition_patch, find_condition
from steersman.objects.kinds.types.core_v1 import PersistentVolumeClaim
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS, PODS
from steersman.objects.times import format_time
from steersman.runtime import Change, Key, Request, add_finalizer, remove_finalizer

__all__ = ["add"]


_FINALIZER: Final = "kubernetes.io/pvc-protection"
#: Status, reason and message of the condition, by whether a pod has use for the claim.
_UNUSED: Final = {
    True: ("False", "PodUsingPVC", "A pod is currently referencing this PVC"),
    False: ("True", "NoPodsUsingPVC", "No pods are currently referencing this PVC"),
}


def add(setup: Setup) -> None:
    _Claims(setup)


class _Claims:
    """Reconciles PersistentVolumeClaims."""

    def __init__(self, setup: Setup) -> None:
        claims, pods = setup.informer(PERSISTENT_VOLUME_CLAIMS), setup.informer(PODS)
        self._client = setup.client
        self._clock = setup.clock
        self._claims, self._pods = claims.cache, pods.cache
        self._writes = setup.writes("pvc-protection", claims)
        index_by_claim(self._pods)
        controller = setup.controller("pvc-protection", retrying_conflicts(self._reconcile))
        controller.primary(claims)
        controller.watches(pods, self._claims_of)

    def _claims_of(self, change: Change) -> set[Key]:
        states = [one for one in (change.old, change.new) if one is not None]
        return {Key(change.key.namespace, name) for state in states for name in claims_of(state)}

    async def _reconcile(self, request: Request) -> None:
        cached = self._claims.get(request.key)
        if cached is None:
            return
        claim = cast("PersistentVolumeClaim", cached.object())
        users = users_of(self._pods, request.key)
        if not is_deleting(claim):
            if claim["status"].get("phase") == "Bound":
                await self._set_unused_condition(request.key, claim, any(pod.needs(claim) for pod in users))
            await add_finalizer(self._writes, PERSISTENT_VOLUME_CLAIMS, claim, _FINALIZER)
            return
        if _FINALIZER not in (claim["metadata"].get("finalizers") or ()):
            return
        if any(pod.holds(claim) for pod in users) or await self._is_held(claim):
            return
        await remove_finalizer(self._writes, PERSISTENT_VOLUME_CLAIMS, claim, _FINALIZER)

    async def _is_held(self, claim: PersistentVolumeClaim) -> bool:
        """Ask the API: the cache may not have heard yet of the pod that matters."""
        pods = await self._client.list(PODS, claim["metadata"]["namespace"])
        return any(ClaimUser.of(pod).holds(claim) for pod in pods)

    async def _set_unused_condition(self, key: Key, claim: PersistentVolumeClaim, used: bool) -> None:
        status, reason, message = _UNUSED[used]
        told = find_condition(claim["status"].get("conditions"), "Unused")
        if told is not None and (told["status"] == "True") == (not used):
            return
        condition = {
            "type": "Unused",
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": format_time(moment(self._clock)),
        }
        changes = condition_patch(claim["status"].get("conditions"), condition)
        patch = {"metadata": {"uid": claim["metadata"]["uid"]}, "status": changes}
        try:
            await self._writes.patch(
                PERSISTENT_VOLUME_CLAIMS, key, patch, type="strategic", subresource="status"
            )
        except NotFound:
            return
