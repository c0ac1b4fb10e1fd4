"""The disk usage of volumes, and the pods that exceed their ephemeral storage or emptyDir sizeLimit."""

from __future__ import annotations

import os
from pathlib import Path

from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Pod
from steersman.objects.quantities import Quantity

__all__ = ["limited_volumes", "too_much", "used_bytes"]


def limited_volumes(pod: Pod) -> dict[str, Quantity]:
    """The pod's emptyDir volumes that may only grow so large."""
    limits = {
        volume["name"]: Quantity.parse(str(limit))
        for volume in pod["spec"].get("volumes") or ()
        if (limit := (volume.get("emptyDir") or {}).get("sizeLimit"))
    }
    return {name: limit for name, limit in limits.items() if limit}


def used_bytes(folder: Path) -> int:
    """What a folder takes up on its disk. A file with several names counts once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.lstat(os.path.join(where, name))
            except OSError:
                # Gone meanwhile.
                continue
            if (found.st_dev, found.st_ino) not in seen:
                seen.add((found.st_dev, found.st_ino))
                total += found.st_blocks * 512
    return total


def too_much(volume: str, limit: Quantity) -> str:
    """Why a pod is evicted."""
    return f"Usage of EmptyDir volume {quote(volume)} exceeds the limit {quote(str(limit))}. "
