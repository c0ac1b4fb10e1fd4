"""The state machine of one container in the keeper, from its start to its recorded exit.

    starting ──exec──► running ──first process ends──► draining ──all output read──► ended
        └──failed────────────────────────────────────────────────────────────────────▲

A container ends with its first process: the rest is killed, its output read to the end, and only then is the
end recorded in `state.json` and reported. So the log is complete when the end is reported.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import cgroups
from .launching import Launch, limit_process, spawn
from .log_files import LogFile
from .loop import Loop
from .output import ContainerOutput
from .stragglers import MARK, kill_marked

if TYPE_CHECKING:
    from .messages import ContainerReport, Spec

__all__ = ["KeeperContainer"]

#: So long output is waited for that a process which got away might still write.
_DRAIN_S = 1.0
_REMOVE_S = 0.05
_REMOVE_TRIES = 100


class KeeperContainer:
    """A container of the keeper."""

    def __init__(
        self, loop: Loop, spec: Spec, groups: cgroups.NodeGroups | None, nofile: tuple[int, int],
        on_end: Callable[[KeeperContainer], None],
    ) -> None:  # fmt: skip
        self.id = spec["id"]
        self.spec = spec
        self.pid = 0
        self.started_at = 0.0
        self.finished_at = 0.0
        self.exit_code = 0
        self.out_of_memory = False
        self.state = "starting"
        #: What goes to its standard input or terminal; -1: nothing can.
        self.stdin = -1
        self.group = ""
        self._loop = loop
        self._groups = groups
        self._nofile = nofile
        self._on_end = on_end
        self._output: ContainerOutput | None = None
        self._log: LogFile | None = None
        self._kill_at: float | None = None

    @property
    def running(self) -> bool:
        return self.state == "running"

    @property
    def mark(self) -> str:
        """What its processes have in their environment."""
        return self.spec["env"][MARK]

    def record(self) -> ContainerReport:
        """What is told about it, and kept."""
        return {
            "id": self.id,
            "state": "exited" if self.state == "ended" else "running",
            "pid": self.pid,
            "group": self.group,
            "started": self.started_at,
            "finished": self.finished_at,
            "code": self.exit_code,
            "oom": self.out_of_memory,
        }

    # --- starting

    def start(self) -> Launch:
        """Fork it. Raises `OSError`."""
        spec = self.spec
        if self._groups is not None:
            self.group = self._groups.make(self.id, spec.get("limits") or {})
        log = LogFile(spec["log"], spec["log_max_bytes"], spec["log_max_files"])
        stdio, kept, sources = _streams(spec)
        try:
            launch = spawn(spec, stdio, tty=bool(spec.get("tty")), group=self.group, nofile=self._nofile)
        except OSError:
            for fd in {*kept, *sources.values()}:
                os.close(fd)
            log.close()
            self._clean()
            raise
        finally:
            for fd in set(stdio):
                os.close(fd)
        self.stdin = kept[0] if kept else -1
        self.pid = launch.pid
        self._log = log
        self._output = ContainerOutput(self._loop, log, sources, self._on_output_end)
        return launch

    def launched(self) -> None:
        """It runs."""
        self.started_at = time.time()
        self.state = "running"
        self._keep()

    def failed(self) -> None:
        """It never ran, and nobody is told."""
        self.state = "ended"
        self._clean()

    # --- while it runs

    def attach(self, fds: dict[str, int]) -> None:
        for stream, fd in fds.items():
            if self._output is None:
                os.close(fd)
            else:
                self._output.attach(stream, fd)

    def close_stdin(self) -> None:
        if self.stdin >= 0 and not self.spec.get("tty"):
            os.close(self.stdin)
            self.stdin = -1

    def limit(self, limits: dict[str, float], rlimits: dict[str, int]) -> None:
        """Have it go on with these limits, and no others."""
        gone = (self.spec.get("rlimits") or {}).keys() - rlimits.keys()
        self.spec["limits"], self.spec["rlimits"] = limits, rlimits
        if self._groups is not None:
            self._groups.limit(self.group, {"memory": None, "cpu": None, **limits})
        for pid in cgroups.processes(self.group) if self.group else [self.pid]:
            limit_process(pid, {**rlimits, **dict.fromkeys(gone, resource.RLIM_INFINITY)})

    def stop(self, number: int, timeout_s: float) -> None:
        """Ask it to end, and kill it after a time. Asking again can only make it sooner."""
        if self.state != "running":
            return
        kill_at = time.monotonic() + timeout_s
        if self._kill_at is None:
            self._signal(number)
        if self._kill_at is None or kill_at < self._kill_at:
            self._kill_at = kill_at
            self._loop.after(max(timeout_s, 0), self._kill_if_due)

    def _kill_if_due(self) -> None:
        if self.state == "running" and self._kill_at is not None and time.monotonic() >= self._kill_at:
            self.kill()

    def kill(self) -> None:
        """Kill all of its processes."""
        self._signal(signal.SIGKILL)
        if self.group:
            cgroups.kill(self.group)
        elif self.state != "running":
            kill_marked(self.mark)

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except OSError:
            return

    # --- ending

    def exited(self, code: int) -> None:
        """Its first process has ended, and is not reaped yet: nobody else has its number."""
        self.exit_code = code
        self.finished_at = time.time()
        self.state = "draining"
        self.kill()
        if self._output is None or self._output.ended:
            self._end()
        else:
            self._loop.after(_DRAIN_S, self._end)

    def _on_output_end(self) -> None:
        if self.state == "draining":
            self._end()

    def _end(self) -> None:
        if self.state == "ended":
            return
        self.state = "ended"
        self.out_of_memory = bool(self.group) and cgroups.was_out_of_memory(self.group)
        self._clean()
        self._keep()
        self._on_end(self)

    def _clean(self) -> None:
        if self._output is not None:
            self._output.close()
        if self._log is not None:
            self._log.close()
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1
        self._output = self._log = None
        if self.group:
            self._remove_group(_REMOVE_TRIES)

    def _remove_group(self, tries: int) -> None:
        """Killed processes take a moment to leave it."""
        if not cgroups.remove(self.group) and tries:
            self._loop.after(_REMOVE_S, lambda: self._remove_group(tries - 1))

    def _keep(self) -> None:
        path = os.path.join(self.spec["folder"], "state.json")
        try:
            with open(f"{path}.new", "w", encoding="utf-8") as file:
                json.dump(self.record(), file)
            os.replace(f"{path}.new", path)
        except OSError:
            # The container is being forgotten, or the disk is full; it goes on.
            return


def _streams(spec: Spec) -> tuple[tuple[int, int, int], tuple[int, ...], dict[str, int]]:
    """The child's three streams, what is kept to write to it, and what is read of it by stream."""
    if spec.get("tty"):
        master, slave = os.openpty()
        return (slave, slave, slave), (os.dup(master),), {"stdout": master}
    out, child_out = os.pipe()
    err, child_err = os.pipe()
    sources = {"stdout": out, "stderr": err}
    if spec.get("stdin"):
        child_in, kept = os.pipe()
        return (child_in, child_out, child_err), (kept,), sources
    return (os.open(os.devnull, os.O_RDONLY), child_out, child_err), (), sources
