"""Contenders as processes: killed, and stopped in the middle of it all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.postgres_server import postgres_server
from tests.support.redis_server import redis_server
from tests.support.steer import DEADLINE_S, running

pytestmark = pytest.mark.slow

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/lock"


@dataclass(frozen=True)
class Lock:
    """What contenders in processes contend for."""

    arguments: tuple[str, ...]
    """Of the program `contender.py`, after the identity."""
    state: Callable[[], tuple[str, int]]
    """Who holds it, and the highest term."""
    frozen: Callable[[], AbstractContextManager[None]]
    """Makes the server hang."""
    environment: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def in_cluster() -> Iterator[Lock]:
    with running() as server:

        def state() -> tuple[str, int]:
            spec = server.api.get(LEASE).json["spec"]
            return spec["holderIdentity"], spec["leaseTransitions"]

        @contextmanager
        def frozen() -> Iterator[None]:
            server.process.send_signal(signal.SIGSTOP)
            try:
                yield
            finally:
                server.process.send_signal(signal.SIGCONT)

        yield Lock(("lease",), state, frozen, {"KUBECONFIG": str(server.kubeconfig)})


@contextmanager
def in_redis() -> Iterator[Lock]:
    with redis_server() as server:

        def state() -> tuple[str, int]:
            holder, epoch = (server.cli("HGET", "steersman:lock:lock", name) for name in ("holder", "epoch"))
            return holder, int(epoch)

        yield Lock(("redis", server.url), state, server.frozen)


@contextmanager
def in_postgres() -> Iterator[Lock]:
    with postgres_server() as server:

        def state() -> tuple[str, int]:
            holder, epoch = server.sql("SELECT holder, epoch FROM steersman_locks").split("|")
            return holder, int(epoch)

        yield Lock(("postgres", server.url), state, server.frozen)


class Contender:
    """Its lines as they come."""

    def __init__(self, lock: Lock, identity: str) -> None:
        self.lines: list[list[str]] = []
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("contender.py")), identity, *lock.arguments],
            env={"PATH": os.environ["PATH"], **lock.environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.split())
                self._changed.notify_all()

    def wait(self, condition: Callable[[list[list[str]]], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self.lines), DEADLINE_S), self.lines[-3:]

    def wait_for(self, word: str, times: int = 1) -> None:
        self.wait(lambda lines: sum(line[0] == word for line in lines) >= times)

    def times(self, word: str) -> list[float]:
        return [float(line[-1]) for line in list(self.lines) if line[0] == word]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout
        self.process.stdout.close()


@contextmanager
def contending(lock: Lock, identity: str) -> Iterator[Contender]:
    contender = Contender(lock, identity)
    try:
        yield contender
    finally:
        contender.close()


@pytest.fixture(params=[in_cluster, in_redis, in_postgres])
def lock(request: pytest.FixtureRequest) -> Iterator[Lock]:
    with request.param() as lock:
        yield lock


def test_when_the_leader_is_killed_another_leads_in_a_higher_term(lock: Lock) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(contending(lock, "one"))
        first.wait_for("acts")
        second = stack.enter_context(contending(lock, "two"))
        first.process.kill()
        second.wait_for("acts")
        assert second.times("acts")[0] > first.times("acts")[-1]
        assert lock.state() == ("two", 2)


def test_a_leader_that_was_stopped_does_not_act_when_it_goes_on(lock: Lock) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(contending(lock, "one"))
        first.wait_for("acts")
        second = stack.enter_context(contending(lock, "two"))
        first.process.send_signal(signal.SIGSTOP)
        second.wait_for("acts")
        taken_over = second.times("acts")[0]
        first.process.send_signal(signal.SIGCONT)
        first.wait_for("stopped")
        acts = len(second.times("acts"))
        second.wait_for("acts", acts + 50)
        assert all(moment < taken_over for moment in first.times("acts"))
        assert second.times("stopped") == []


def test_a_leader_that_ends_gives_the_lock_up(lock: Lock) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(contending(lock, "one"))
        first.wait_for("acts")
        first.process.send_signal(signal.SIGINT)
        first.process.wait(DEADLINE_S)
        assert lock.state() == ("", 1)


def test_a_server_that_hangs_makes_the_leader_stop(lock: Lock) -> None:
    with contending(lock, "one") as leader:
        leader.wait_for("acts")
        with lock.frozen():
            leader.wait_for("stopped")
        assert leader.times("stopped")[0] - leader.times("acts")[-1] < 1
        leader.wait_for("leads", 2)
