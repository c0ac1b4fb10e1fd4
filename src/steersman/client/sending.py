"""One request from encoding to answer: credentials, waiting as told, errors.

    answer                                 what happens
    -----------------------------------    ---------------------------------------------------
    2xx                                    returned
    401                                    credentials renewed, once, and asked again
    429 with Retry-After                   waited and asked again, up to 10 times
    5xx with Retry-After, of a read        the same
    any other                              raised as an `ApiError`
    none                                   raised as `Unreachable`

Everything above it (`Client`, watches, logs) sends through it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import copy
from typing import NamedTuple

from steersman.aio import Clock
from steersman.client.credentials import Credentials
from steersman.client.errors import Unreachable, api_error
from steersman.client.transport import StreamedAnswer, Transport
from steersman.http import ClientResponse, Headers, HttpError, RawHeaders, WebSocket
from steersman.http.errors import ConnectFailed, UpgradeRefused

__all__ = ["JSON", "Observe", "Sender", "Wire", "unreachable"]

_log = logging.getLogger(__name__)

Observe = Callable[[str, str], None]
"""Called with the method and code of every answer; the code is `<error>` where there was none."""

_MOST_TRIES = 10
_READS = frozenset(("GET", "HEAD"))
_NO_ANSWER = "<error>"


class Wire(NamedTuple):
    """What a request takes and sends."""

    accept: bytes = b"application/json"
    content_type: bytes = b""

    @property
    def fields(self) -> tuple[tuple[bytes, bytes], ...]:
        content = ((b"Content-Type", self.content_type),) if self.content_type else ()
        return ((b"Accept", self.accept), *content)


JSON = Wire()


class Sender:
    """Sends requests for one user."""

    def __init__(
        self, transport: Transport, credentials: Credentials, clock: Clock, observe: Observe | None
    ) -> None:
        self.transport = transport
        self.logs_warnings = True
        self._credentials = credentials
        self._clock = clock
        self._observers: tuple[Observe, ...] = () if observe is None else (observe,)
        # Header fields by what is sent, for the credentials they were made with: encoded once.
        self._proof: RawHeaders = ()
        self._fields: dict[Wire, RawHeaders] = {}
        self._name: RawHeaders = ()

    async def send(
        self,
        method: str,
        target: str,
        wire: Wire = JSON,
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> ClientResponse:
        attempts: _Attempts | None = None
        while True:
            fields = self.fields(wire) or await self._renewed_fields(wire)
            try:
                answer = await self.transport.request(
                    method, target, headers=fields, content=content, timeout_s=timeout_s
                )
            except HttpError as error:
                raise self._unreachable(method, error) from error
            self._observed(method, str(answer.status))
            if answer.status < 400:
                if method not in _READS and self.logs_warnings:
                    _log_warnings(answer.headers)
                return answer
            attempts = attempts or _Attempts(self, method, wire)
            if not await attempts.another(answer.status, answer.headers, fields):
                raise api_error(answer.status, answer.headers, answer.content)

    @asynccontextmanager
    async def stream(
        self, target: str, wire: Wire = JSON, read_timeout_s: float | None = None
    ) -> AsyncIterator[StreamedAnswer]:
        """A GET whose answer is read as it comes."""
        attempts = _Attempts(self, "GET", wire)
        while True:
            fields = self.fields(wire) or await self._renewed_fields(wire)
            opening = self.transport.stream("GET", target, headers=fields, read_timeout_s=read_timeout_s)
            try:
                answer = await opening.__aenter__()
            except HttpError as error:
                raise self._unreachable("GET", error) from error
            try:
                self._observed("GET", str(answer.status))
                if answer.status < 400:
                    yield answer
                    return
                content = await self._read(answer)
            finally:
                await opening.__aexit__(None, None, None)
            if not await attempts.another(answer.status, answer.headers, fields):
                raise api_error(answer.status, answer.headers, content)

    async def websocket(self, target: str, subprotocols: tuple[str, ...]) -> WebSocket:
        attempts = _Attempts(self, "GET", JSON)
        while True:
            fields = self.fields(JSON) or await self._renewed_fields(JSON)
            try:
                socket = await self.transport.websocket(target, subprotocols, headers=fields)
            except UpgradeRefused as error:
                headers = Headers([])
                self._observed("GET", str(error.status))
                if not await attempts.another(error.status, headers, fields):
                    raise api_error(error.status, headers, error.content) from None
            except HttpError as error:
                raise self._unreachable("GET", error) from error
            else:
                self._observed("GET", "101")
                return socket

    def observe(self, observe: Observe) -> Callable[[], None]:
        """Have it told of every answer; returns how to end that."""
        self._observers += (observe,)

        def end() -> None:
            self._observers = tuple(one for one in self._observers if one is not observe)

        return end

    def _observed(self, method: str, code: str) -> None:
        for observe in self._observers:
            observe(method, code)

    async def pause(self, delay_s: float) -> None:
        await self._clock.sleep(delay_s)

    async def renew(self) -> bool:
        return await self._credentials.renew(rejected=True)

    def fields(self, wire: Wire) -> RawHeaders | None:
        """The header of a request: the same tuple as long as the credentials are the same."""
        proof = self._credentials.current()
        if proof is None:
            return None
        if proof is not self._proof:
            self._proof = proof
            self._fields = {}
        fields = self._fields.get(wire)
        if fields is None:
            fields = self._fields[wire] = (*wire.fields, *self._name, *proof)
        return fields

    def named(self, user_agent: str) -> Sender:
        """The same under another name than the transport's."""
        twin = copy(self)
        twin._fields = {}
        twin._name = ((b"User-Agent", user_agent.encode("latin-1", "replace")),)
        return twin

    async def _renewed_fields(self, wire: Wire) -> RawHeaders:
        await self._credentials.renew()
        return self.fields(wire) or wire.fields

    async def _read(self, answer: StreamedAnswer) -> bytes:
        try:
            return await answer.read()
        except HttpError:
            # The code is known; the words are lost.
            return b""

    def _unreachable(self, method: str, error: HttpError) -> Unreachable:
        self._observed(method, _NO_ANSWER)
        return unreachable(error)


class _Attempts:
    """Whether a refused request is sent once more."""

    __slots__ = ("_method", "_renewed", "_sender", "_tries", "_wire")

    def __init__(self, sender: Sender, method: str, wire: Wire) -> None:
        self._sender = sender
        self._method = method
        self._wire = wire
        self._tries = 1
        self._renewed = False

    async def another(self, status: int, headers: Headers, sent: RawHeaders) -> bool:
        """Wait as the server says; False if asking again is of no use."""
        if status == 401:
            again, self._renewed = not self._renewed, True
            # Another request may have had them renewed while this one was under way.
            return again and (self._sender.fields(self._wire) is not sent or await self._sender.renew())
        if self._tries >= _MOST_TRIES or not (status == 429 or (status >= 500 and self._method in _READS)):
            return False
        delay = headers.get("retry-after") or ""
        if not delay.isdigit():
            return False
        self._tries += 1
        await self._sender.pause(float(delay))
        return True


def _log_warnings(headers: Headers) -> None:
    """What the API wants people to know about a write that it accepted (deprecations, mostly)."""
    if "warning" not in headers:
        return
    for value in headers.get_all("warning"):
        quoted = value.partition('"')[2].rpartition('"')[0]
        _log.warning("the API warns: %s", quoted.replace('\\"', '"') or value)


def unreachable(error: HttpError) -> Unreachable:
    return Unreachable(str(error), maybe_done=not isinstance(error, ConnectFailed))
