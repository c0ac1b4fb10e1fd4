"""There can be only one: rounds of faults, and no instant with two living copies.

A few rounds for each store here. `STEERSMAN_HIGHLANDER_ROUNDS=100` is a long run, for which the machine should
have nothing else to do: the limits on time are for that. `STEERSMAN_HIGHLANDER_SEED` gives another one.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.highlander.rounds import TTL_S, Fleet, fleet, held
from tests.support.waiting import pass_time_blocking

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

ROUNDS = int(os.environ.get("STEERSMAN_HIGHLANDER_ROUNDS", "0"))
SEED = int(os.environ.get("STEERSMAN_HIGHLANDER_SEED", "1"))

#: What befalls whom: how many controllers, and the faults of a short run.
STORES: dict[str, tuple[int, tuple[str, ...]]] = {
    "redis": (2, ("kill", "store-hang", "partition")),
    "db": (3, ("term", "store-restart", "cut-off")),
    "lease": (2, ("kill", "freeze")),
    "raft": (3, ("kill", "partition")),
}
ALWAYS = ("kill", "term", "freeze", "partition", "cut-off", "api-restart", "api-hang", "kill-all")
WITH_STORE = (*ALWAYS, "store-restart", "store-hang", "store-refuses")

#: From a leader's kill -9: a copy is missing for no longer than that, in the median.
LIMITS_S = {"raft": 1.5}
#: A hand-over takes a copy's own stop and start, which is what a leader's death takes, and no more than that.
HAND_OVER_S = 0.5


def befall(here: Fleet, fault: str, leader: str, rng: random.Random) -> bool:
    """Have a fault happen and end; whether another leader must have followed."""
    before = here.epoch
    shift_s = rng.choice((0.0, 3600.0, -3600.0))
    long_s = TTL_S * rng.uniform(0.5, 2)
    match fault:
        case "kill" | "term":
            here.signal(leader, signal.SIGKILL if fault == "kill" else signal.SIGTERM)
            # The next copy is not to wait for the machine to have started this one.
            here.wait_alive(before)
            here.start(leader, shift_s)
        case "kill-all":
            for name in here.names:
                here.signal(name, signal.SIGKILL)
            for name in here.names:
                here.start(name, shift_s)
        case "partition":
            with held(here.wires(leader)):
                here.wait_alive(before)
        case "cut-off":
            wires = here.wires(leader)
            for wire in wires:
                wire.refuse()
            here.wait_alive(before)
            for wire in wires:
                wire.mend()
        case "freeze":
            here.signal(leader, signal.SIGSTOP)
            pass_time_blocking(long_s, "how long the fault lasts")
            here.signal(leader, signal.SIGCONT)
            return False
        case _:
            _befall_servers(here, fault, long_s)
            return False
    return True


def _befall_servers(here: Fleet, fault: str, long_s: float) -> None:
    """What befalls all controllers alike."""
    match fault:
        case "store-restart":
            assert here.store is not None
            here.store.kill()
            pass_time_blocking(long_s / 2, "how long the fault lasts")
            here.store.start()
        case "store-hang":
            with held(here.store_wires.values()):
                pass_time_blocking(long_s, "how long the fault lasts")
        case "store-refuses":
            for wire in here.store_wires.values():
                wire.refuse()
            pass_time_blocking(long_s, "how long the fault lasts")
            for wire in here.store_wires.values():
                wire.mend()
        case "api-restart":
            here.kill_cluster()
            here.start_cluster()
        case "api-hang":
            with held(here.api_wires.values()):
                pass_time_blocking(long_s, "how long the fault lasts")
        case _:
            raise ValueError(fault)


def faults(storage: str, rng: random.Random) -> list[str]:
    if not ROUNDS:
        return list(STORES[storage][1])
    known = WITH_STORE if storage in ("redis", "db") else ALWAYS
    # Each of them, then as it comes; a leader's death is what is measured.
    return [*known, *rng.choices((*known, "kill", "kill", "term"), k=max(0, ROUNDS - len(known)))]


@pytest.mark.parametrize("storage", STORES)
def test_never_two_copies(
    tmp_path: Path, record_property: Callable[[str, object], None], storage: str
) -> None:
    rng = random.Random(SEED)
    gaps: dict[str, list[float]] = defaultdict(list)
    with fleet(tmp_path, storage, STORES[storage][0]) as here:
        for name in here.names:
            here.start(name, rng.choice((0.0, 3600.0, -3600.0)))
        here.wait_alive()
        for number, fault in enumerate(faults(storage, rng)):
            here.wait_contending()
            leader, before, began = here.leader(), here.epoch, time.monotonic()
            must_change = befall(here, fault, leader, rng)
            here.wait_alive(before if must_change else -1)
            here.check()
            found = {name: max(beats.gaps(began), default=0.0) for name, beats in here.beats.items()}
            gaps[fault] += found.values()
            first = here.beats["worker"].first_of(before + 1)
            taken = f"; the next leader's copy after {first.first - began:.2f} s" if first else ""
            spelled = ", ".join(f"{name} {gap_s:.2f} s" for name, gap_s in found.items())
            print(f"{storage} {number} {fault}: without a copy: {spelled}{taken}", flush=True)
        for name in here.names:
            here.signal(name, signal.SIGTERM)
        here.check()
    for fault, found_s in gaps.items():
        ordered = sorted(found_s)
        median_s, late_s = statistics.median(ordered), ordered[int(0.99 * len(ordered))]
        record_property(f"{fault}_s", median_s)
        print(f"{storage} {fault}: {len(ordered)} gaps, median {median_s:.2f} s, p99 {late_s:.2f} s")
    if ROUNDS:
        assert statistics.median(gaps["kill"]) <= LIMITS_S.get(storage, TTL_S + 1)
        assert statistics.median(gaps["term"]) <= statistics.median(gaps["kill"]) + HAND_OVER_S
