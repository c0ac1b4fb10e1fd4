"""Errors of Highlander.

HighlanderError
├── ConfigError       the configuration cannot be used: where, which field, and why (people's fault)
├── NotLeader         only a leader can do this, and this controller is none
└── ForeignObject     an object of the name that a workload needs belongs to somebody else
"""

from __future__ import annotations

__all__ = ["ConfigError", "ForeignObject", "HighlanderError", "NotLeader"]


class HighlanderError(Exception):
    """Anything this package raises on purpose."""


class ConfigError(HighlanderError, ValueError):
    """One problem per line: `FILE:LINE: FIELD: what is wrong`."""


class NotLeader(HighlanderError):
    """Ask the leader."""


class ForeignObject(HighlanderError):
    """It is never touched: whoever made it must take it away, or the workload needs another name."""
