"""The volume expand controller: writes the event ExternalExpanding for claims that request a larger size; an
external resizer does the rest.
"""

from __future__ import annotations

from typing import cast

from steersman.cluster.controllers.setup import Setup
from steersman.cluster.controllers.volumes.growth import wants_more
from steersman.objects.kinds.types.core_v1 import PersistentVolume, PersistentVolumeClaim
from steersman.objects.labels import annotations_of
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from steersman.objects.volume_claims import PROVISIONED_BY
from steersman.runtime import Change, Request, RetryPolicy

__all__ = ["add"]


def add(setup: Setup) -> None:
    expander = _Expander(setup)
    controller = setup.controller(
        "persistentvolume-expander", expander.reconcile, retry=RetryPolicy.client_go()
    )
    controller.watches(expander.claims, lambda change: (change.key,), _asks_for_more)


def _asks_for_more(change: Change) -> bool:
    if change.new is None:
        return False
    claim = cast("PersistentVolumeClaim", change.new.object())
    if not wants_more(claim):
        return False
    return change.old is None or change.old.object()["spec"].get("resources") != claim["spec"].get(
        "resources"
    )


class _Expander:
    """Reconciles claims that request more than they have."""

    def __init__(self, setup: Setup) -> None:
        self.claims = setup.informer(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = setup.informer(PERSISTENT_VOLUMES)
        self._recorder = setup.recorder("volume_expand")

    async def reconcile(self, request: Request) -> None:
        cached = self.claims.cache.get(request.key)
        if cached is None:
            return
        claim = cast("PersistentVolumeClaim", cached.object())
        found = self._volumes.cache.get(("", claim["spec"].get("volumeName") or ""))
        if found is None or not wants_more(claim):
            return
        volume = cast("PersistentVolume", found.object())
        expected = "csi" in volume["spec"] or PROVISIONED_BY in annotations_of(volume)
        note = "waiting for an external controller to expand this PVC"
        self._recorder.event(claim, "Normal" if expected else "Warning", "ExternalExpanding", note)
