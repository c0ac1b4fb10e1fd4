"""From bytes to requests: HTTP/1.1 as strict as a server in front of other people's data must be.

Sans-IO: `RequestParser.feed` takes what the network gave, in any pieces, and leaves complete
requests in `ready`. The connection answers them in order; this module never writes.

llhttp (under httptools) refuses: Content-Length that is repeated, signed, listed, empty, too big or
next to Transfer-Encoding; codings that do not end in chunked; obs-fold; bare CR or LF; whitespace
before the colon; names that are no token; control characters; bad chunk sizes. Added here: anything
but `chunked` alone as Transfer-Encoding, Transfer-Encoding in HTTP/1.0, versions other than 1.0 and
1.1, a missing or repeated Host, a fragment in the target, unknown expectations and codings, sizes.

    what is received        state afterwards
    ------------------      ---------------------------------------------------------------
    part of a header        `mid_head`
    header, body to come    `mid_body`; a streamed request is in `ready` at once
    end of the message      idle; a buffered request is in `ready`
    upgrade request         held: nothing is parsed until `resume` or `take_held`
    Connection: close       `finished`: whatever follows is ignored
    anything wrong          `finished`, and `refused` says what to answer after `ready`
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import httptools

from steersman.http.body import Body, BodySource
from steersman.http.coding import CodingError, OutputTooLarge, inflate
from steersman.http.errors import BadRequest, BodyTooLarge, HeadTooLarge, RequestRefused
from steersman.http.headers import Headers
from steersman.http.limits import Limits
from steersman.http.repetition import KnownFields
from steersman.http.request import Connection, Exchange, Request

__all__ = ["RequestParser"]

# More than this is parsed in steps, so that a buffer full of tiny pipelined requests does not
# become thousands of Request objects before the first one is answered.
_STEP_BYTES = 16 << 10
_METHODS = {m.encode(): m for m in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")}
# Fields that decide how the message is framed or handled; each may come once only.
_NOTED = frozenset((b"host", b"content-length", b"transfer-encoding", b"expect", b"content-encoding"))
# Those that say no more than how long the body is.
_ORDINARY = frozenset((b"host", b"content-length"))


class RequestParser:
    """The requests of one connection."""

    __slots__ = (
        "_chunks",
        "_connection",
        "_exchange",
        "_head_limit",
        "_headers",
        "_held",
        "_known",
        "_limits",
        "_noted",
        "_parser",
        "_replaying",
        "_request",
        "_silent",
        "_size",
        "_source",
        "_streams_body",
        "_undecided",
        "_url",
        "expecting",
        "finished",
        "idle",
        "ready",
        "refused",
    )

    def __init__(
        self,
        limits: Limits,
        connection: Connection,
        exchange: Exchange,
        source: BodySource,
        streams_body: Callable[[Request], bool] | None = None,
    ) -> None:
        self._limits = limits
        self._head_limit = limits.header_bytes
        self._connection = connection
        self._exchange = exchange
        self._source = source
        self._streams_body = streams_body
        self._parser = httptools.HttpRequestParser(self)

        self.ready: deque[Request] = deque()
        self.refused: tuple[Request | None, RequestRefused] | None = None
        self.finished = False
        self.idle = True
        """Whether the last input ended with a complete message and nothing is held back."""
        self.expecting: Request | None = None
        """A buffered request whose client waits for 100 Continue before it sends the body."""

        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._noted: dict[bytes, bytes] = {}
        # The request whose body is being received.
        self._request: Request | None = None
        self._chunks: list[bytes] = []
        self._size = 0
        # Bytes since something useful came of them: bounds heads, trailers and chunk extensions alike.
        self._silent = 0
        self._held = b""
        self._undecided = False
        self._replaying = False
        self._known = KnownFields()

    @property
    def mid_head(self) -> bool:
        return self._request is None and (self._silent > 0 or bool(self._url))

    @property
    def mid_body(self) -> bool:
        return self._request is not None

    @property
    def receiving(self) -> Request | None:
        """The request whose body is being received."""
        return self._request

    @property
    def blocked(self) -> bool:
        """Whether more input would only pile up."""
        return self._undecided or bool(self._held) or len(self.ready) >= self._limits.pipeline

    def feed(self, data: bytes | memoryview) -> None:
        if self.finished:
            return
        if self._held or self._undecided or len(data) > _STEP_BYTES:
            self._held += data
            self.advance()
        elif not self.idle:
            self._parse(data)
        else:
            request = bytes(data)
            if not self._repeats(request):
                self._parse(request)
                if self.idle:
                    self._remember(request)

    def _repeats(self, data: bytes) -> bool:
        """Whether `data` is one whole request with the fields of an earlier one, which is then ready."""
        found = self._known.find(data)
        if found is None:
            return False
        method, target, headers, content = found
        limits = self._limits
        if len(data) - len(content) > limits.header_bytes or len(content) > limits.body_bytes:
            return False
        request = Request(method, target, headers, self._connection, self._exchange, True, True)
        if self._streams_body is not None and self._streams_body(request):
            return False
        request.content = content
        self.ready.append(request)
        return True

    def _remember(self, data: bytes) -> None:
        """Keep the fields of `data` for `_repeats`, if it is one plain request."""
        if len(self.ready) != 1:
            return
        request = self.ready[0]
        if request.body is None and not any(
            (name in _NOTED and name not in _ORDINARY) or name == b"upgrade"
            for name, _ in request.headers.raw
        ):
            self._known.remember(data, request.headers)

    def advance(self) -> None:
        """Go on with what was held back, after requests were taken from `ready`."""
        while (
            self._held
            and not self._undecided
            and not self.finished
            and len(self.ready) < self._limits.pipeline
        ):
            data, self._held = self._held[:_STEP_BYTES], self._held[_STEP_BYTES:]
            self._parse(data)

    def resume(self) -> None:
        """The upgrade was declined: what follows the request is HTTP after all."""
        self._undecided = False

    def take_held(self) -> bytes:
        """The upgrade was accepted: what followed the request belongs to the other protocol."""
        self.finished = True
        held, self._held = self._held, b""
        return held

    def _parse(self, data: bytes | memoryview) -> None:
        self._silent += len(data)
        self.idle = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._hold(bytes(data[upgrade.args[0] :]))
        except httptools.HttpParserError as error:
            # After the last request, and after a refusal raised by a callback, all is said.
            if not self.finished:
                self._refuse(BadRequest(f"Bad Request: {error}"))
        else:
            if self._silent > self._head_limit and not self.finished:
                self._refuse(HeadTooLarge(self._head_limit))

    def _refuse(self, error: RequestRefused) -> RequestRefused:
        """End the parsing with `error`; callbacks raise what this returns, to stop the parser too."""
        request = self._request
        if request is not None and request.body is not None:
            # It is already with its handler, which learns of the error when it reads on.
            request.body.fail(error)
        else:
            self.refused = (request, error)
        self.finished = True
        self.idle = False
        self.expecting = None
        return error

    def _hold(self, tail: bytes) -> None:
        self._held = tail + self._held
        request = self._request
        if request is None:
            return
        # The request has a body, so it is not the last thing said in HTTP, but llhttp has ended it at
        # its header. A new parser that is told of the same framing reads the body as usual.
        coding = self._noted.get(b"transfer-encoding")
        framing = b"transfer-encoding: chunked" if coding else b"content-length: %d" % self._length()
        self._parser = httptools.HttpRequestParser(self)
        self._replaying = True
        self._parser.feed_data(b"POST / HTTP/1.1\r\nhost: replay\r\n" + framing + b"\r\n\r\n")
        self._replaying = False
        self.advance()

    def _length(self) -> int:
        return int(self._noted.get(b"content-length", b"0"))

    # called by httptools

    def on_message_begin(self) -> None:
        self.idle = False

    def on_url(self, url: bytes) -> None:
        if not self._replaying:
            self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._request is not None:
            return  # a trailer, which nothing here has a use for
        name = name.lower()
        self._headers.append((name, value))
        if name in _NOTED:
            if name in self._noted:
                raise self._refuse(BadRequest(f"Bad Request: repeated {name.decode()} header"))
            self._noted[name] = value.rstrip(b" \t")

    def on_headers_complete(self) -> None:
        if self._replaying:
            return
        parser = self._parser
        version = parser.get_http_version()
        method = parser.get_method()
        target = self._url.decode("latin-1")
        self._url = b""
        headers, self._headers = self._headers, []
        request = Request(
            _METHODS.get(method) or method.decode("latin-1"),
            target,
            Headers(headers),
            self._connection,
            self._exchange,
            version == "1.1",
            parser.should_keep_alive(),
        )
        self._request = request
        noted = self._noted
        if self._silent > self._head_limit and _head_bytes(target, headers) > self._head_limit:
            raise self._refuse(HeadTooLarge(self._head_limit))
        self._silent = 0
        if version != "1.1" and version != "1.0":
            raise self._refuse(RequestRefused(505, "HTTP Version Not Supported"))
        if "#" in target:
            raise self._refuse(BadRequest("Bad Request: fragment in the request target"))
        if b"host" not in noted and version == "1.1":
            raise self._refuse(BadRequest("Bad Request: missing required Host header"))
        streamed = self._streams_body is not None and self._streams_body(request)
        if len(noted) > 1 or parser.should_upgrade():
            self._examine(request, streamed)
        if streamed:
            request.body = Body(self._source)
            self.ready.append(request)

    def _examine(self, request: Request, streamed: bool) -> None:
        """The rules for requests with a body, an expectation or another protocol in mind."""
        noted = self._noted
        coding = noted.get(b"transfer-encoding")
        if coding is not None and (coding.lower() != b"chunked" or not request.http11):
            raise self._refuse(BadRequest("Bad Request: unsupported Transfer-Encoding"))
        if request.method == "CONNECT":
            raise self._refuse(RequestRefused(405, "Method Not Allowed"))
        has_body = coding is not None or self._length() > 0
        request.upgradable = self._parser.should_upgrade() and not has_body
        content_coding = noted.get(b"content-encoding", b"identity").lower()
        if content_coding in (b"gzip", b"x-gzip"):
            request.gzipped = True
        elif content_coding not in (b"identity", b"") and has_body:
            raise self._refuse(RequestRefused(415, "Unsupported Media Type: unknown Content-Encoding"))
        if not streamed and self._length() > self._limits.body_bytes:
            raise self._refuse(BodyTooLarge(self._limits.body_bytes))
        expectation = noted.get(b"expect")
        if expectation is None or not request.http11:
            return
        if expectation.lower() != b"100-continue":
            raise self._refuse(RequestRefused(417, "Expectation Failed"))
        if has_body:
            request.expects_continue = True
            if not streamed:
                self.expecting = request

    def on_body(self, data: bytes) -> None:
        self._silent = 0
        request = self._request
        if request is None:
            return
        if request.body is not None:
            request.body.feed(data)
            return
        self.expecting = None
        self._size += len(data)
        if self._size > self._limits.body_bytes:
            raise self._refuse(BodyTooLarge(self._limits.body_bytes))
        self._chunks.append(data)

    def on_message_complete(self) -> None:
        request = self._request
        if request is None:
            return
        if self._parser.should_upgrade():
            if not request.upgradable:
                return  # only the header is over, see `_hold`
            self._undecided = True
        if request.body is not None:
            request.body.finish()
        else:
            if self._chunks:
                self._take_content(request)
            self.ready.append(request)
        self._request = None
        self._silent = 0
        self._noted.clear()
        if request.keep_alive:
            self.idle = not self._held and not self._undecided
        else:
            self.finished = True

    def _take_content(self, request: Request) -> None:
        chunks = self._chunks
        content = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        self._chunks = []
        self._size = 0
        self.expecting = None
        if request.gzipped:
            try:
                content = inflate(content, self._limits.body_bytes)
            except OutputTooLarge:
                raise self._refuse(BodyTooLarge(self._limits.body_bytes)) from None
            except CodingError as error:
                raise self._refuse(BadRequest(f"Bad Request: {error}")) from error
        request.content = content


def _head_bytes(target: str, headers: list[tuple[bytes, bytes]]) -> int:
    return len(target) + 16 + sum(len(name) + len(value) + 4 for name, value in headers)
