"""The capacity of this machine, and its memory, disk and PID pressure, for the node's status."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from steersman.cluster.node.node_object import NodeHealth

__all__ = ["MachineHealth", "machine_capacity", "machine_id"]

_PODS: Final = 110
#: Below this much free memory the node is under pressure, as kubelets are by default.
_LEAST_MEMORY: Final = 100 << 20
#: Likewise for the disk: a developer's disk is often nearly full, so this is an amount and no share.
_LEAST_DISK: Final = 512 << 20
_MOST_PIDS: Final = 0.9
#: So long a look counts.
_LOOK_S: Final = 5.0


def machine_capacity(folder: Path) -> dict[str, str]:
    """What pods can have of this machine."""
    return {
        "cpu": str(len(os.sched_getaffinity(0))),
        "memory": f"{_memory('MemTotal') >> 10}Ki",
        "ephemeral-storage": f"{shutil.disk_usage(folder).total >> 10}Ki",
        "pods": str(_PODS),
    }


def machine_id() -> str:
    """32 hexadecimal digits that stay the same for this machine; empty if it has none."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


class MachineHealth:
    """The machine's health, as `NodeAgent` polls it."""

    def __init__(self, folder: Path, problem: Callable[[], str]) -> None:
        self._folder = folder
        self._problem = problem
        self._health = NodeHealth()
        self._looked_at = -_LOOK_S

    def __call__(self, annotations: Mapping[str, str]) -> NodeHealth:
        now = time.monotonic()
        if now - self._looked_at >= _LOOK_S:
            self._looked_at = now
            self._health = NodeHealth(
                memory_pressure=0 < _memory("MemAvailable") < _LEAST_MEMORY,
                disk_pressure=_free(self._folder) < _LEAST_DISK,
                pid_pressure=_pids_used() > _MOST_PIDS,
            )
        problem = self._problem()
        return replace(self._health, problem=problem) if problem else self._health


def _memory(field: str) -> int:
    """Bytes, by a name in /proc/meminfo; 0 if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith(f"{field}:"):
                    return int(line.split()[1]) << 10
    except OSError:
        return 0
    return 0


def _free(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return _LEAST_DISK


def _pids_used() -> float:
    """The share of process numbers that are taken."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            tasks = int(file.read().split()[3].partition("/")[2])
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
            return tasks / int(file.read())
    except (OSError, ValueError):
        return 0.0
