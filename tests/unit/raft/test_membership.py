"""Who is let in: decided without a network."""

from __future__ import annotations

import pytest

from steersman.raft.config import NodeConfig
from steersman.raft.discovery import new_member
from steersman.raft.membership import ClusterManager
from steersman.raft.state_machine import ClusterState, Introduce, Located
from steersman.raft.storage import Identity, MemoryStorage
from steersman.raft.transport import Hello, ProbeRequest

PEERS = {0: "node-0=127.0.0.1:1", 1: "node-1=127.0.0.1:2"}
OWN = new_member(0, 1000.0)
OTHER = new_member(1, 1000.0)
UNLISTED = new_member(2, 1000.0)


def cluster(cluster_id: str = "id") -> tuple[ClusterManager, ClusterState]:
    storage, machine = MemoryStorage(), ClusterState()
    storage.identify(Identity("test", cluster_id, OWN))
    return ClusterManager(NodeConfig("test").node_id(0).peers(PEERS), storage, machine), machine


def hello(sender: int = OTHER, name: str = "node-1", cluster_id: str = "id", to: int = OWN) -> Hello:
    return Hello(cluster_id, sender, to, Located(name, "127.0.0.1:9"))


@pytest.mark.parametrize(
    "greeting, refusal",
    [
        pytest.param(hello(), "", id="a peer"),
        pytest.param(hello(UNLISTED, "node-2"), "", id="one that the settings do not list"),
        pytest.param(hello(cluster_id="other"), "another cluster", id="of another cluster"),
        pytest.param(hello(to=OWN + (1 << 16)), "is not here", id="to another life of this node"),
        pytest.param(hello(name="node-0"), "is called node-1", id="under another's name"),
    ],
)
def test_streams_are_admitted_by_cluster_and_name(greeting, refusal):
    manager, _ = cluster()
    assert refusal in manager.admit(greeting)
    assert bool(manager.admit(greeting)) == bool(refusal)
    if not refusal:
        assert manager.locate(greeting.sender) == greeting.located


def test_the_member_list_knows_names_that_the_settings_lack():
    manager, machine = cluster()
    machine.apply(1, machine.encode(Introduce(UNLISTED, Located("node-2", "127.0.0.1:3"))))
    assert "is called node-2" in manager.admit(hello(UNLISTED, "somebody"))
    assert manager.name(UNLISTED) == "node-2"


def test_a_node_without_a_cluster_admits_nobody():
    manager, _ = cluster(cluster_id="")
    assert "another cluster" in manager.admit(hello(cluster_id=""))
    assert manager.probed(ProbeRequest("test")).cluster_id == ""
