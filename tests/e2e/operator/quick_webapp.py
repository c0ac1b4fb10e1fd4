"""The WebApp example for being killed: one app after the other, and a lease that runs out soon.

Started by `test_kills`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from steersman.election.lease import Lease, LeaseSettings

sys.path.append(str(Path(__file__).parents[3] / "examples" / "06-webapp"))

from webapp import op

settings = LeaseSettings(duration_s=2, renew_deadline_s=1.5, retry_period_s=0.3)
op.with_concurrency(1).with_leader_election(Lease("quick-webapp", settings=settings))
