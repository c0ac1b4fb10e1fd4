"""The WebApp example as one of several replicas that contend for a lock: `ENGINE`, `LOCK` and `LOCK_URL`.

Started by `test_replicas`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from steersman.election import Lease, LeaseSettings, PostgresLock, RedisLock

sys.path.append(str(Path(__file__).parents[3] / "examples" / "06-webapp"))

from webapp import op

TIMES = {"duration_s": 3.0, "renew_deadline_s": 2.0, "retry_period_s": 0.2}

name, url = os.environ["LOCK"], os.environ["LOCK_URL"]
elections = {
    "lease": lambda: Lease(name, settings=LeaseSettings(**TIMES)),
    "redis": lambda: RedisLock(url, name).timing(**TIMES),
    "postgres": lambda: PostgresLock(url, name).timing(**TIMES),
}
# One after the other: whatever happens to a leader, it happens in the middle of the work.
op.with_concurrency(1).with_leader_election(elections[os.environ["ENGINE"]]())
