"""WebSocket (RFC 6455) over an upgraded connection: frames, handshake, and the socket itself."""

from __future__ import annotations

from steersman.http.websocket.socket import WebSocket

__all__ = ["WebSocket"]
