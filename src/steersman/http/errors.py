"""What can go wrong between two HTTP peers, and whose fault it is.

HttpError
├── RequestRefused              server: the peer's request is at fault; carries the status to answer
│   ├── BadRequest              400 not HTTP/1.1 as this server understands it
│   ├── BodyTooLarge            413 more body than the limit
│   └── HeadTooLarge            431 more header than the limit
├── ConnectionClosed            the peer is gone; what was being read or written is lost
├── ClientError                 client: the request got no answer
│   ├── ConnectFailed           no connection could be made; nothing was sent, safe to retry
│   ├── TimedOut                no connection, answer or data within the time given
│   ├── ProtocolError           the server's answer is not HTTP, or breaks a limit
│   ├── Disconnected            the connection ended before the answer did
│   ├── UpgradeRefused          the server answered an upgrade with something else than 101
│   └── ClientClosed            the client was closed (caller's fault)
└── WebSocketError
    ├── FrameError              the peer broke RFC 6455; carries the close code
    └── WebSocketClosed         sent or received after the closing handshake
"""

from __future__ import annotations

__all__ = [
    "BadRequest",
    "BodyTooLarge",
    "ClientClosed",
    "ClientError",
    "ConnectFailed",
    "ConnectionClosed",
    "Disconnected",
    "FrameError",
    "HeadTooLarge",
    "HttpError",
    "ProtocolError",
    "RequestRefused",
    "TimedOut",
    "UpgradeRefused",
    "WebSocketClosed",
    "WebSocketError",
]


class HttpError(Exception):
    """Anything this package raises on purpose."""


class RequestRefused(HttpError):
    """A request that is answered with `status` and no further thought.

    Handlers may raise it too; the server turns it into the answer if none has been started.
    """

    def __init__(self, status: int, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


class BadRequest(RequestRefused):
    def __init__(self, message: str) -> None:
        super().__init__(400, message)


class BodyTooLarge(RequestRefused):
    def __init__(self, limit_bytes: int) -> None:
        super().__init__(413, f"Request entity too large: limit is {limit_bytes}")
        self.limit_bytes = limit_bytes


class HeadTooLarge(RequestRefused):
    def __init__(self, limit_bytes: int) -> None:
        super().__init__(431, f"Request header fields too large: limit is {limit_bytes}")
        self.limit_bytes = limit_bytes


class ConnectionClosed(HttpError):
    """The peer is gone."""


class ClientError(HttpError):
    """A request of `Client` that got no (complete) answer."""


class ConnectFailed(ClientError):
    """No connection; nothing was sent."""


class TimedOut(ClientError):
    """Nothing came in time."""


class ProtocolError(ClientError):
    """The server's answer cannot be understood or breaks a limit."""


class Disconnected(ClientError):
    """The connection ended before the answer did."""


class UpgradeRefused(ClientError):
    """The server kept speaking HTTP; `status` and `content` say why."""

    def __init__(self, status: int, content: bytes) -> None:
        super().__init__(f"the server answered {status} instead of upgrading the connection")
        self.status = status
        self.content = content


class ClientClosed(ClientError):
    """The client was closed."""


class WebSocketError(HttpError):
    """Anything about an open WebSocket."""


class FrameError(WebSocketError):
    """The peer's frames break RFC 6455; the connection is closed with `code`."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class WebSocketClosed(WebSocketError):
    """The WebSocket is closed; `code` and `reason` are the peer's where it gave any."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(f"the WebSocket is closed ({code}{': ' + reason if reason else ''})")
        self.code = code
        self.reason = reason
