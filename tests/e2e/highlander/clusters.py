"""Two real clusters, a controller in each, and one lock for both.

A copy writes its heartbeats to a file of its workload and cluster. Within a cluster there are never two at once.
Of the two clusters only those copies overlap whose leader was killed, or gave up: nobody can have seen their end.
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.highlander.beats import PROGRAM, Beats, Copy
from tests.support.ports import free_port
from tests.support.postgres_server import PostgresServer
from tests.support.redis_server import RedisServer
from tests.support.steer import STEER, Steer, running
from tests.support.waiting import pass_time_blocking, soon

__all__ = ["FAILBACK_S", "TTL_S", "Contest", "Site", "site"]

#: Nothing takes this long, not even on a machine that does other things as well.
DEADLINE_S = 90.0
TTL_S = 3.0
FAILBACK_S = 2.0
GIVE_UP_S = 1.0

_WORKLOADS = {"worker": "processes", "web": "services"}
_FOREVER_S = 86_400


class Site:
    """One cluster, which may die and come back."""

    def __init__(self, name: str, folder: Path, stack: ExitStack) -> None:
        self.name = name
        self._folder = folder
        self._port = free_port()
        self._stack = stack
        self._server: Steer | None = None
        self.start()

    @property
    def kubeconfig(self) -> Path:
        assert self._server is not None
        return self._server.kubeconfig

    def start(self) -> None:
        options = ("--runtime", "process")
        started = running(*options, data=self._folder / self.name, port=self._port)
        self._server = self._stack.enter_context(started)

    def ensure_started(self) -> None:
        if self._server is None or self._server.process.poll() is not None:
            self.start()

    def kill(self) -> None:
        """The API is gone; the nodes' containers live on."""
        assert self._server is not None
        self._server.kill()


@contextmanager
def site(name: str, folder: Path) -> Iterator[Site]:
    with ExitStack() as stack:
        made = Site(name, folder, stack)
        try:
            yield made
        finally:
            # What a killed one left running ends with the next.
            made.ensure_started()


