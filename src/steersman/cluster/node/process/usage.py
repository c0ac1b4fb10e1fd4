"""The CPU and memory usage of containers, read on demand from their control groups, or from /proc.

CPU is the average since the previous request, at least `_SPAN_S` ago; the first time, since the start.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from steersman.cluster.node.process.keeper import cgroups
from steersman.objects.usage import Usage

__all__ = ["UsageMeter"]

_SPAN_S: Final = 1.0
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
#: Fields of /proc/<pid>/stat behind the program's name.
_SESSION: Final = 3
_TIMES: Final = slice(11, 15)
_RSS: Final = 21


class _Sample(NamedTuple):
    """CPU time at a point in time."""

    at: float
    cpu_s: float
    cores: float


class UsageMeter:
    """Measures containers."""

    def __init__(self) -> None:
        self._samples: dict[str, _Sample] = {}
        self._sessions: dict[int, tuple[float, int]] = {}
        self._seen_at = 0.0

    def usage(self, container_id: str, pid: int, group: str, started_at: float) -> Usage:
        cpu_s, memory = self._of_group(group) if group else self._of_session(pid)
        now = time.time()
        before = self._samples.get(container_id) or _Sample(started_at, 0.0, 0.0)
        span_s = now - before.at
        if span_s < _SPAN_S and container_id in self._samples:
            return Usage(before.cores, memory)
        cores = max(cpu_s - before.cpu_s, 0.0) / max(span_s, _SPAN_S)
        self._samples[container_id] = _Sample(now, cpu_s, cores)
        return Usage(cores, memory)

    def forget(self, container_id: str) -> None:
        self._samples.pop(container_id, None)

    def _of_group(self, group: str) -> tuple[float, int]:
        cpu_s = cgroups.read_number(f"{group}/cpu.stat", "usage_usec") / 1e6
        memory = cgroups.read_number(f"{group}/memory.current")
        if not memory:
            return cpu_s, sum(_resident(pid) for pid in cgroups.processes(group))
        # What could be freed at once does not count.
        return cpu_s, max(memory - cgroups.read_number(f"{group}/memory.stat", "inactive_file"), 0)

    def _of_session(self, pid: int) -> tuple[float, int]:
        now = time.monotonic()
        if now - self._seen_at >= _SPAN_S:
            self._seen_at = now
            self._sessions = {}
            for session, cpu_s, memory in _processes():
                known = self._sessions.get(session, (0.0, 0))
                self._sessions[session] = (known[0] + cpu_s, known[1] + memory)
        return self._sessions.get(pid, (0.0, 0))


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * _PAGE
    except OSError:
        return 0


def _processes() -> Iterator[tuple[int, float, int]]:
    """Session, CPU seconds and resident bytes of every process."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(") ")[2].split()
        except OSError:
            continue
        cpu_s = sum(int(one) for one in fields[_TIMES]) / _TICKS
        yield int(fields[_SESSION]), cpu_s, int(fields[_RSS]) * _PAGE
