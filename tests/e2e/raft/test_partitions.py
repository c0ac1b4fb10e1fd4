"""Raft processes on machines of their own (network namespaces), whose cables are cut, also one way only.

Nothing acknowledged is lost, and no two nodes are sure to lead at the same moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from tests.e2e.raft.processes import Cluster, until
from tests.support.namespaces import Namespaces, namespaces_allowed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Cut = Callable[[Namespaces, int, set[int]], None]


def isolated(machines: Namespaces, leader: int, others: set[int]) -> None:
    """The leader is alone."""
    machines.separate({leader}, others)


def in_the_minority(machines: Namespaces, leader: int, others: set[int]) -> None:
    """The leader has some others with it, but not enough."""
    mates = set(sorted(others)[: machines.count // 2 - 1]) if machines.count > 3 else set()
    machines.separate({leader} | mates, others - mates)


def not_heard(machines: Namespaces, leader: int, others: set[int]) -> None:
    """The leader hears the others."""
    for other in others:
        machines.cut(leader, other)


def deaf(machines: Namespaces, leader: int, others: set[int]) -> None:
    """The others hear the leader."""
    for other in others:
        machines.cut(other, leader)


CUTS: list[Cut] = [isolated, in_the_minority, not_heard, deaf]


@pytest.fixture(params=[3, 5], ids=["three nodes", "five nodes"], scope="module")
def apart(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    if not namespaces_allowed():
        pytest.skip("network namespaces need root")
    size: int = request.param
    with Namespaces(size) as machines:
        folder = tmp_path_factory.mktemp("raft")
        with Cluster(folder, size, machines=machines, watched=True, patient=True) as cluster:
            yield Apart(machines, cluster)


class Apart:
    def __init__(self, machines: Namespaces, cluster: Cluster) -> None:
        self.machines = machines
        self.cluster = cluster
        self.nodes = set(range(machines.count))

    def spans(self) -> list[tuple[float, float, int, int]]:
        """When which node was sure to lead in which term: from, to, node, term."""
        return sorted(
            (first, last, node, int(term))
            for node, member in self.cluster.members.items()
            for term, (first, last) in member.ask("spans").items()
        )

    def whole(self) -> bool:
        """Whether all follow one leader."""
        told = [member.ask("status") for member in self.cluster.members.values()]
        return len({status["term"] for status in told}) == 1 and all(status["leader"] for status in told)

    def check(self) -> None:
        assert self.cluster.lost() == {}
        for (_, end, node, term), (start, _, other, later) in pairwise(self.spans()):
            assert end < start, f"node {node} led in term {term} while node {other} led in term {later}"


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__)
def test_a_leader_that_is_cut_off_is_replaced_and_follows_when_the_cable_is_whole(
    apart: Apart, cut: Cut
) -> None:
    until(apart.whole)
    node, leader, term = apart.cluster.wait_leader()
    try:
        cut(apart.machines, node, apart.nodes - {node})
        _, successor, next_term = apart.cluster.wait_leader(term)
        assert successor is not leader
        until(lambda: not leader.ask("status")["leads"])
    finally:
        apart.machines.heal()
    until(apart.whole)
    assert leader.ask("status")["term"] >= next_term
    apart.check()


def test_a_cable_between_followers_does_not_matter(apart: Apart) -> None:
    until(apart.whole)
    node, leader, term = apart.cluster.wait_leader()
    one, other, *_ = sorted(apart.nodes - {node})
    acked = max(leader.acks.values())
    try:
        apart.machines.separate({one}, {other})
        until(lambda: max(leader.acks.values()) > acked + 200)
        assert leader.ask("status")["term"] == term
    finally:
        apart.machines.heal()
    apart.check()


def test_a_follower_that_does_not_hear_the_leader_does_not_depose_it(apart: Apart) -> None:
    """It asks the others first, and they hear the leader."""
    until(apart.whole)
    node, leader, term = apart.cluster.wait_leader()
    deaf_one = min(apart.nodes - {node})
    acked = max(leader.acks.values())
    try:
        apart.machines.cut(node, deaf_one)
        until(lambda: not apart.cluster.members[deaf_one].ask("status")["leader"])
        until(lambda: max(leader.acks.values()) > acked + 200)
        assert leader.ask("status")["term"] == term
    finally:
        apart.machines.heal()
    until(apart.whole)
    apart.check()