class Contest:
    """One tenant, a controller of it in each cluster."""

    def __init__(
        self, tenant: str, sites: list[Site], store: RedisServer | PostgresServer, folder: Path
    ) -> None:
        self._tenant = tenant
        self._sites = {each.name: each for each in sites}
        self._store = store
        self._starts: Counter[str] = Counter()
        self._folder = folder / tenant
        self._folder.mkdir()
        (self._folder / "token").write_text("token")
        self._beats = {
            (site, name): Beats(self._folder / f"{name}-of-{site}")
            for site in self._sites
            for name in _WORKLOADS
        }
        self.controllers: dict[str, subprocess.Popen[bytes]] = {}

    # controllers

    def start(self, name: str, priority: int) -> None:
        """The controller of a cluster."""
        file = self._folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(self._settings(name, priority)))
        self._starts[name] += 1
        with self._log_file(name).open("ab") as log:
            command = [str(STEER), "highlander", "--config", str(file), "--id", name]
            self.controllers[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def wait_contends(self, name: str) -> None:
        self.wait(lambda: self._log(name).count("contends") == self._starts[name], f"{name} contends")

    def signal(self, name: str, number: signal.Signals) -> None:
        process = self.controllers.pop(name)
        process.send_signal(number)
        process.wait(DEADLINE_S)

    def order(self, name: str, *words: str) -> None:
        port = re.findall(r"dashboard on port (\d+)", self._log(name))[-1]
        where = ("--address", f"http://127.0.0.1:{port}", "--token-file", str(self._folder / "token"))
        done = subprocess.run(
            [str(STEER), "highlander", *words, *where], capture_output=True, text=True, timeout=DEADLINE_S
        )
        assert done.returncode == 0, done.stderr

    def end(self) -> None:
        for process in self.controllers.values():
            process.send_signal(signal.SIGTERM)
        for process in self.controllers.values():
            try:
                process.wait(DEADLINE_S)
            finally:
                process.kill()
                process.wait()

    def _settings(self, name: str, priority: int) -> dict[str, Any]:
        election = {"leaseDuration": TTL_S, "renewDeadline": 2, "retryPeriod": 0.5}
        given: dict[str, Any] = {
            "tenant": self._tenant,
            "port": 0,
            "priority": priority,
            "cluster": {"name": name, "kubeconfig": str(self._sites[name].kubeconfig)},
            "api": {"bind": "127.0.0.1", "tokenFile": str(self._folder / "token")},
            "election": {**election, "failbackAfter": FAILBACK_S, "giveUpAfter": GIVE_UP_S},
            "workloads": {kind: [self._workload(each, name)] for each, kind in _WORKLOADS.items()},
        }
        if isinstance(self._store, RedisServer):
            return {**given, "storageType": "redis", "redis": {"addr": self._store.url}}
        return {**given, "storageType": "db", "databaseURL": self._store.url}

    def _workload(self, name: str, site: str) -> dict[str, Any]:
        return {
            "name": f"{self._tenant}-{name}",
            "image": "host/python3",
            "args": ["-ISc", PROGRAM, f"/beats/{name}-of-{site}", str(_FOREVER_S)],
            "terminationGracePeriod": 2,
            "volumes": [{"name": "beats", "hostPath": {"path": str(self._folder)}}],
            "volumeMounts": [{"name": "beats", "mountPath": "/beats"}],
        }

    # what comes of it

    @property
    def epoch(self) -> int:
        return max(beats.epoch for beats in self._beats.values())

    def began(self, epoch: int) -> float:
        """When the first copy of an epoch began."""
        return min(
            copy.first for workload in _WORKLOADS for _, copy in self.copies(workload) if copy.epoch == epoch
        )

    def copies(self, workload: str) -> list[tuple[str, Copy]]:
        """In which cluster, in the order of their beginning."""
        found = [
            (site, copy)
            for (site, name), beats in self._beats.items()
            if name == workload
            for copy in beats.copies()
        ]
        return sorted(found, key=lambda each: each[1].first)

    def runs_in(self, site: str, above: int = -1) -> bool:
        """Whether every workload of an epoch above this beats there, now."""
        since = time.monotonic() - 1
        return all(beats.is_alive(since, above) for (place, _), beats in self._beats.items() if place == site)

    def wait_runs_in(self, site: str, above: int = -1) -> None:
        self.wait(lambda: self.runs_in(site, above), f"{self._tenant} runs in {site}")

    def check(self, left_behind: set[int]) -> None:
        """Never two at once but for copies that a leader of these epochs has left behind; epochs only grow, and
        each of them is one cluster's."""
        for beats in self._beats.values():
            beats.check()
        homes: dict[int, str] = {}
        for workload in _WORKLOADS:
            copies = self.copies(workload)
            for site, copy in copies:
                assert homes.setdefault(copy.epoch, site) == site, f"epoch {copy.epoch} in both clusters"
            for (_, earlier), (_, later) in combinations(copies, 2):
                assert earlier.epoch <= later.epoch, f"{workload}: {later} after {earlier}"
                if earlier.epoch not in left_behind:
                    assert earlier.last < later.first, f"{workload}: two copies: {earlier} and {later}"

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        def logs(_: object) -> str:
            return "\n".join((what, *(f"{name}:\n{self._log(name)[-2000:]}" for name in self._sites)))

        soon(condition, DEADLINE_S, logs)

    def stays(self, value: Callable[[], object]) -> None:
        """It is the same at every look, for longer than a controller takes to contend."""
        before, end = value(), time.monotonic() + TTL_S
        while time.monotonic() < end:
            assert value() == before
            pass_time_blocking(0.05, "how often is looked whether it stays so")

    def has_won(self, name: str) -> int:
        """How often a controller had the lock, or the one by which it shows that it should lead."""
        return self._log(name).count(f" leads highlander-leader-lock:{self._tenant}")

    def _log_file(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _log(self, name: str) -> str:
        file = self._log_file(name)
        return file.read_text(errors="replace") if file.exists() else ""
