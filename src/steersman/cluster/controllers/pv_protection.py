"""The PV protection controller: removes the finalizer of a deleted PersistentVolume when it is not bound."""

from __future__ import annotations

from typing import Final, cast

from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.kinds.types.core_v1 import PersistentVolume
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import PERSISTENT_VOLUMES
from steersman.runtime import Request, add_finalizer, remove_finalizer

__all__ = ["add"]

_FINALIZER: Final = "kubernetes.io/pv-protection"


def add(setup: Setup) -> None:
    volumes = setup.informer(PERSISTENT_VOLUMES)
    writes = setup.writes("pv-protection", volumes)

    async def reconcile(request: Request) -> None:
        cached = volumes.cache.get(request.key)
        if cached is None:
            return
        volume = cast("PersistentVolume", cached.object())
        if not is_deleting(volume):
            await add_finalizer(writes, PERSISTENT_VOLUMES, volume, _FINALIZER)
        elif volume["status"].get("phase") != "Bound":
            await remove_finalizer(writes, PERSISTENT_VOLUMES, volume, _FINALIZER)

    setup.controller("pv-protection", retrying_conflicts(reconcile)).primary(volumes)
