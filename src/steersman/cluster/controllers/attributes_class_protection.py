"""The VolumeAttributesClass protection controller: removes the finalizer of a deleted class when no claim or
volume references it.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.controllers.reconciling import retrying_conflicts
from steersman.cluster.controllers.setup import Setup
from steersman.objects.lifetime import is_deleting
from steersman.objects.resources import (
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    VOLUME_ATTRIBUTES_CLASSES,
)
from steersman.runtime import Cached, Change, Key, Request, add_finalizer, remove_finalizer

__all__ = ["add"]

_FINALIZER: Final = "kubernetes.io/vac-protection"


def _classes_of(cached: Cached) -> set[str]:
    """The classes that a claim or volume has, is given or wants."""
    obj = cached.object()
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    modifying = status.get("modifyVolumeStatus") or {}
    named = (
        spec.get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        modifying.get("targetVolumeAttributesClassName"),
    )
    return {name for name in named if name}


def _touched(change: Change) -> set[Key]:
    states = [one for one in (change.old, change.new) if one is not None]
    return {Key("", name) for state in states for name in _classes_of(state)}


def add(setup: Setup) -> None:
    classes = setup.informer(VOLUME_ATTRIBUTES_CLASSES)
    users = [setup.informer(resource) for resource in (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES)]
    writes = setup.writes("volumeattributesclass-protection", classes)

    async def reconcile(request: Request) -> None:
        cached = classes.cache.get(request.key)
        if cached is None:
            return
        found = cached.object()
        if not is_deleting(found):
            await add_finalizer(writes, VOLUME_ATTRIBUTES_CLASSES, found, _FINALIZER)
        elif not any(request.key.name in _classes_of(each) for user in users for each in user.cache.list()):
            await remove_finalizer(writes, VOLUME_ATTRIBUTES_CLASSES, found, _FINALIZER)

    controller = setup.controller("volumeattributesclass-protection", retrying_conflicts(reconcile))
    controller.primary(classes)
    for user in users:
        controller.watches(user, _touched)
