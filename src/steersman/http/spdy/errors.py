"""What can go wrong on a SPDY connection.

SpdyError
├── SpdyViolation     the peer broke SPDY/3.1; the connection cannot go on
├── StreamReset       the peer gave one stream up; carries its status
└── SpdyClosed        the connection is over, or was closed here
"""

from __future__ import annotations

from steersman.http.errors import HttpError

__all__ = ["SpdyClosed", "SpdyError", "SpdyViolation", "StreamReset"]


class SpdyError(HttpError):
    """Anything about a SPDY connection."""


class SpdyViolation(SpdyError):
    """The peer's bytes are not SPDY/3.1, or break a limit."""


class StreamReset(SpdyError):
    """One stream ended before it was finished."""

    def __init__(self, stream_id: int, status: int) -> None:
        super().__init__(f"stream {stream_id} was reset (status {status})")
        self.stream_id = stream_id
        self.status = status


class SpdyClosed(SpdyError):
    """The connection is over."""
