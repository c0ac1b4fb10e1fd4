"""The errors of DNS messages and forwarding.

DnsError
├── Malformed      the bytes are no message: nothing can be answered, or FORMERR
└── Unanswered     no resolver answered in time
"""

from __future__ import annotations

__all__ = ["DnsError", "MalformedMessage", "NoResolverAnswered"]


class DnsError(Exception):
    """The base class."""


class MalformedMessage(DnsError):
    """These bytes are no DNS message."""


class NoResolverAnswered(DnsError):
    """No resolver answered in time."""
