"""Leadership between two real clusters: it fails over, fails back in order, and stays where it was put."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.highlander.clusters import FAILBACK_S, Contest, Site, site
from tests.support.redis_server import redis_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Site]]:
    folder = tmp_path_factory.mktemp("sites")
    with ExitStack() as stack:
        yield [stack.enter_context(site(name, folder)) for name in ("west", "east")]


@pytest.fixture
def here(sites: list[Site], tmp_path: Path) -> Iterator[Contest]:
    with redis_server() as store:
        contest = Contest("shop", sites, store, tmp_path)
        try:
            yield contest
        finally:
            contest.end()


def test_from_one_cluster_to_the_other_and_back(here: Contest, sites: list[Site]) -> None:
    _, east = sites
    here.start("west", priority=10)
    here.wait_runs_in("west")
    here.start("east", priority=5)
    here.wait_contends("east")

    # What a dead leader leaves runs on, until somebody of its cluster is back. Nothing else ever overlaps.
    first = here.epoch
    here.signal("west", signal.SIGKILL)
    here.wait_runs_in("east", above=first)
    assert here.runs_in("west")

    # It is given way to when it has been well for a while.
    second, back_at = here.epoch, time.monotonic()
    here.start("west", priority=10)
    here.wait_runs_in("west", above=second)
    third = here.epoch
    assert third == second + 1
    assert here.began(third) - back_at > FAILBACK_S

    # One that is drained is not.
    here.order("west", "drain")
    here.wait_runs_in("east", above=third)
    here.stays(lambda: here.has_won("west"))
    fourth = here.epoch
    assert fourth == third + 1
    here.check(left_behind={first})

    # A leader that cannot reach its cluster lets another one lead, and does not contend before it can.
    east.kill()
    here.order("west", "drain", "--undo")
    here.wait_runs_in("west", above=fourth)
    assert here.runs_in("east")
    fifth = here.epoch
    here.signal("west", signal.SIGTERM)
    here.stays(lambda: here.has_won("east"))
    east.start()
    here.wait_runs_in("east", above=fifth)
    here.check(left_behind={first, fourth})
