"""There can be only one: rounds of faults, and no instant with two living copies.

Eight rounds here; `STEERSMAN_HIGHLANDER_ROUNDS=100` for a long run, `STEERSMAN_HIGHLANDER_SEED` for another one.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.highlander.rounds import TTL_S, Fleet, fleet

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

ROUNDS = int(os.environ.get("STEERSMAN_HIGHLANDER_ROUNDS", "8"))
SEED = int(os.environ.get("STEERSMAN_HIGHLANDER_SEED", "1"))

FAULTS = ("kill", "freeze", "store-restart", "store-hang", "api-restart", "term", "kill-both", "kill")


def befall(here: Fleet, fault: str, rng: random.Random) -> bool:
    """Have a fault happen and end; whether another leader must follow."""
    leader = here.leader()
    shift_s = rng.choice((0.0, 3600.0, -3600.0))
    match fault:
        case "kill" | "term":
            here.signal(leader, signal.SIGKILL if fault == "kill" else signal.SIGTERM)
            here.start(leader, shift_s)
            return True
        case "kill-both":
            for name in ("a", "b"):
                here.signal(name, signal.SIGKILL)
                here.start(name, shift_s)
            return True
        case "freeze":
            here.signal(leader, signal.SIGSTOP)
            time.sleep(TTL_S * rng.uniform(0.5, 2))
            here.signal(leader, signal.SIGCONT)
        case "store-restart":
            assert here.redis is not None
            here.redis.kill()
            time.sleep(rng.uniform(0, TTL_S))
            here.redis.start()
        case "store-hang":
            assert here.redis is not None
            with here.redis.frozen():
                time.sleep(TTL_S * rng.uniform(0.5, 2))
        case "api-restart":
            here.kill_cluster()
            here.start_cluster()
    return False


def test_never_two_copies(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    with fleet(tmp_path) as here:
        here.start("a")
        here.start("b", 3600.0)
        here.wait_alive()
        for number in range(ROUNDS):
            fault = FAULTS[number] if number < len(FAULTS) else rng.choice(FAULTS)
            before = here.beats["worker"].epoch
            changes = befall(here, fault, rng)
            here.wait_alive(before if changes else -1)
            here.check()
        for name in ("a", "b"):
            here.signal(name, signal.SIGTERM)
        here.check()


@pytest.mark.parametrize(("storage", "limit_s"), [("redis", TTL_S + 1), ("raft", TTL_S + 1)])
def test_how_long_there_is_none_after_the_leader_was_killed(
    tmp_path: Path, record_property: Callable[[str, object], None], storage: str, limit_s: float
) -> None:
    """The workload lives on until another leader replaces it: what is measured is its stop and start."""
    gaps: list[float] = []
    failovers: list[float] = []
    with fleet(tmp_path, storage) as here:
        for name in ("a", "b", "c"):
            here.start(name)
        here.wait_alive()
        for _ in range(3):
            leader, before = here.leader(), here.beats["worker"].epoch
            killed_at = time.monotonic()
            here.signal(leader, signal.SIGKILL)
            here.wait_alive(before)
            last = here.beats["worker"].copies()[-1]
            failovers.append(last.first - killed_at)
            gaps.append(here.beats["worker"].gaps()[-1])
            here.start(leader)
        here.check()
    record_property("gap_s", statistics.median(gaps))
    record_property("failover_s", statistics.median(failovers))
    print(f"{storage}: without a copy: {gaps}; from the kill to the next leader's copy: {failovers}")
    assert statistics.median(gaps) < limit_s
