"""Mounts inside other mounts: the mount points that a volume needs for them. Pure.

They cannot be created later in read-only volumes.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath

from steersman.objects.kinds.types.core_v1 import Container, Pod
from steersman.objects.pods import containers_of

__all__ = ["nested_folders"]


def nested_folders(pod: Pod, volume: str) -> set[str]:
    """Paths within a volume where containers of the pod have something else mounted."""
    return {path for container in containers_of(pod["spec"]) for path in _nested(container, volume)}


def _nested(container: Container, volume: str) -> Iterator[str]:
    mounts = container.get("volumeMounts") or ()
    places = sorted(normpath(mount["mountPath"]) for mount in mounts)
    for mount in mounts:
        if mount["name"] != volume or mount.get("subPath") or mount.get("subPathExpr"):
            continue
        own = normpath(mount["mountPath"]).rstrip("/") + "/"
        last = ""
        for place in places:
            # What is within another one of these is that one's to have.
            if place.startswith(own) and not (last and place.startswith(f"{last}/")):
                last = place
                yield place.removeprefix(own)
