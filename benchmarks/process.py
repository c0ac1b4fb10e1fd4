"""A started `steer up` and what it costs: CPU seconds and memory, read from /proc."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

__all__ = ["ServerProcess", "cpu_seconds", "memory_mb"]

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mb(pid: int) -> float:
    """Resident memory now, in MB (10^6 bytes)."""
    status = Path(f"/proc/{pid}/status").read_text()
    match = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert match
    return int(match[1]) * 1024 / 1e6


class ServerProcess:
    """`steer up` on a free port; the time from starting the process to its ready line is `ready_s`."""

    def __init__(self, data: str, *options: str) -> None:
        self._command = [str(Path(sys.executable).parent / "steer"), "up", "--data", data, "--port", "0",
                         "--output", "json", *options]  # fmt: skip
        self.ready_s = 0.0
        self.url = ""
        self.token = ""

    def __enter__(self) -> ServerProcess:
        started = time.perf_counter()
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        line = self._process.stdout.readline()
        self.ready_s = time.perf_counter() - started
        if not line:
            raise SystemExit("the server did not start")
        ready = json.loads(line)
        self.url = ready["server"]
        kubeconfig = Path(ready["kubeconfig"]).read_text()
        match = re.search(r"token: (\S+)", kubeconfig)
        assert match
        self.token = match[1]
        self.kubeconfig = ready["kubeconfig"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu(self) -> float:
        return cpu_seconds(self.pid)

    def memory(self) -> float:
        return memory_mb(self.pid)
