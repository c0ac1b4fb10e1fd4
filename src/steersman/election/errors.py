"""Errors of leader election.

    ElectionError
    ├── LeadershipLost      raised by `Leadership.check`: this process may no longer act as the leader
    └── ElectionConfigError settings that would not be safe, or name nothing (caller's fault)

Trouble with the lock itself (a server that does not answer) is not raised: electors retry, and step down
before anyone else may lead.
"""

from __future__ import annotations

__all__ = ["ElectionConfigError", "ElectionError", "LeadershipLost"]


class ElectionError(Exception):
    """Anything this package raises on purpose."""


class LeadershipLost(ElectionError):
    """Someone else leads now, or may do so any moment."""


class ElectionConfigError(ElectionError, ValueError):
    """The settings cannot be used; one sentence says why."""
