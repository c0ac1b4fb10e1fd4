"""The volumes of a pod that matter for scheduling: claims and in-tree disks. Pure; shared by bytes.

Most pods have only other kinds of volumes (ConfigMaps, emptyDir, tokens), which are not parsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

__all__ = ["NO_VOLUMES", "ClaimVolume", "Volumes", "read_volumes"]

#: Disks that only one pod of a node may write to.
DISKS: Final = ("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd")
_WORTH_READING: Final = tuple(
    f'"{kind}":'.encode() for kind in ("persistentVolumeClaim", "ephemeral", "image", *DISKS)
)
_CACHED: Final = 4096


@dataclass(frozen=True, slots=True)
class ClaimVolume:
    """A volume that is a PersistentVolumeClaim; the claim of an ephemeral volume is named after pod and
    volume.
    """

    name: str
    ephemeral: bool = False

    def of(self, pod_name: str) -> str:
        return f"{pod_name}-{self.name}" if self.ephemeral else self.name


@dataclass(frozen=True, slots=True, eq=False)
class Volumes:
    """The volumes of a pod that matter for scheduling."""

    claims: tuple[ClaimVolume, ...] = ()
    disks: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    images: tuple[str, ...] = ()


NO_VOLUMES: Final = Volumes()


def read_volumes(data: bytes) -> Volumes:
    """From a pod's `volumes`; empty bytes: none."""
    return _read(data) if data and any(word in data for word in _WORTH_READING) else NO_VOLUMES


@lru_cache(_CACHED)
def _read(data: bytes) -> Volumes:
    claims, disks, images = [], [], []
    for volume in orjson.loads(data) or ():
        if (claim := volume.get("persistentVolumeClaim")) is not None:
            claims.append(ClaimVolume(claim.get("claimName", "")))
        elif volume.get("ephemeral") is not None:
            claims.append(ClaimVolume(volume["name"], ephemeral=True))
        elif (image := volume.get("image")) is not None:
            images.append(image.get("reference", ""))
        else:
            disks += [(kind, volume[kind]) for kind in DISKS if volume.get(kind) is not None]
    if not claims and not disks and not images:
        return NO_VOLUMES
    return Volumes(tuple(claims), tuple(disks), tuple(images))
