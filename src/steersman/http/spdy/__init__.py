"""SPDY/3.1, which Kubernetes' older streaming protocols run on: `SpdyConnection` is the way in.

`frames` and `header_blocks` are the bytes, `session` the rules, both without I/O; `connection` is asyncio.
"""

from __future__ import annotations

from steersman.http.spdy.connection import Link, SpdyConnection, SpdyStream, WebSocketLink
from steersman.http.spdy.errors import SpdyClosed, SpdyError, SpdyViolation, StreamReset
from steersman.http.spdy.frames import ResetStatus

__all__ = [
    "Link",
    "ResetStatus",
    "SpdyClosed",
    "SpdyConnection",
    "SpdyError",
    "SpdyStream",
    "SpdyViolation",
    "StreamReset",
    "WebSocketLink",
]
