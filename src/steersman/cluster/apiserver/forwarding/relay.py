"""Forwarding of a request to another server, and of the answer to the client as it comes.

Used for aggregated API servers, nodes, and what `proxy` paths lead to. Endless answers flow through with
back-pressure; an upgrade (WebSocket, SPDY) joins the two connections and lets bytes pass until one side ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from steersman.aio import Scope
from steersman.cluster.auth.websocket_tokens import without_token
from steersman.http import Headers, Request, Response, Upgraded
from steersman.http.errors import ConnectionClosed, HttpError, ProtocolError, UpgradeRefused
from steersman.http.transport import StreamedAnswer, UpgradableTransport

__all__ = [
    "ForwardedRequest",
    "Rewriting",
    "forwarded_headers",
    "join",
    "relay",
    "returned_headers",
    "splice",
    "stream_back",
]

RawList = list[tuple[bytes, bytes]]

#: A header's meaning ends with the connection it came over (RFC 9110, 7.6.1).
_HOP_BY_HOP: Final = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection",
        b"te", b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
#: Ours to say, or not the backend's to know.
_NOT_PASSED_ON: Final = frozenset(
    {b"host", b"content-length", b"accept-encoding", b"authorization", b"expect", b"x-forwarded-for"}
)
_NOT_PASSED_BACK: Final = frozenset({b"content-length", b"date"})
#: Until the answer's head; what follows may take as long as it likes.
_ANSWER_TIMEOUT_S: Final = 60.0
#: Shorter answers are passed back in one piece.
_COLLECTED_BYTES: Final = 256 << 10
#: Answers that are changed on their way back are held whole, if they are not too long for it.
_REWRITTEN_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """A request as another server gets it."""

    transport: UpgradableTransport
    target: str
    headers: RawList
    method: str


class Rewriting(Protocol):
    """Answers that are changed on their way back."""

    def headers(self, headers: RawList) -> RawList: ...

    def concerns(self, headers: Headers) -> bool:
        """Whether the body is changed too, for which it is collected."""
        ...

    def body(self, content: bytes) -> bytes: ...


def forwarded_headers(request: Request) -> Iterator[tuple[bytes, bytes]]:
    """The headers of a request that are the backend's to know, and for whom it is made."""
    named = {token.encode("latin-1") for token in request.headers.tokens("connection")}
    dropped = _HOP_BY_HOP | _NOT_PASSED_ON | named
    for name, value in request.headers.raw:
        if name in dropped or name.startswith(b"impersonate-"):
            continue
        if request.gzipped and name == b"content-encoding":
            # The body has been unpacked on its way in.
            continue
        yield name, without_token(value) if name == b"sec-websocket-protocol" else value
    before = request.headers.get_all("x-forwarded-for")
    yield b"X-Forwarded-For", ", ".join([*before, request.connection.client[0]]).encode("latin-1")


def returned_headers(headers: Headers) -> RawList:
    named = {token.encode("latin-1") for token in headers.tokens("connection")}
    dropped = _HOP_BY_HOP | _NOT_PASSED_BACK | named
    if "gzip" in headers.tokens("content-encoding"):
        # The client has unpacked it.
        dropped |= {b"content-encoding"}
    return [(name, value) for name, value in headers.raw if name not in dropped]


async def relay(
    forwarded: ForwardedRequest,
    request: Request,
    rewriting: Rewriting | None = None,
    on_stream: Callable[[], None] | None = None,
) -> Response | None:
    """The answer, None when it was given as a stream (`on_stream` is called when it begins).

    Raises `ClientError` when there is none.
    """
    content = b"".join([chunk async for chunk in request.chunks()])
    asked = forwarded.transport.stream(
        forwarded.method,
        forwarded.target,
        headers=forwarded.headers,
        content=content,
        timeout_s=_ANSWER_TIMEOUT_S,
    )
    async with asked as answer:
        headers = returned_headers(answer.headers)
        if rewriting is not None:
            headers = rewriting.headers(headers)
            if rewriting.concerns(answer.headers) and request.method != "HEAD":
                body = rewriting.body(await _collect(answer))
                return Response(answer.status, body, headers, compressible=False)
        if request.method == "HEAD" or _is_short(answer.headers):
            body = b"" if request.method == "HEAD" else await answer.read()
            return Response(answer.status, body, headers, compressible=False)
        if on_stream is not None:
            on_stream()
        await stream_back(request, answer, headers)
    return None


async def _collect(answer: StreamedAnswer) -> bytes:
    parts, size = [], 0
    async for chunk in answer.chunks():
        parts.append(chunk)
        size += len(chunk)
        if size > _REWRITTEN_BYTES:
            raise ProtocolError(f"a page is larger than {_REWRITTEN_BYTES} bytes")
    return b"".join(parts)


def _is_short(headers: Headers) -> bool:
    length = headers.get("content-length") or ""
    return length.isdecimal() and int(length) <= _COLLECTED_BYTES


async def stream_back(request: Request, answer: StreamedAnswer, headers: RawList) -> None:
    """Pass the body on as it comes, until it ends or the client, who may leave at any time, is gone."""
    stream = request.stream(answer.status, headers)

    async def pump() -> None:
        async for chunk in answer.chunks():
            stream.write(chunk)
            await stream.drain()

    async with Scope(on_error=lambda _: None) as scope:
        pumping = scope.start(pump())

        def stop() -> None:
            pumping.cancel()

        stream.on_close(stop)
        try:
            await asyncio.wait([pumping])
        finally:
            stop()
            (outcome,) = await asyncio.gather(pumping, return_exceptions=True)
            if outcome is None:
                stream.end()
            else:
                # The client must not take what it has for the whole.
                stream.abort()
    if isinstance(outcome, Exception) and not isinstance(outcome, HttpError):
        raise outcome


async def splice(
    forwarded: ForwardedRequest, request: Request, on_upgrade: Callable[[], None] | None = None
) -> Response | None:
    """Join the client with the backend, or hand back why the backend refused. Raises `ClientError`."""
    wanted = request.headers.get_all("upgrade")
    asked = [
        *forwarded.headers,
        (b"Connection", b"Upgrade"),
        *((b"Upgrade", value.encode("latin-1")) for value in wanted),
    ]
    try:
        answered, backend = await forwarded.transport.upgrade(
            forwarded.method,
            forwarded.target,
            headers=asked,
            content=request.content,
            timeout_s=_ANSWER_TIMEOUT_S,
        )
    except UpgradeRefused as refusal:
        kind = (b"Content-Type", b"application/json" if refusal.content[:1] == b"{" else b"text/plain")
        return Response(refusal.status, refusal.content, (kind,))
    switched = [
        (b"Connection", b"Upgrade"),
        *((b"Upgrade", value.encode("latin-1")) for value in answered.get_all("upgrade")),
        *returned_headers(answered),
    ]
    try:
        front = request.upgrade(switched)
    except BaseException:
        backend.abort()
        raise
    if on_upgrade is not None:
        on_upgrade()
    await join(front, backend)
    return None


async def join(front: Upgraded, backend: Upgraded) -> None:
    """Let bytes pass both ways; when one side is done, so is the other."""
    async with Scope(on_error=lambda _: None) as scope:
        ways = [scope.start(_pass(source, sink)) for source, sink in ((front, backend), (backend, front))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in (front, backend):
                end.close()


async def _pass(source: Upgraded, sink: Upgraded) -> None:
    try:
        while data := await source.read():
            sink.write(data)
            await sink.drain()
    except ConnectionClosed:
        return
