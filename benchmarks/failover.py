"""Three replicas of an operator: the leader is killed, and an object waits for the next leader's first write.

With Raft among the replicas and with a Lease (its usual 15 s). The crate k8s-operator has no row: what elects
a leader it leaves to its user.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from benchmarks.contending import Contender, create, done, prepare, server
from benchmarks.options import Options, Unusable
from benchmarks.process import cpu_seconds, environment, memory_mb
from benchmarks.programs.replicas import MyResource
from benchmarks.table import Table
from steersman.client import Client

__all__ = ["run"]

_LEADS = b'leader_election_master_status{name="bench"} 1'
_STEER = Path(sys.executable).with_name("steer")
_PROGRAM = Path(__file__).with_name("programs") / "replicated.py"
_REPLICAS = 3
_LOOK_S = 0.01
_LIMIT_S = 90.0
#: After a start, until all have found each other.
_SETTLE_S = 5.0
_REST_S = 10.0

_CONTENDER = Contender("steersman", (), MyResource.crd(), {"replicas": 3}, "replicas")


def run(options: Options) -> list[Table]:
    kills = 1 if options.quick else 5
    return [_measure(engine, kills if engine == "raft" else min(kills, 2)) for engine in ("raft", "lease")]


def _measure(engine: str, kills: int) -> Table:
    table = Table(f"Three replicas of an operator by {engine}, the leader killed {kills} times")
    with server(), ExitStack() as stack:
        replicas = _Replicas(stack, engine)
        gaps = asyncio.run(_kill(replicas, kills))
        table.add("killed leader to the next one's first write, median", statistics.median(gaps), "s")
        table.add("longest", max(gaps), "s")
        table.add("memory of a replica", statistics.mean(map(memory_mb, replicas.pids)), "MB")
        before = sum(map(cpu_seconds, replicas.pids))
        time.sleep(_REST_S)
        used = (sum(map(cpu_seconds, replicas.pids)) - before) / _REST_S / _REPLICAS
        table.add("CPU of a replica at rest", used * 100, "%")
    return table


async def _kill(replicas: _Replicas, kills: int) -> list[float]:
    await prepare(_CONTENDER)
    replicas.start_all()
    gaps = []
    async with Client.load() as client:
        await create(client, _CONTENDER, "first", 1)
        await done(client, _CONTENDER, 1)
        for number in range(kills):
            await asyncio.sleep(_SETTLE_S)
            leader = replicas.leader()
            killed = time.perf_counter()
            os.kill(leader.pid, signal.SIGKILL)
            await create(client, _CONTENDER, f"after-{number}", 1)
            await _handled(client, f"after-{number}-0")
            gaps.append(time.perf_counter() - killed)
            replicas.start_again(leader)
    return gaps


async def _handled(client: Client, name: str) -> None:
    deadline = time.perf_counter() + _LIMIT_S
    while time.perf_counter() < deadline:
        thing: dict[str, Any] = await client.get(_CONTENDER.resource, name)
        if (thing.get("status") or {}).get("replicas"):
            return
        await asyncio.sleep(_LOOK_S)
    raise Unusable(f"no other leader within {_LIMIT_S:.0f} s")


class _Replicas:
    def __init__(self, stack: ExitStack, engine: str) -> None:
        self._stack = stack
        self._engine = engine
        self._addresses = [f"127.0.0.1:{_free_port()}" for _ in range(_REPLICAS)]
        self._metrics = [_free_port() for _ in range(_REPLICAS)]
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def start_all(self) -> None:
        self._processes = [self._start(number) for number in range(_REPLICAS)]

    def start_again(self, ended: subprocess.Popen[bytes]) -> None:
        ended.wait()
        number = self._processes.index(ended)
        self._processes[number] = self._start(number)

    def leader(self) -> subprocess.Popen[bytes]:
        """The one whose metrics say so."""
        deadline = time.perf_counter() + _LIMIT_S
        while time.perf_counter() < deadline:
            for process, port in zip(self._processes, self._metrics, strict=True):
                if _LEADS in _scrape(port):
                    return process
            time.sleep(_LOOK_S)
        raise Unusable("no replica says that it leads")

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        told = {"ENGINE": self._engine, "NODE": str(number), "PEERS": ",".join(self._addresses)}
        process = subprocess.Popen(
            [_STEER, "run", _PROGRAM, "--metrics-bind", f"127.0.0.1:{self._metrics[number]}"],
            env={**environment(), "KUBECONFIG": os.environ["KUBECONFIG"], **told},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._stack.callback(_end, process)
        return process


def _scrape(port: int) -> bytes:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as sock:
        sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return b"".join(iter(lambda: sock.recv(65536), b""))
    return b""


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
