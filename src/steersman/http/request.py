"""One request as a handler sees it, and the facts about the connection it came over.

Made by `parsing`; answered either by returning a `Response` or through `stream`, `upgrade` and
`websocket` here, which reach the connection by the narrow `Exchange` interface.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from steersman.http.body import Body
from steersman.http.coding import Inflated
from steersman.http.errors import BadRequest
from steersman.http.headers import Headers, RawHeaders
from steersman.http.websocket.handshake import accept_request
from steersman.http.websocket.socket import WebSocket

if TYPE_CHECKING:
    from steersman.http.stream import Stream
    from steersman.http.upgraded import Upgraded

__all__ = ["Connection", "Exchange", "Request"]


class Connection:
    """Who is at the other end; the same object for every request of a connection."""

    __slots__ = ("_certificate", "_ssl_object", "client", "host", "secure", "state")

    def __init__(self, client: tuple[str, int], ssl_object: Any | None, host: str = "") -> None:
        self.client = client
        self.host = host
        """The address of this machine that the client connected to, if there is one."""
        self.secure = ssl_object is not None
        self.state: dict[str, Any] = {}
        """Whatever the application wants to remember for this connection."""
        self._ssl_object = ssl_object
        self._certificate: bytes | None = None

    @property
    def peer_certificate(self) -> bytes | None:
        """The client's certificate (DER). It proved that it has the key; nothing else was checked."""
        if self._ssl_object is not None:
            self._certificate = self._ssl_object.getpeercert(binary_form=True)
            self._ssl_object = None
        return self._certificate


class Exchange(Protocol):
    """What a request needs of the connection that carries it."""

    def open_stream(self, request: Request, status: int, headers: RawHeaders) -> Stream: ...

    def hand_over(self, request: Request, headers: RawHeaders) -> Upgraded: ...


class Request:
    """A request whose header is complete; its body is in `content`, or comes through `chunks()`."""

    __slots__ = (
        "_exchange",
        "_path",
        "body",
        "connection",
        "content",
        "expects_continue",
        "gzipped",
        "headers",
        "http11",
        "keep_alive",
        "method",
        "query_string",
        "raw_path",
        "target",
        "upgradable",
    )

    def __init__(
        self,
        method: str,
        target: str,
        headers: Headers,
        connection: Connection,
        exchange: Exchange,
        http11: bool,
        keep_alive: bool,
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.connection = connection
        self.content = b""
        path, _, self.query_string = target.partition("?")
        self.raw_path = path if path[:1] == "/" else _path_of_absolute(path)
        self._path: str | None = None
        self._exchange = exchange
        self.http11 = http11
        self.keep_alive = keep_alive
        self.upgradable = False
        """The client asked for another protocol and would take 101 for an answer."""
        self.expects_continue = False
        self.gzipped = False
        self.body: Body | None = None
        """The body of a streamed request; buffered requests have none."""

    @property
    def path(self) -> str:
        """The path with percent-encoding undone; bytes that are not UTF-8 become U+FFFD."""
        path = self._path
        if path is None:
            path = self.raw_path
            if "%" in path:
                path = unquote(path)
            self._path = path
        return path

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes in, decompressed; reading slowly slows the client down."""
        if self.body is None:
            whole = Body()
            if self.content:
                whole.feed(self.content)
            whole.finish()
            return whole
        return Inflated(self.body, BadRequest) if self.gzipped else self.body

    def stream(self, status: int, headers: RawHeaders) -> Stream:
        """Start a response whose length is not known; the header goes out now."""
        return self._exchange.open_stream(self, status, headers)

    def upgrade(self, headers: RawHeaders) -> Upgraded:
        """Answer 101 and take over the connection: from here on it is the caller's to close."""
        return self._exchange.hand_over(self, headers)

    async def websocket(
        self, subprotocols: Sequence[str] = (), *, max_message_bytes: int = 1 << 20
    ) -> WebSocket:
        """Accept a WebSocket, choosing the first of the client's subprotocols that is in `subprotocols`.

        Raises `RequestRefused` (400 or 426) if this is no valid WebSocket request, or if the client
        offers subprotocols and none is known here.
        """
        accepted = accept_request(self.method, self.headers, subprotocols)
        upgraded = self.upgrade(accepted.headers)
        return WebSocket(
            upgraded,
            masks=False,
            subprotocol=accepted.subprotocol,
            max_message_bytes=max_message_bytes,
        )

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.target}>"


def _path_of_absolute(target: str) -> str:
    """The path of an absolute-form target; `*` and the like name no path and stay as they are."""
    scheme, separator, rest = target.partition("://")
    if not separator or not scheme.isalpha():
        return target
    return "/" + rest.partition("/")[2]
