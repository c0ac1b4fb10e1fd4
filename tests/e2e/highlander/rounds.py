"""Real controllers over a real store and a real cluster, and everything between them that can break.

Each controller reaches the API, the store and, with Raft, is reached by the others over a wire of its own.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.e2e.highlander.beats import PROGRAM, Beats
from tests.support.networks import Wire, network
from tests.support.ports import free_port
from tests.support.postgres_server import PostgresServer, postgres_server
from tests.support.redis_server import RedisServer, redis_server
from tests.support.steer import STEER, Steer, running
from tests.support.waiting import soon

__all__ = ["DEADLINE_S", "TTL_S", "Fleet", "fleet"]

#: Nothing takes this long, not even on a machine that does other things as well.
DEADLINE_S = 90.0
TTL_S = 3.0

#: Workloads that always live; the fourth kind lives by its schedule.
_LASTING = {"worker": "processes", "web": "services", "db": "persistentSets"}
_FOREVER_S = 86_400
_JOB_S = 15


class Fleet:
    """Controllers by name, their cluster and where their lock is."""

    def __init__(self, folder: Path, stack: ExitStack, storage: str, size: int) -> None:
        self.folder = folder
        self.names = tuple("abc"[:size])
        self._storage = storage
        self._port = free_port()
        self._server: Steer | None = None
        self._server_stack = stack.enter_context(ExitStack())
        self.store: RedisServer | PostgresServer | None = None
        if storage == "redis":
            self.store = stack.enter_context(redis_server())
        elif storage == "db":
            self.store = stack.enter_context(postgres_server())
        self.start_cluster()
        wires = stack.enter_context(network())
        self.api_wires = {name: wires.wire(("127.0.0.1", self._port)) for name in self.names}
        self.store_wires: dict[str, Wire] = {}
        if self.store is not None:
            self.store_wires = {name: wires.wire(self.store.socket) for name in self.names}
        self._listening = {name: free_port() for name in self.names if storage == "raft"}
        self._member_wires = {name: wires.wire(("127.0.0.1", port)) for name, port in self._listening.items()}
        (folder / "beats").mkdir()
        self.beats = {name: Beats(folder / "beats" / name) for name in _LASTING}
        self.jobs = Beats(folder / "beats" / "tick")
        self.controllers: dict[str, subprocess.Popen[bytes]] = {}
        self._starts: Counter[str] = Counter()
        stack.callback(self._end)

    def wires(self, name: str) -> list[Wire]:
        """All that a controller hears of the world."""
        groups = (self.api_wires, self.store_wires, self._member_wires)
        return [group[name] for group in groups if name in group]

    # the configuration

    def _file(self, name: str) -> Path:
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(self._settings(name)))
        return file

    def _settings(self, name: str) -> dict[str, Any]:
        workloads = {kind: [self._workload(each, _FOREVER_S)] for each, kind in _LASTING.items()}
        workloads["cronJobs"] = [{**self._workload("tick", _JOB_S), "schedule": "* * * * *"}]
        return {
            "tenant": "rounds",
            "storageType": self._storage,
            "port": 0,
            "cluster": {"kubeconfig": str(self._kubeconfig(name))},
            "election": {
                "leaseDuration": TTL_S, "renewDeadline": 2, "retryPeriod": 0.5, "stepDownPause": 2
            },
            "workloads": workloads,
            **self._store_settings(name),
        }  # fmt: skip

    def _store_settings(self, name: str) -> dict[str, Any]:
        if self._storage == "redis":
            return {"redis": {"addr": f"127.0.0.1:{self.store_wires[name].port}"}}
        if self._storage == "db":
            port = self.store_wires[name].port
            return {"databaseURL": f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable"}
        if self._storage == "raft":
            peers = {
                number: f"{each}=127.0.0.1:{self._member_wires[each].port}"
                for number, each in enumerate(self.names)
            }
            raft = {
                "nodeId": self.names.index(name),
                "peers": peers,
                "listen": f"127.0.0.1:{self._listening[name]}",
                "storage": str(self.folder / f"raft-{name}"),
            }
            return {"raft": raft}
        return {}

    def _workload(self, name: str, life_s: int) -> dict[str, Any]:
        return {
            "name": name,
            "image": "host/python3",
            "args": ["-ISc", PROGRAM, f"/beats/{name}", str(life_s)],
            "terminationGracePeriod": 2,
            "volumes": [{"name": "beats", "hostPath": {"path": str(self.folder / "beats")}}],
            "volumeMounts": [{"name": "beats", "mountPath": "/beats"}],
        }

    def _kubeconfig(self, name: str) -> Path:
        """The cluster's, by way of the controller's wire."""
        assert self._server is not None
        config = yaml.safe_load(self._server.kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        address = urlsplit(cluster["server"])
        cluster["server"] = address._replace(netloc=f"127.0.0.1:{self.api_wires[name].port}").geturl()
        file = self.folder / f"{name}.kubeconfig"
        file.write_text(yaml.safe_dump(config))
        return file

    # the cluster

    def start_cluster(self) -> None:
        self.wait(self._try_to_start_cluster, "the cluster has its addresses again")

    def _try_to_start_cluster(self) -> bool:
        """A cluster of another test may have taken the addresses of one that was killed, until it ends."""
        try:
            self._server = self._server_stack.enter_context(
                running("--runtime", "process", data=self.folder / "cluster", port=self._port)
            )
        except AssertionError as error:
            if "is used by another cluster" not in str(error):
                raise
            return False
        return True

    def kill_cluster(self) -> None:
        assert self._server is not None
        self._server.kill()
        self._server_stack.close()

    # the controllers

    def start(self, name: str, shift_s: float = 0.0) -> None:
        """A controller whose wall clock is wrong by so much."""
        command = [sys.executable, str(Path(__file__).with_name("controller.py")), str(shift_s)]
        self._starts[name] += 1
        with self._log(name).open("ab") as log:
            self.controllers[name] = subprocess.Popen(
                [*command, "highlander", "--config", str(self._file(name)), "--id", name],
                stdout=log,
                stderr=log,
                env={**os.environ},
            )

    def signal(self, name: str, number: signal.Signals) -> None:
        self.controllers[name].send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.controllers[name].wait(DEADLINE_S)
            del self.controllers[name]

    def leader(self) -> str:
        """The controller whose pod runs now; between two leaders, the next one."""
        found: list[str] = []

        def known() -> bool:
            assert self._server is not None
            answer = self._server.api.get("/api/v1/namespaces/default/pods/worker-pod")
            if answer.status == 200:
                found.append(answer.json["metadata"]["labels"]["controller-id"])
            return bool(found)

        self.wait(known, "somebody leads")
        return found[0]

    # what comes of it

    @property
    def epoch(self) -> int:
        return max(beats.epoch for beats in self.beats.values())

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        def logs(_: object) -> str:
            found = sorted(self.folder.glob("*.log"))
            return "\n".join(
                (what, *(f"{log.name}:\n{log.read_text(errors='replace')[-2000:]}" for log in found))
            )

        soon(condition, DEADLINE_S, logs)

    def wait_alive(self, above: int = -1) -> None:
        """Until every workload beats, now, in an epoch above this."""
        now = time.monotonic()
        for name, beats in self.beats.items():
            self.wait(
                lambda beats=beats: beats.is_alive(now, above),  # type: ignore[misc]
                f"{name} beats in an epoch above {above}",
            )

    def wait_contending(self) -> None:
        """Until every controller contends, and, with Raft, has a vote."""
        voters = max(0, len(self._member_wires) - 1)

        def ready() -> bool:
            logs = {name: self._log(name).read_text() for name in self.names}
            votes = sum(len(re.findall(r"member \d+ votes", text)) for text in logs.values())
            begun = (text.count("Highlander contends") >= self._starts[name] for name, text in logs.items())
            return votes >= voters and all(begun)

        self.wait(ready, "every controller contends")

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def check(self) -> None:
        for beats in (*self.beats.values(), self.jobs):
            beats.check()

    def _end(self) -> None:
        for process in self.controllers.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


@contextmanager
def held(wires: Iterable[Wire]) -> Iterator[None]:
    """Nothing gets through these; what was sent meanwhile arrives afterwards."""
    held_back = list(wires)
    for wire in held_back:
        wire.hold()
    try:
        yield
    finally:
        for wire in held_back:
            wire.mend()


@contextmanager
def fleet(folder: Path, storage: str = "redis", size: int = 2) -> Iterator[Fleet]:
    assert STEER.exists()
    with ExitStack() as stack:
        yield Fleet(folder, stack, storage, size)
