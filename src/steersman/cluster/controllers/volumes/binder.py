"""The persistent volume binder: binds PersistentVolumeClaims to PersistentVolumes.

It is two controllers: one reconciles claims, one at a time so that no two of them choose the same volume, the
other reconciles volumes. Each is triggered by the writes of the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import msgspec

from steersman.cluster.controllers.pods_of_claims import index_by_claim
from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.cluster.controllers.volumes.claim_sync import ClaimSync
from steersman.cluster.controllers.volumes.claims_and_volumes import ClaimsAndVolumes
from steersman.cluster.controllers.volumes.volume_sync import VolumeSync
from steersman.objects.kinds.types.core_v1 import PersistentVolume
from steersman.objects.kinds.views.volumes import ClaimedVolumeView, ClaimVolumeView
from steersman.objects.resources import PODS
from steersman.objects.volume_claims import class_of, phase_of
from steersman.runtime import Change, Key, RetryPolicy

__all__ = ["add"]


def add(setup: Setup) -> None:
    pods = setup.informer(PODS)
    index_by_claim(pods.cache)
    storage = ClaimsAndVolumes(setup, "persistentvolume-binder")
    waking = _Waking(storage)
    claims = setup.controller(
        "persistentvolume-binder",
        retrying_conflicts(ClaimSync(storage, pods.cache).reconcile),
        concurrency=1,
        retry=RetryPolicy.client_go(),
    )
    claims.primary(storage.claims)
    claims.watches(storage.volumes, waking.claims_of_volume)
    claims.watches(storage.classes, waking.claims_of_class)
    of_volumes = ClaimsAndVolumes(setup, "persistentvolume-binder-volumes")
    volumes = setup.controller(
        "persistentvolume-binder-volumes",
        retrying_conflicts(VolumeSync(of_volumes).reconcile),
        retry=RetryPolicy.client_go(),
    )
    volumes.primary(storage.volumes)
    volumes.watches(storage.claims, waking.volumes_of_claim)


class _Waking:
    """The claims and volumes to reconcile when an object has changed."""

    def __init__(self, storage: ClaimsAndVolumes) -> None:
        self._storage = storage

    def claims_of_volume(self, change: Change) -> Iterable[Key]:
        """The claims that a volume has to do with; all that look for one when it is free."""
        keys = set(self._searching(change))
        for cached in (change.old, change.new):
            if cached is None:
                continue
            reference = _decode_volume(cached.data).spec.claim_ref
            if reference is not None:
                keys.add(Key(reference.namespace, reference.name))
        return keys

    def _searching(self, change: Change) -> list[Key]:
        if change.new is None:
            return []
        volume = cast("PersistentVolume", change.new.object())
        if volume["spec"].get("claimRef") is not None or phase_of(volume) != "Available":
            return []
        return self._storage.unbound_claims(class_of(volume))

    def claims_of_class(self, change: Change) -> Iterable[Key]:
        if change.initial:
            return ()
        return {*self._storage.unbound_claims(change.key.name), *self._storage.claims_without_class()}

    def volumes_of_claim(self, change: Change) -> Iterable[Key]:
        """The volumes that a claim names and those that name it."""
        names = set(self._storage.volumes_naming(change.key))
        for cached in (change.old, change.new):
            if cached is not None and (name := _decode_claim(cached.data).spec.volume_name):
                names.add(name)
        return [Key("", name) for name in names]


_decode_claim = msgspec.json.Decoder(ClaimVolumeView).decode
_decode_volume = msgspec.json.Decoder(ClaimedVolumeView).decode
