"""Exactly one active replica: `Elector` is the interface; `lease`, `raft`, `redis`, `postgres` are engines.

Start reading at `elector`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.election.config import ElectionConfig
from steersman.election.elector import Elector, Leadership, Work, default_identity
from steersman.election.errors import ElectionConfigError, ElectionError, LeadershipLost
from steersman.election.lease import Lease, LeaseElector, LeaseSettings
from steersman.election.postgres import PostgresLock
from steersman.election.redis import RedisLock

if TYPE_CHECKING:
    from steersman.election.raft import RaftConfig

__all__ = [
    "ElectionConfig",
    "ElectionConfigError",
    "ElectionError",
    "Elector",
    "Leadership",
    "LeadershipLost",
    "Lease",
    "LeaseElector",
    "LeaseSettings",
    "PostgresLock",
    "RaftConfig",
    "RedisLock",
    "Work",
    "default_identity",
]


def __getattr__(name: str) -> Any:
    """Raft is loaded when it is first asked for: most operators take part in another election."""
    if name != "RaftConfig":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from steersman.election.raft import RaftConfig

    return RaftConfig
