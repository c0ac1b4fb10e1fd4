"""Leader election by a Kubernetes Lease: `core` has the rules, `engine` the requests, `config` the choice."""

from __future__ import annotations

from steersman.election.lease.config import Lease
from steersman.election.lease.core import LeaseSettings
from steersman.election.lease.engine import LeaseElector

__all__ = ["Lease", "LeaseElector", "LeaseSettings"]
