"""The WebApp example as one of several replicas that contend for a lock: `ENGINE`, `LOCK` and `LOCK_URL`.

With the engine `raft`, `RAFT` says in JSON who the replica is. Started by `test_replicas` and
`test_raft_replicas`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from steersman.aio import Clock
from steersman.client import Client
from steersman.election import Lease, LeaseSettings, PostgresLock, RaftConfig, RedisLock
from steersman.election.raft import RaftElector
from steersman.raft.administration import Administration
from steersman.raft.config import NodeConfig
from steersman.raft.core import Message
from steersman.raft.manager import RaftNodeManager
from steersman.raft.membership import ClusterManager

sys.path.append(str(Path(__file__).parents[3] / "examples" / "06-webapp"))

from webapp import op

TIMES = {"duration_s": 3.0, "renew_deadline_s": 2.0, "retry_period_s": 0.2}


class SilencedRaft(RaftConfig):
    """While the file `RAFT.silence` exists, the other nodes do not hear this one."""

    def elector(self, client: Client, clock: Clock) -> RaftElector:
        return RaftElector(RaftNodeManager(self, contending=False, network=_network), clock=clock)


def _network(config: NodeConfig, cluster: ClusterManager) -> object:
    from steersman.raft.transport.grpc import RaftNetwork

    silence = Path(json.loads(os.environ["RAFT"])["silence"])

    class SilencedNetwork(RaftNetwork):
        def send(self, messages: Sequence[Message]) -> None:
            if not silence.exists():
                super().send(messages)

    obey = Administration(cluster).obey
    return SilencedNetwork(config.listen_address(), cluster.hello, cluster.locate, config.settings.tls, obey)


def raft() -> RaftConfig:
    told = json.loads(os.environ["RAFT"])
    peers = {int(node): peer for node, peer in told["peers"].items()}
    config = SilencedRaft(name).node_id(told["node"]).peers(peers)
    return config.storage("rocksdb", told["folder"]).tls(told["tls"])


name, url = os.environ["LOCK"], os.environ["LOCK_URL"]
elections = {
    "lease": lambda: Lease(name, settings=LeaseSettings(**TIMES)),
    "redis": lambda: RedisLock(url, name).timing(**TIMES),
    "postgres": lambda: PostgresLock(url, name).timing(**TIMES),
    "raft": raft,
}
# One after the other: whatever happens to a leader, it happens in the middle of the work.
op.with_concurrency(1).with_leader_election(elections[os.environ["ENGINE"]]())
