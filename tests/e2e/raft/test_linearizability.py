"""What clients saw of real processes whose leaders are killed could have happened one after the other.

Every client asks any node: writes are refused elsewhere than on the leader, reads are answered everywhere. An
operation that nobody has answered may have happened or not.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.e2e.raft.processes import Cluster, until
from tests.sim.raft.linearizability import Operation, linearizable

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

KEYS = ("a", "b", "c")
CLIENTS = 6
KILLS = 4
#: Of one key. The search for an order takes longer than linear time.
MOST = 150


class History:
    """Of one key after the other; shared by the clients."""

    def __init__(self) -> None:
        self._operations: dict[str, list[Operation]] = {key: [] for key in KEYS}
        self._lock = threading.Lock()
        self._values = itertools.count(1)

    def next_value(self) -> int:
        with self._lock:
            return next(self._values)

    def add(self, key: str, operation: Operation) -> None:
        with self._lock:
            self._operations[key].append(operation)

    def __len__(self) -> int:
        return sum(map(len, self._operations.values()))

    def full(self, *keys: str) -> bool:
        return all(len(self._operations[key]) >= MOST for key in keys)

    def items(self) -> Iterator[tuple[str, list[Operation]]]:
        return iter(self._operations.items())


def run_client(seed: int, cluster: Cluster, history: History, stop: threading.Event) -> None:
    rng = Random(seed)
    while not stop.wait(rng.uniform(0.0, 0.05)):
        key = rng.choice(KEYS)
        member = rng.choice([member for member in tuple(cluster.members.values()) if member.up])
        if history.full(key) or not member.alive:
            continue
        value = history.next_value() if rng.random() < 0.6 else None
        called = time.monotonic()
        outcome = member.operate(f"get {key}" if value is None else f"put {key} {value}", patience_s=2.0)
        returned = time.monotonic()
        if "value" in outcome:
            history.add(key, Operation(called, returned, int(outcome["value"] or 0), write=value is not None))
        elif "unknown" in outcome and value is not None:
            history.add(key, Operation(called, math.inf, value, write=True))


def test_reads_and_writes_over_kills_are_linearizable(tmp_path: Path) -> None:
    history, stop = History(), threading.Event()
    with Cluster(tmp_path, 3, writers=1) as cluster:
        clients = [
            threading.Thread(target=run_client, args=(seed, cluster, history, stop))
            for seed in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        try:
            for _ in range(KILLS):
                node, leader, term = cluster.wait_leader()
                enough = len(history) + 30
                until(lambda enough=enough: len(history) > enough or history.full(*KEYS))
                leader.kill()
                cluster.wait_leader(term)
                cluster.start(node)
                until(lambda node=node: cluster.members[node].up)
        finally:
            stop.set()
            for client in clients:
                client.join()
    for key, operations in history.items():
        unknown = sum(operation.returned == math.inf for operation in operations)
        writes = sum(operation.write for operation in operations)
        print(f"{key}: {len(operations)} operations, {writes} writes, {unknown} with unknown outcome")
        assert writes > 10
        assert len(operations) > writes + 5
        assert linearizable(operations), f"no order explains what was seen of {key}"
