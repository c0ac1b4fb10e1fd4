"""The instruments of the simulation must be able to say no."""

from __future__ import annotations

import math
from random import Random

import pytest

from steersman.raft.core import Entry
from tests.scenarios.raft.lab import Lab
from tests.sim.raft.disk import Content, Disk
from tests.sim.raft.linearizability import Operation, linearizable


def _write(called: float, returned: float, value: int) -> Operation:
    return Operation(called, returned, value, write=True)


def _read(called: float, returned: float, value: int) -> Operation:
    return Operation(called, returned, value, write=False)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param([_read(0, 1, 0)], True, id="initial-value"),
        pytest.param([_write(0, 1, 5), _read(2, 3, 5)], True, id="read-after-write"),
        pytest.param([_write(0, 1, 5), _read(2, 3, 0)], False, id="stale-read"),
        pytest.param([_write(0, 9, 5), _read(2, 3, 5), _read(4, 5, 5)], True, id="read-during-a-write"),
        pytest.param([_write(0, 9, 5), _read(2, 3, 5), _read(4, 5, 0)], False, id="going-back"),
        pytest.param([_write(0, math.inf, 5), _read(8, 9, 5)], True, id="an-unanswered-write-happened"),
        pytest.param([_write(0, math.inf, 5), _read(8, 9, 0)], True, id="an-unanswered-write-did-not"),
        pytest.param([_write(0, math.inf, 5), _read(6, 7, 5), _read(8, 9, 0)], False, id="not-both"),
        pytest.param([_write(0, 1, 5), _write(2, 3, 6), _read(4, 5, 5)], False, id="lost-update"),
        pytest.param([_read(0, 1, 7)], False, id="out-of-thin-air"),
    ],
)
def test_linearizability(history: list[Operation], expected: bool) -> None:
    assert linearizable(history) is expected


def test_a_crash_loses_what_was_not_synced_and_nothing_else() -> None:
    lost = set()
    for seed in range(20):
        disk = Disk(Content())
        for index in (1, 2, 3):
            disk.write(lambda content, index=index: content.log.append(Entry(index, 1)))  # type: ignore[misc]
        disk.sync(1)
        assert disk.seen.last_index() == 3
        disk.crash(Random(seed))
        assert disk.seen.last_index() == disk.durable.last_index() >= 1
        lost.add(disk.seen.last_index())
    assert lost == {1, 2, 3}


@pytest.mark.parametrize(
    ("promise", "violate"),
    [
        pytest.param(
            "log matching", lambda lab: lab.checks.written(lab[1], [Entry(2, 2, data=b"?")]), id="log"
        ),
        pytest.param(
            "state machine", lambda lab: lab.checks.applied(lab[1], [Entry(2, 9)]), id="state-machine"
        ),
    ],
)
def test_the_checks_notice(promise: str, violate: object) -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    with pytest.raises(AssertionError, match=promise):
        violate(lab)  # type: ignore[operator]


def test_two_leaders_are_noticed() -> None:
    lab = Lab([1, 2, 3])
    lab.elect(1)
    other = Lab([1, 2, 3])
    other.elect(2)
    lab.seats[2].raft = other[2]
    with pytest.raises(AssertionError, match="election safety"):
        lab.checks.members(lab.seats.values())


def test_two_leases_are_noticed() -> None:
    lab = Lab([1, 2, 3])
    other = Lab([1, 2, 3])
    other.elect(2)
    other.elect(2)
    lab.wait(other.now - lab.now - 1)
    lab.elect(1)
    assert lab[1].term < other[2].term
    lab.now = other.now = max(lab.now, other.now)
    lab.heartbeat(1)
    other.now = lab.now
    other.tick(2)
    other.settle()
    lab.seats[2].raft = other[2]
    with pytest.raises(AssertionError, match="lease safety"):
        lab.checks.members(lab.seats.values())
