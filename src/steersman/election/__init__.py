"""Exactly one active replica: `Elector` is the interface; `lease`, `raft`, `redis`, `postgres` are engines.

Start reading at `elector`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from steersman.election.config import ElectionConfig
from steersman.election.elector import Elector, Leadership, Work, default_identity
from steersman.election.errors import ElectionConfigError, ElectionError, LeadershipLost
from steersman.election.lease import Lease, LeaseElector, LeaseSettings

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

_ENGINES = {"PostgresLock": "postgres", "RaftConfig": "raft", "RedisLock": "redis"}


def __getattr__(name: str) -> Any:
    """Engines other than the Lease are loaded when they are first asked for."""
    if name not in _ENGINES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ENGINES[name]}"), name)
