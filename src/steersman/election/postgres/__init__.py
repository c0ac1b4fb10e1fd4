"""Leader election by a row in PostgreSQL: `contest` has the contender, `statements` what PostgreSQL does.

`PostgresElector` is in `engine`, which needs the package `asyncpg`; what is here does not.
"""

from __future__ import annotations

from steersman.election.lock.contest import LockSettings
from steersman.election.postgres.config import PostgresLock

__all__ = ["LockSettings", "PostgresLock"]
