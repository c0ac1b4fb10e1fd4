"""Among many nodes: not all are looked at for every kind of pod, but all before a pod is refused."""

from __future__ import annotations

import pytest

from steersman.cluster.scheduler.model import NodeTable
from steersman.cluster.scheduler.node_results import enough_nodes
from steersman.cluster.scheduler.pod_counts import PodCountsCache

from .worlds import World, a_node, a_pod


@pytest.mark.parametrize(
    ("nodes", "enough"), [(1, 1), (99, 99), (100, 100), (1000, 420), (5000, 500), (6000, 300), (50_000, 2500)]
)
def test_how_many_nodes_are_enough(nodes: int, enough: int) -> None:
    assert enough_nodes(nodes) == enough


def test_the_only_node_that_will_do_is_found_wherever_it_is() -> None:
    world = World()
    for number in range(300):
        world.add_node(f"n{number}", labels={"lucky": "yes"} if number == 250 else {})
    assert world.node_for(nodeSelector={"lucky": "yes"}) == "n250"
    assert world.node_for(nodeSelector={"lucky": "no"}) == (
        "0/300 nodes are available: 300 node(s) didn't match Pod's node affinity/selector."
    )


def test_in_the_end_all_nodes_are_used() -> None:
    world = World()
    for number in range(300):
        world.add_node(f"n{number}")
    places = set()
    for number in range(300):
        node = world.node_for(f"p{number}", cpu="1")
        world.add_pod(node, f"p{number}", cpu="1")
        places.add(node)
    assert len(places) == 300


def test_a_tally_follows_nodes_that_come_and_go() -> None:
    nodes = NodeTable()
    counts = PodCountsCache(nodes)

    def pods_by_zone() -> dict[object, int]:
        return dict(counts.totals("pods", lambda node: {node.labels["zone"]: len(node.pods)}))

    nodes.place(a_pod("early"), "a")
    nodes.put(a_node("a", labels={"zone": "1"}))
    nodes.put(a_node("b", labels={"zone": "2"}))
    assert pods_by_zone() == {"1": 1, "2": 0}
    nodes.place(a_pod("p"), "b")
    nodes.put(a_node("a", labels={"zone": "2"}))
    assert pods_by_zone() == {"2": 2}
    nodes.remove("b")
    nodes.put(a_node("c", labels={"zone": "3"}))
    nodes.displace(a_pod("early").key)
    assert pods_by_zone() == {"2": 0, "3": 0}
    nodes.put(a_node("b", labels={"zone": "3"}))
    assert pods_by_zone() == {"2": 0, "3": 1}


def test_a_label_over_all_rows_follows_its_nodes() -> None:
    nodes = NodeTable()
    zones = nodes.label("zone")
    for name, labels in (("a", {"zone": "1"}), ("b", {"zone": "1"}), ("c", {})):
        nodes.put(a_node(name, labels=labels))
    assert (zones.values, zones.rows) == (["1", "1", None], {"1": {0, 1}, None: {2}})
    nodes.remove("b")
    nodes.put(a_node("c", labels={"zone": "2"}))
    assert zones.rows == {"1": {0}, "2": {2}}
    nodes.put(a_node("d", labels={"zone": "2"}))
    assert (zones.values, zones.rows) == (["1", "2", "2"], {"1": {0}, "2": {1, 2}})
