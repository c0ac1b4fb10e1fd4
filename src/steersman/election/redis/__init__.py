"""Leader election by a lock in Redis: `contest` has the contender, `scripts` what Redis does.

`RedisElector` is in `engine`, which needs the package `redis`; what is here does not.
"""

from __future__ import annotations

from steersman.election.lock.contest import LockSettings
from steersman.election.redis.config import RedisLock

__all__ = ["LockSettings", "RedisLock"]
