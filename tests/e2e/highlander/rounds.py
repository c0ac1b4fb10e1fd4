"""Real controllers over a real Redis and a real cluster, faults, and heartbeats that cannot be argued with.

Every copy of a workload writes its epoch, a name of its own and the machine's monotonic time to a file, twenty
times a second, for as long as its process lives: no API is asked how many copies there are.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from tests.support.redis_server import RedisServer, redis_server
from tests.support.servers import free_port
from tests.support.steer import STEER, Steer, running

__all__ = ["DEADLINE_S", "Beats", "Fleet", "fleet"]

#: Nothing takes this long, not even on a machine that does other things as well.
DEADLINE_S = 90.0
TTL_S = 3.0

_BEAT = """
import os, sys, time, uuid
name = uuid.uuid4().hex
with open(sys.argv[1], "a", buffering=1) as file:
    while True:
        file.write(f"{os.environ['HIGHLANDER_EPOCH']} {name} {time.monotonic():.4f}\\n")
        time.sleep(0.05)
"""


@dataclass(frozen=True, slots=True)
class Copy:
    """One process, from its first heartbeat to its last."""

    name: str
    epoch: int
    first: float
    last: float


class Beats:
    """What the copies of one workload have written."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def copies(self) -> list[Copy]:
        """In the order of their beginning."""
        seen: dict[str, Copy] = {}
        text = self.file.read_text() if self.file.exists() else ""
        for line in text.splitlines(keepends=True):
            if line.endswith("\n"):
                epoch, name, at = line.split()
                first = seen[name].first if name in seen else float(at)
                seen[name] = Copy(name, int(epoch), first, float(at))
        return sorted(seen.values(), key=lambda copy: copy.first)

    def check(self) -> None:
        """Never two at once, and epochs only grow."""
        for earlier, later in pairwise(self.copies()):
            assert earlier.last < later.first, f"{self.file.name}: two copies: {earlier} and {later}"
            assert earlier.epoch <= later.epoch, f"{self.file.name}: {later.epoch} after {earlier.epoch}"

    @property
    def epoch(self) -> int:
        return max((copy.epoch for copy in self.copies()), default=0)

    def is_alive(self, since: float) -> bool:
        return any(copy.last > since for copy in self.copies())

    def gaps(self) -> list[float]:
        """The times without a copy."""
        return [later.first - earlier.last for earlier, later in pairwise(self.copies())]


class Fleet:
    """Controllers, a cluster, and Redis if the lock is there."""

    def __init__(self, folder: Path, stack: ExitStack, storage: str) -> None:
        self.folder = folder
        self._stack = stack
        self._port = free_port()
        self._server: Steer | None = None
        self._server_stack = stack.enter_context(ExitStack())
        self.redis: RedisServer | None = None
        if storage == "redis":
            self.redis = stack.enter_context(redis_server())
        self.start_cluster()
        (folder / "beats").mkdir()
        self.beats = {name: Beats(folder / "beats" / name) for name in ("worker", "web", "db")}
        self._storage = storage
        self._members = {name: free_port() for name in ("a", "b", "c")}
        self.controllers: dict[str, subprocess.Popen[bytes]] = {}
        stack.callback(self._end)

    def _settings(self) -> dict[str, Any]:
        def workload(name: str, **more: Any) -> dict[str, Any]:
            return {
                "name": name,
                "image": "host/python3",
                "args": ["-c", _BEAT, f"/beats/{name}"],
                "terminationGracePeriod": 2,
                "volumes": [{"name": "beats", "hostPath": {"path": str(self.folder / "beats")}}],
                "volumeMounts": [{"name": "beats", "mountPath": "/beats"}],
                **more,
            }

        return {
            "tenant": "rounds",
            "storageType": self._storage,
            "port": 0,
            "redis": {"addr": self.redis.url if self.redis is not None else ""},
            "cluster": {"kubeconfig": str(self.kubeconfig)},
            "election": {
                "leaseDuration": TTL_S, "renewDeadline": 2, "retryPeriod": 0.5, "stepDownPause": 2
            },
            "workloads": {
                "processes": [workload("worker")],
                "services": [workload("web")],
                "persistentSets": [workload("db")],
                "cronJobs": [
                    {"name": "tick", "image": "host/sh", "schedule": "* * * * *", "command": ["/bin/true"]}
                ],
            },
        }  # fmt: skip

    def _file(self, name: str) -> Path:
        """The configuration of a controller; only Raft's members differ."""
        settings = self._settings()
        if self._storage == "raft":
            peers = {number: f"127.0.0.1:{port}" for number, port in enumerate(self._members.values())}
            settings["raft"] = {
                "nodeId": list(self._members).index(name),
                "peers": peers,
                "storage": str(self.folder / f"raft-{name}"),
            }
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(settings))
        return file

    # the cluster

    @property
    def kubeconfig(self) -> Path:
        assert self._server is not None
        return self._server.kubeconfig

    def start_cluster(self) -> None:
        self._server = self._server_stack.enter_context(
            running("--runtime", "process", data=self.folder / "cluster", port=self._port)
        )

    def kill_cluster(self) -> None:
        assert self._server is not None
        self._server.kill()
        self._server_stack.close()

    # the controllers

    def start(self, name: str, shift_s: float = 0.0, **environment: str) -> None:
        command = [sys.executable, str(Path(__file__).with_name("controller.py")), str(shift_s)]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.controllers[name] = subprocess.Popen(
                [*command, "highlander", "--config", str(self._file(name)), "--id", name],
                stdout=log,
                stderr=log,
                env={**os.environ, **environment},
            )

    def signal(self, name: str, number: signal.Signals) -> None:
        self.controllers[name].send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.controllers.pop(name).wait(DEADLINE_S)

    def leader(self) -> str:
        """The controller whose pod runs now."""
        assert self._server is not None
        answer = self._server.api.get("/api/v1/namespaces/default/pods/worker-pod").json
        name: str = answer["metadata"]["labels"]["controller-id"]
        return name

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            if time.monotonic() > deadline:
                logs = "\n".join(
                    f"{log.name}:\n{log.read_text(errors='replace')[-2000:]}"
                    for log in self.folder.glob("*.log")
                )
                raise AssertionError(f"{what} is not so after {DEADLINE_S:g} s\n{logs}")
            time.sleep(0.05)

    def wait_alive(self, above: int = -1) -> None:
        """Until every workload beats, now, in an epoch above this."""
        now = time.monotonic()
        for name, beats in self.beats.items():
            self.wait(
                lambda beats=beats: beats.is_alive(now) and beats.epoch > above,  # type: ignore[misc]
                f"{name} beats in an epoch above {above}",
            )

    def check(self) -> None:
        for beats in self.beats.values():
            beats.check()

    def _end(self) -> None:
        for process in self.controllers.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


@contextmanager
def fleet(folder: Path, storage: str = "redis") -> Iterator[Fleet]:
    assert STEER.exists()
    with ExitStack() as stack:
        yield Fleet(folder, stack, storage)
