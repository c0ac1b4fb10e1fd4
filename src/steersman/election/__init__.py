"""Exactly one active replica: `Elector` is the interface, `lease` its engine on Kubernetes alone.

Start reading at `elector`.
"""

from __future__ import annotations

from steersman.election.elector import Elector, Leadership, Work, default_identity
from steersman.election.errors import ElectionConfigError, ElectionError, LeadershipLost
from steersman.election.lease import LeaseElector, LeaseSettings

__all__ = [
    "ElectionConfigError",
    "ElectionError",
    "Elector",
    "Leadership",
    "LeadershipLost",
    "LeaseElector",
    "LeaseSettings",
    "Work",
    "default_identity",
]
