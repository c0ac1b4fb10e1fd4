"""`RaftConfig("my-cluster")`: leader election by Raft, as an operator declares it.

    RaftConfig("my-cluster").service_name("my-operator-headless").namespace("default")
        .storage("rocksdb", "/data/raft").tls("/etc/raft-tls")

Importing this needs nothing but Steersman; running the node needs `steersman[raft]`.
"""

from __future__ import annotations

from steersman.aio import Clock
from steersman.client import Client
from steersman.election.raft.engine import RaftElector
from steersman.election.raft.replicas import ReplicaFollower
from steersman.raft.config import NodeConfig
from steersman.raft.manager import RaftNodeManager

__all__ = ["RaftConfig"]


class RaftConfig(NodeConfig):
    """A node's settings; the node lives as long as the operator contends."""

    def elector(self, client: Client, clock: Clock) -> RaftElector:
        settings = self.settings
        follower = (
            ReplicaFollower(client, self.stateful_set, settings.namespace, clock)
            if settings.service
            else None
        )
        return RaftElector(RaftNodeManager(self, contending=False), clock=clock, follower=follower)
