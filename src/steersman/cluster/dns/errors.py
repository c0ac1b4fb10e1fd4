"""What can be wrong with a message.

DnsError
├── Malformed      the bytes are no message: nothing can be answered, or FORMERR
└── Unanswered     those who were asked did not answer
"""

from __future__ import annotations

__all__ = ["DnsError", "Malformed", "Unanswered"]


class DnsError(Exception):
    """Something about a name."""


class Malformed(DnsError):
    """These bytes are no DNS message."""


class Unanswered(DnsError):
    """No resolver answered in time."""
