"""A started `steer up` and what it costs: CPU seconds and memory, read from /proc."""

from __future__ import annotations

import atexit
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from types import TracebackType

from benchmarks.options import Unusable
from steersman.cluster.controllers.registry import IN_SERVER

__all__ = ["ServerProcess", "cpu_seconds", "environment", "memory_mb"]

_TICKS = os.sysconf("SC_CLK_TCK")
_STOP_S = 15.0


def cpu_seconds(pid: int) -> float:
    """User and system time that all threads of a process have used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mb(pid: int) -> float:
    """Resident memory now, in MB (10^6 bytes)."""
    status = Path(f"/proc/{pid}/status").read_text()
    match = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert match
    return int(match[1]) * 1024 / 1e6


@cache
def environment() -> dict[str, str]:
    """For processes whose start is timed: they find bytecode from the second of a kind on.

    Some environments forbid to write it, and then every start compiles every module. That is not what an
    installed package does, and would hide everything else.
    """
    bytecode = tempfile.TemporaryDirectory(prefix="steersman-bench-bytecode-")
    atexit.register(bytecode.cleanup)
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**given, "PYTHONPYCACHEPREFIX": bytecode.name}


class ServerProcess:
    """`steer up` on a free port; the time from starting the process to its ready line is `ready_s`.

    Unless it is to be `living`, it is the API server alone: what is measured is what it costs.
    """

    def __init__(self, data: str, *options: str, living: bool = False) -> None:
        alone = () if living else (f"--controllers={','.join(IN_SERVER)}",)
        self._command = [str(Path(sys.executable).parent / "steer"), "up", "--data", data, "--port", "0",
                         "--output", "json", *alone, *options]  # fmt: skip
        self.token = secrets.token_urlsafe(32)
        self._environment = {**environment(), "STEER_ADMIN_TOKEN": self.token}
        self.ready_s = 0.0
        self.url = ""
        self.kubeconfig = ""

    def __enter__(self) -> ServerProcess:
        started = time.perf_counter()
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, text=True, env=self._environment
        )
        assert self._process.stdout
        line = self._process.stdout.readline()
        self.ready_s = time.perf_counter() - started
        try:
            if not line:
                raise Unusable("steer up did not start")
            announced = json.loads(line)
            self.url, self.kubeconfig = announced["server"], announced["kubeconfig"]
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu(self) -> float:
        return cpu_seconds(self.pid)

    def memory(self) -> float:
        return memory_mb(self.pid)
