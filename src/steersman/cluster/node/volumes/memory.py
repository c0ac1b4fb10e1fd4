"""emptyDir volumes of medium Memory: each is a tmpfs mounted on its folder.

A mount outlives the agent as the pod does, and is removed with the pod. Where this process may not mount, the
folder itself is the volume.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from steersman.cluster.node.process.keeper.system_calls import MNT_DETACH, mount, unmount
from steersman.objects.kinds.types.core_v1 import Pod, PodSpec
from steersman.objects.pods import container_totals
from steersman.objects.quantities import Quantity

__all__ = ["memory_size", "mount_memory", "unmount_all"]


def memory_size(pod: Pod, size_limit: str | None, allocatable: Quantity) -> int:
    """How large a pod's volume may grow: as far as it says, but not beyond the pod's memory or the node's."""
    limits = (allocatable, _memory_of(pod["spec"]), Quantity.parse(str(size_limit or "0")))
    return min((limit.value for limit in limits if limit), default=0)


def mount_memory(folder: Path, size: int, mode: int) -> None:
    """Have a tmpfs on a folder, where that is allowed."""
    if os.path.ismount(folder):
        return
    with suppress(PermissionError):
        mount("tmpfs", str(folder), "tmpfs", data=f"size={size},mode={mode:o}" if size else f"mode={mode:o}")


def unmount_all(folder: Path) -> None:
    """Unmount what is mounted on the folders in this one."""
    if not folder.exists():
        return
    for path in folder.iterdir():
        if os.path.ismount(path):
            # Whoever still has a file open there keeps it.
            unmount(str(path), MNT_DETACH)


def _memory_of(spec: PodSpec) -> Quantity:
    """The memory that a pod may use at most; 0: it has no limit."""
    whole = ((spec.get("resources") or {}).get("limits") or {}).get("memory")
    if whole is not None:
        return Quantity.parse(str(whole))
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    if not all("memory" in (_limits(container) or {}) for container in containers):
        return Quantity(0)
    return container_totals(spec, _limits).get("memory", Quantity(0))


def _limits(container: Mapping[str, Any]) -> Mapping[str, str] | None:
    limits: Mapping[str, str] | None = (container.get("resources") or {}).get("limits")
    return limits
