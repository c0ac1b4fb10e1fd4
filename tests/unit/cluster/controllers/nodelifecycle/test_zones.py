"""How fast nodes lose their pods."""

from __future__ import annotations

import pytest

from steersman.cluster.controllers.nodelifecycle.health import Zone
from steersman.cluster.controllers.nodelifecycle.zones import EvictionRates, Zones, zone_state

A, B = ("r", "a"), ("r", "b")


def nodes(zone: Zone, ready: int, not_ready: int) -> list[tuple[Zone, bool]]:
    return [(zone, True)] * ready + [(zone, False)] * not_ready


@pytest.mark.parametrize(
    ("ready", "not_ready", "state"),
    [
        pytest.param(3, 0, "normal", id="all ready"),
        pytest.param(0, 1, "full", id="the only one lost"),
        pytest.param(0, 0, "normal", id="no nodes"),
        pytest.param(1, 2, "normal", id="two are few"),
        pytest.param(2, 3, "partial", id="most are lost"),
        pytest.param(5, 5, "normal", id="half are lost"),
    ],
)
def test_states_of_zones(ready: int, not_ready: int, state: str) -> None:
    assert zone_state(ready, not_ready, 0.55) == state


def test_one_node_at_a_time_is_tainted_at_the_rate_of_its_zone() -> None:
    zones = Zones(EvictionRates(rate=0.1))
    zones.judge(nodes(A, 5, 2) + nodes(B, 5, 1), 0)
    zones.wait(A, "a1")
    zones.wait(A, "a2")
    zones.wait(B, "b1")
    assert zones.grant(0) == ["a1", "b1"]
    assert zones.grant(1) == []
    assert zones.next_grant_s(1) == 9
    assert zones.grant(10) == ["a2"]
    assert zones.next_grant_s(10) is None


def test_a_node_that_is_back_waits_no_longer() -> None:
    zones = Zones(EvictionRates())
    zones.judge(nodes(A, 5, 1), 0)
    zones.wait(A, "a1")
    zones.forget("a1")
    assert zones.grant(100) == []


def test_small_zones_that_are_mostly_lost_keep_their_pods() -> None:
    zones = Zones(EvictionRates(large=50))
    zones.judge(nodes(A, 2, 5) + nodes(B, 20, 40), 0)
    zones.wait(A, "a1")
    zones.wait(B, "b1")
    zones.wait(B, "b2")
    assert zones.grant(0) == ["b1"]
    assert zones.grant(50) == []
    assert zones.grant(100) == ["b2"]


def test_nothing_is_tainted_when_all_zones_are_lost_until_one_is_back() -> None:
    zones = Zones(EvictionRates())
    assert zones.judge(nodes(A, 1, 0) + nodes(B, 0, 1), 0) == ""
    zones.wait(B, "b1")
    assert zones.judge(nodes(A, 0, 1) + nodes(B, 0, 1), 1) == "all lost"
    assert zones.all_lost
    assert zones.grant(100) == []
    assert zones.judge(nodes(A, 0, 1) + nodes(B, 0, 1), 101) == ""
    assert zones.judge(nodes(A, 1, 0) + nodes(B, 0, 1), 102) == "some back"
    assert not zones.all_lost
    assert zones.grant(102) == ["b1"]


def test_a_cluster_without_nodes_has_lost_none() -> None:
    zones = Zones(EvictionRates())
    assert zones.judge([], 0) == ""
    assert not zones.all_lost
