"""Exactly one active replica: `Elector` is the interface; `lease`, `raft`, `redis`, `postgres` are engines.

Start reading at `elector`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.election.config import ElectionConfig
from steersman.election.elector import Elector, Leadership, Work, default_identity
from steersman.election.errors import ElectionConfigError, ElectionError, LeadershipLost
from steersman.election.lease import Lease, LeaseElector, LeaseSettings
from steersman.lazy import lazy_names

if TYPE_CHECKING:
    from steersman.election.postgres import PostgresLock
    from steersman.election.raft import RaftConfig
    from steersman.election.redis import RedisLock

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

if not TYPE_CHECKING:
    # Engines other than the Lease need packages that not everybody has installed.
    __getattr__ = lazy_names(
        __name__, {"postgres": "PostgresLock", "raft": "RaftConfig", "redis": "RedisLock"}
    )
