"""Three Raft nodes beside three of etcd, on loopback, in one run: writes, failover, what being idle costs.

The nodes are `tests/e2e/raft/member.py` with RocksDB and mutual TLS. They are written to from inside their
program, as an operator does (embedded), and by a client that is no member, with a certificate (through the
network). etcd (Debian's package) is asked over gRPC by a Python client in the same way, and talks to it and
to its peers in the clear: it has the easier part.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import grpc  # type: ignore[import-untyped]

from benchmarks.options import Options, Unusable
from benchmarks.process import cpu_seconds, memory_mb
from benchmarks.table import Table
from steersman.raft.client import RaftClient
from tests.e2e.raft.processes import Cluster, Member, until
from tests.support.ports import free_ports

__all__ = ["run"]

_SIZE = 3
_IN_FLIGHT = (1, 64)
_ROUND_S = 1.0
#: What etcd's own messages look like: field 1 is the key, field 2 the value.
_PUT = "/etcdserverpb.KV/Put"
_STATUS = "/etcdserverpb.Maintenance/Status"


def run(options: Options) -> list[Table]:
    if shutil.which("etcd") is None:
        raise Unusable("etcd is not installed: scripts/install-servers etcd-server")
    rounds, kills = (2, 2) if options.quick else (7, 20)
    with tempfile.TemporaryDirectory() as folder:
        with EtcdCluster(Path(folder) / "etcd") as etcd:
            with Cluster(Path(folder) / "idle", _SIZE, writers=0) as cluster:
                systems = [_nodes(cluster), _asked(cluster), _servers(etcd)]
                own, asked, peer = _measure(systems, rounds)
            peer_failover = _fail_over_etcd(etcd, max(1, kills // 4))
        with Cluster(Path(folder) / "kills", _SIZE) as cluster:
            failover = _fail_over(cluster, kills)
            lost = cluster.lost()
    tables = [_writes(own, asked, peer), _rest(own, peer), _failover(failover, peer_failover)]
    tables[-1].check(not lost, f"acknowledged writes are lost: {lost}")
    for table in tables:
        table.peer_name = "etcd"
    return tables


@dataclass(frozen=True, slots=True)
class Measured:
    """Three processes, and how to have them write for some seconds with so many writes in flight."""

    pids: Sequence[int]
    bench: Callable[[int, float], dict[str, float]]


def _nodes(cluster: Cluster) -> Measured:
    return Measured(
        [member.pid for member in cluster.all],
        lambda in_flight, seconds: _leader(cluster).ask(f"bench {in_flight} {seconds}"),
    )


def _asked(cluster: Cluster) -> Measured:
    """The same nodes through the network."""

    async def bench(in_flight: int, seconds: float) -> dict[str, float]:
        async with RaftClient(cluster.addresses, tls=cluster.tls_folder(0)) as client:
            return await _load(lambda writer: client.put(f"bench/{writer}", b"x" * 64), in_flight, seconds)

    return Measured(
        [member.pid for member in cluster.all],
        lambda in_flight, seconds: asyncio.run(bench(in_flight, seconds)),
    )


async def _load(put: Callable[[int], Awaitable[object]], in_flight: int, seconds: float) -> dict[str, float]:
    """What a client gets done, once it is connected."""
    await put(0)
    took_s: list[float] = []
    end = time.perf_counter() + seconds

    async def write(writer: int) -> None:
        while (started := time.perf_counter()) < end:
            await put(writer)
            took_s.append(time.perf_counter() - started)

    await asyncio.gather(*map(write, range(in_flight)))
    took_s.sort()
    return {
        "rate": len(took_s) / seconds,
        "median_ms": 1000 * took_s[len(took_s) // 2],
        "p99_ms": 1000 * took_s[len(took_s) * 99 // 100],
    }


def _servers(etcd: EtcdCluster) -> Measured:
    return Measured([server.pid for server in etcd.servers.values()], etcd.bench)


def _leader(cluster: Cluster) -> Member:
    found: Member = until(lambda: next((m for m in cluster.all if m.ask("status").get("leads")), None))
    return found


def _measure(systems: Sequence[Measured], rounds: int) -> list[dict[str, float]]:
    """All at rest, then in turn, so that whatever else the machine does meets them alike; of each figure the
    median over the rounds."""
    time.sleep(1.0)
    before, started = [_cpu(system) for system in systems], time.monotonic()
    time.sleep(rounds * _ROUND_S)
    took_s = time.monotonic() - started
    measured: list[dict[str, list[float]]] = [
        {"idle": [100 * (_cpu(system) - cpu_s) / took_s], "memory": [max(map(memory_mb, system.pids))]}
        for system, cpu_s in zip(systems, before, strict=True)
    ]
    for _ in range(rounds):
        for in_flight in _IN_FLIGHT:
            for system, figures in zip(systems, measured, strict=True):
                for name, value in system.bench(in_flight, _ROUND_S).items():
                    figures.setdefault(f"{in_flight} {name}", []).append(value)
    return [{name: statistics.median(values) for name, values in figures.items()} for figures in measured]


def _cpu(system: Measured) -> float:
    return sum(map(cpu_seconds, system.pids))


def _writes(own: dict[str, float], asked: dict[str, float], peer: dict[str, float]) -> Table:
    table = Table("Writes to three nodes, durable on a majority")
    for in_flight, times_better in zip(_IN_FLIGHT, (1, 5), strict=True):
        rate = f"{in_flight} rate"
        bar = times_better * peer[rate]
        for way, measured, of_way in (("embedded", own, bar), ("through the network", asked, None)):
            name = f"{in_flight} in flight, {way}"
            table.add(name, measured[rate], "writes/s", peer=peer[rate], bar=of_way, more_is_better=True)
            for figure in ("median", "p99"):
                key = f"{in_flight} {figure}_ms"
                table.add(f"{name}, {figure}", measured[key], "ms", peer=peer[key])
    table.notes.append("own nodes: RocksDB, mutual TLS; embedded: from the leader's own program")
    table.notes.append(
        "through the network, and etcd: a Python client on one connection; etcd's in plaintext"
    )
    table.notes.append("in turns of a second, medians of the turns")
    return table


def _rest(own: dict[str, float], peer: dict[str, float]) -> Table:
    table = Table("Three nodes at rest")
    table.add("CPU of all three", own["idle"], "% of a core", peer=peer["idle"], bar=4.0)
    table.add("memory of the largest", own["memory"], "MB", peer=peer["memory"], bar=60.0)
    return table


def _failover(own_s: list[float], peer_s: list[float]) -> Table:
    table = Table(f"The leader is killed under load {len(own_s)} times: until the next leader's first write")
    table.add("median", 1000 * statistics.median(own_s), "ms",
              peer=1000 * statistics.median(peer_s), bar=300)  # fmt: skip
    table.add("longest", 1000 * max(own_s), "ms", peer=1000 * max(peer_s), bar=600)
    table.notes.append("both with their default timing")
    return table


def _fail_over(cluster: Cluster, kills: int) -> list[float]:
    took_s = []
    for _ in range(kills):
        until(lambda: cluster.voters() == list(range(_SIZE)))
        time.sleep(0.5)
        node, leader, term = cluster.wait_leader()
        killed_at = leader.kill()
        _, successor, next_term = cluster.wait_leader(term)
        took_s.append(successor.first_ack[next_term] - killed_at)
        cluster.start(node)
        until(lambda node=node: cluster.members[node].up)
    return took_s


class EtcdCluster:
    def __init__(self, folder: Path) -> None:
        ports = free_ports(2 * _SIZE)
        self._folder = folder
        self._clients = ports[:_SIZE]
        self._peers = ports[_SIZE:]
        self.servers: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, node: int) -> None:
        client, peer = (f"http://127.0.0.1:{ports[node]}" for ports in (self._clients, self._peers))
        everybody = ",".join(f"n{n}=http://127.0.0.1:{port}" for n, port in enumerate(self._peers))
        self.servers[node] = subprocess.Popen(
            ["etcd", "--name", f"n{node}", "--data-dir", str(self._folder / str(node)),
             "--listen-client-urls", client, "--advertise-client-urls", client,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", everybody, "--log-level", "panic", "--logger", "zap"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True)
        for node in range(_SIZE):
            self.start(node)
        until(lambda: all(self.put(node) for node in range(_SIZE)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self.servers.values():
            server.kill()
            server.wait()

    def put(self, node: int, timeout_s: float = 0.5) -> bool:
        with grpc.insecure_channel(f"127.0.0.1:{self._clients[node]}") as channel:
            try:
                channel.unary_unary(_PUT)(_field(1, b"key") + _field(2, b"value"), timeout=timeout_s)
            except grpc.RpcError:
                return False
        return True

    def leader(self) -> int:
        """The node that leads: whose own id is the leader's."""
        for node, port in enumerate(self._clients):
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                answer = _fields(channel.unary_unary(_STATUS)(b"", timeout=5.0))
            if _fields(answer[1])[2] == answer.get(4):
                return node
        raise Unusable("etcd has no leader")

    def bench(self, in_flight: int, seconds: float) -> dict[str, float]:
        return asyncio.run(self._bench(self.leader(), in_flight, seconds))

    async def _bench(self, node: int, in_flight: int, seconds: float) -> dict[str, float]:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{self._clients[node]}") as channel:
            ask = channel.unary_unary(_PUT)

            async def put(writer: int) -> None:
                await ask(_field(1, b"bench/%d" % writer) + _field(2, b"x" * 64))

            return await _load(put, in_flight, seconds)


def _fail_over_etcd(etcd: EtcdCluster, kills: int) -> list[float]:
    took_s = []
    for _ in range(kills):
        until(lambda: all(etcd.put(node) for node in range(_SIZE)))
        leader = etcd.leader()
        killed_at = time.monotonic()
        etcd.servers[leader].kill()
        until(lambda leader=leader: etcd.put((leader + 1) % _SIZE, 0.05))
        took_s.append(time.monotonic() - killed_at)
        etcd.servers[leader].wait()
        etcd.start(leader)
    return took_s


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2, len(data)]) + data


def _fields(message: Any) -> dict[int, Any]:
    """The numbers and strings of a protobuf message."""
    found: dict[int, Any] = {}
    position = 0

    def number() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = message[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(message):
        key = number()
        if key & 7 == 0:
            found[key >> 3] = number()
        else:
            size = number()
            found[key >> 3] = message[position : position + size]
            position += size
    return found
