"""The CPU and memory usage of this machine, measured between two calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Final

from steersman.objects.usage import Usage

__all__ = ["machine_usage"]

#: A shorter time than this says little about how busy processors are.
_SHORTEST_S: Final = 1.0
#: Of the fields of /proc/stat, those in which processors do nothing: idle, iowait.
_IDLE_FIELDS: Final = (3, 4)
#: The others count: user, nice, system, …, steal. Guests' times, which follow, are in user's already.
_FIELDS: Final = 8


def machine_usage(proc: Path = Path("/proc")) -> Callable[[], Usage] | None:
    """Something that says what the machine uses, from now on; None where that cannot be known."""
    if not (proc / "stat").exists() or not (proc / "meminfo").exists():
        return None
    return _Machine(proc)


class _Machine:
    """Measures CPU usage between two samples."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._seconds = self._busy_seconds()
        self._at = monotonic()
        self._cores = 0.0
        self._measured = False

    def __call__(self) -> Usage:
        now = monotonic()
        if now - self._at >= _SHORTEST_S or not self._measured:
            seconds = self._busy_seconds()
            self._cores = max(0.0, seconds - self._seconds) / max(now - self._at, 1e-3)
            self._measured = True
            self._seconds, self._at = seconds, now
        return Usage(self._cores, self._memory())

    def _busy_seconds(self) -> float:
        """The time that all processors together have worked."""
        with (self._proc / "stat").open() as file:
            ticks = [int(field) for field in file.readline().split()[1 : 1 + _FIELDS]]
        busy = sum(ticks) - sum(ticks[field] for field in _IDLE_FIELDS)
        return busy / os.sysconf("SC_CLK_TCK")

    def _memory(self) -> int:
        sizes = {}
        for line in (self._proc / "meminfo").read_text().splitlines():
            name, _, size = line.partition(":")
            sizes[name] = int(size.split()[0]) << 10
        return sizes["MemTotal"] - sizes.get("MemAvailable", sizes["MemFree"])
