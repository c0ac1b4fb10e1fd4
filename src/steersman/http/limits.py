"""How much a server takes from a peer before it stops listening to it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Every bound of a server; the defaults suit a Kubernetes API server."""

    header_bytes: int = 1 << 20
    """Request line and header fields together, also trailers."""
    body_bytes: int = 3 << 20
    """Whole body of a buffered request, after decompression. Streamed bodies are the handler's to limit."""
    header_timeout_s: float = 30.0
    """From the first byte of a request (or the opening of the connection) to the end of its header."""
    idle_timeout_s: float = 180.0
    """Between two requests of a connection."""
    body_timeout_s: float = 60.0
    """A buffered body from first to last byte; a streamed body between two chunks."""
    write_timeout_s: float = 60.0
    """A response of which the peer takes not one byte; streams and upgraded connections are exempt."""
    linger_s: float = 2.0
    """How long to discard what a refused peer still sends, so that it gets to read the answer."""
    handshake_timeout_s: float = 15.0
    connections: int = 20_000
    pipeline: int = 16
    """Requests read ahead of the one being answered before reading stops."""
    gzip_min_bytes: int = 128 << 10
    """Smaller responses are not worth compressing."""
