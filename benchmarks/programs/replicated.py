"""`replicas.py` as one of three that elect a leader. Started by `steer run`.

`ENGINE` is `raft` or `lease`, `NODE` its number, `PEERS` are the Raft nodes' addresses.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from steersman import Lease, RaftConfig

sys.path.append(str(Path(__file__).parent))

from replicas import op

if os.environ["ENGINE"] == "raft":
    peers = {node: f"node-{node}={address}" for node, address in enumerate(os.environ["PEERS"].split(","))}
    op.with_leader_election(RaftConfig("bench").node_id(int(os.environ["NODE"])).peers(peers))
else:
    op.with_leader_election(Lease("bench"))
