"""Leading by Raft among the replicas themselves: no other service is needed."""

from __future__ import annotations

from steersman.election.raft.config import RaftConfig
from steersman.election.raft.engine import RaftElector

__all__ = ["RaftConfig", "RaftElector"]
