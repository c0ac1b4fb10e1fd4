"""One request passed on to a backend: the head rewritten, the answer handed back as it comes.

Watches and other endless answers flow through with back-pressure; an upgrade (WebSocket, SPDY) joins the two
connections and lets bytes pass until one side ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from steersman.cluster.apiserver.aggregation.identity import identity_headers, is_identity
from steersman.cluster.auth.users import User
from steersman.http import Client, Headers, Request, Response, StreamingResponse, Upgraded
from steersman.http.errors import ClientError, ConnectionClosed, HttpError, UpgradeRefused

__all__ = ["forward", "unavailable_response"]

#: A header's meaning ends with the connection it came over (RFC 9110, 7.6.1).
_HOP_BY_HOP: Final = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection",
        b"te", b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
#: Ours to say, or not the backend's to know.
_NOT_PASSED_ON: Final = frozenset(
    {b"host", b"content-length", b"accept-encoding", b"authorization", b"expect"}
)
_NOT_PASSED_BACK: Final = frozenset({b"content-length", b"date"})
#: Until the answer's head; what follows may take as long as it likes.
_ANSWER_TIMEOUT_S: Final = 60.0
#: Shorter answers are passed back in one piece.
_COLLECTED_BYTES: Final = 256 << 10


def unavailable_response(why: str) -> Response:
    """503 in plain text, as the aggregator says it."""
    text = ((b"Content-Type", b"text/plain; charset=utf-8"), (b"X-Content-Type-Options", b"nosniff"))
    return Response(503, why.encode() + b"\n", text)


async def forward(client: Client, request: Request, user: User) -> Response | None:
    """The answer, or None when it was given as a stream or the connection was taken over."""
    try:
        if request.upgradable:
            return await _splice(client, request, user)
        return await _relay(client, request, user)
    except ClientError as error:
        return unavailable_response(f"error trying to reach service: {error}")


def _target(request: Request) -> str:
    """Path and query as they came, whatever form the request line had."""
    return f"{request.raw_path}?{request.query_string}" if request.query_string else request.raw_path


def _headers_for(request: Request, user: User) -> Iterator[tuple[bytes, bytes]]:
    named = {token.encode("latin-1") for token in request.headers.tokens("connection")}
    for name, value in request.headers.raw:
        if name in _HOP_BY_HOP or name in _NOT_PASSED_ON or name in named:
            continue
        if is_identity(name) or name.startswith(b"impersonate-") or name == b"x-forwarded-for":
            continue
        if request.gzipped and name == b"content-encoding":
            # The body has been unpacked on its way in.
            continue
        yield name, value
    yield from identity_headers(user)
    before = request.headers.get_all("x-forwarded-for")
    yield b"X-Forwarded-For", ", ".join([*before, request.connection.client[0]]).encode("latin-1")


def _headers_back(headers: Headers) -> list[tuple[bytes, bytes]]:
    named = {token.encode("latin-1") for token in headers.tokens("connection")}
    dropped = _HOP_BY_HOP | _NOT_PASSED_BACK | named
    return [(name, value) for name, value in headers.raw if name not in dropped]


async def _relay(client: Client, request: Request, user: User) -> Response | None:
    content = b"".join([chunk async for chunk in request.chunks()])
    asked = client.stream(
        request.method,
        _target(request),
        headers=list(_headers_for(request, user)),
        content=content,
        timeout_s=_ANSWER_TIMEOUT_S,
    )
    async with asked as answer:
        headers = _headers_back(answer.headers)
        length = answer.headers.get("content-length") or ""
        if request.method == "HEAD" or (length.isdecimal() and int(length) <= _COLLECTED_BYTES):
            body = b"" if request.method == "HEAD" else await answer.read()
            return Response(answer.status, body, headers, compressible=False)
        await _stream(request, answer, headers)
    return None


async def _stream(request: Request, answer: StreamingResponse, headers: list[tuple[bytes, bytes]]) -> None:
    """Pass the body on as it comes, until it ends or the client, who may leave at any time, is gone."""
    stream = request.stream(answer.status, headers)

    async def pump() -> None:
        async for chunk in answer.chunks():
            stream.write(chunk)
            await stream.drain()

    pumping = asyncio.get_running_loop().create_task(pump())

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


async def _splice(client: Client, request: Request, user: User) -> Response | None:
    wanted = request.headers.get_all("upgrade")
    asked = [
        *_headers_for(request, user),
        (b"Connection", b"Upgrade"),
        *((b"Upgrade", value.encode("latin-1")) for value in wanted),
    ]
    try:
        answered, backend = await client.upgrade(
            request.method,
            _target(request),
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
        *_headers_back(answered),
    ]
    try:
        front = request.upgrade(switched)
    except BaseException:
        backend.abort()
        raise
    await _join(front, backend)
    return None


async def _join(front: Upgraded, backend: Upgraded) -> None:
    """Let bytes pass both ways; when one side is done, so is the other."""
    ways = [
        asyncio.get_running_loop().create_task(_pass(source, sink))
        for source, sink in ((front, backend), (backend, front))
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in (front, backend):
            end.close()
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _pass(source: Upgraded, sink: Upgraded) -> None:
    try:
        while data := await source.read():
            sink.write(data)
            await sink.drain()
    except ConnectionClosed:
        return
