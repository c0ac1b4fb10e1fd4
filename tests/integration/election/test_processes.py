"""Contenders as processes: killed, and stopped in the middle of it all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.steer import DEADLINE_S, Steer, running

pytestmark = pytest.mark.slow

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/lock"


class Contender:
    """Its lines as they come."""

    def __init__(self, server: Steer, identity: str) -> None:
        self.lines: list[list[str]] = []
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("contender.py")), identity],
            env={"PATH": os.environ["PATH"], "KUBECONFIG": str(server.kubeconfig)},
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
def contending(server: Steer, identity: str) -> Iterator[Contender]:
    contender = Contender(server, identity)
    try:
        yield contender
    finally:
        contender.close()


@pytest.fixture
def server() -> Iterator[Steer]:
    with running() as server:
        yield server


def test_when_the_leader_is_killed_another_leads_in_a_higher_term(server: Steer) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(contending(server, "one"))
        first.wait_for("acts")
        second = stack.enter_context(contending(server, "two"))
        first.process.kill()
        second.wait_for("acts")
        assert second.times("acts")[0] > first.times("acts")[-1]
        spec = server.api.get(LEASE).json["spec"]
        assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("two", 2)


def test_a_leader_that_was_stopped_does_not_act_when_it_goes_on(server: Steer) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(contending(server, "one"))
        first.wait_for("acts")
        second = stack.enter_context(contending(server, "two"))
        first.process.send_signal(signal.SIGSTOP)
        second.wait_for("acts")
        taken_over = second.times("acts")[0]
        first.process.send_signal(signal.SIGCONT)
        first.wait_for("stopped")
        acts = len(second.times("acts"))
        second.wait_for("acts", acts + 50)
        assert all(moment < taken_over for moment in first.times("acts"))
        assert second.times("stopped") == []


def test_a_leader_that_ends_gives_the_lease_up(server: Steer) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(contending(server, "one"))
        first.wait_for("acts")
        first.process.send_signal(signal.SIGINT)
        first.process.wait(DEADLINE_S)
        spec = server.api.get(LEASE).json["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)


def test_a_server_that_hangs_makes_the_leader_stop(server: Steer) -> None:
    with contending(server, "one") as leader:
        leader.wait_for("acts")
        server.process.send_signal(signal.SIGSTOP)
        try:
            leader.wait_for("stopped")
        finally:
            server.process.send_signal(signal.SIGCONT)
        assert leader.times("stopped")[0] - leader.times("acts")[-1] < 1
        leader.wait_for("leads", 2)
