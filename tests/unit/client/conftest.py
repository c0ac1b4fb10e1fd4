"""What the client's unit tests share: a clock that moves when told, a transport that plays a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import orjson
import pytest

from steersman.http import ClientResponse, Headers, RawHeaders, StreamingResponse
from steersman.http.body import Body


@dataclass
class StoppedClock:
    """Time passes only by sleeping, and then at once."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now

    async def sleep(self, delay_s: float) -> None:
        self.slept.append(delay_s)
        self.now += delay_s


Answer = tuple[int, Any, dict[str, str]]
"""Status, body and header fields."""


@dataclass(frozen=True)
class Sent:
    method: str
    target: str
    headers: dict[str, str]
    content: bytes


@dataclass
class Script:
    """A transport whose answers are written down beforehand; an error is raised in its turn."""

    answers: Sequence[Answer | Exception]
    sent: list[Sent] = field(default_factory=list)

    def _next(
        self, method: str, target: str, headers: RawHeaders, content: bytes
    ) -> tuple[int, Headers, bytes]:
        given = {name.decode().lower(): value.decode() for name, value in headers}
        self.sent.append(Sent(method, target, given, content))
        answer = self.answers[len(self.sent) - 1]
        if isinstance(answer, Exception):
            raise answer
        status, body, fields = answer
        raw = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
        return status, Headers(raw), body if isinstance(body, bytes) else orjson.dumps(body)

    async def request(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> ClientResponse:
        return ClientResponse(*self._next(method, target, headers, content))

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
        read_timeout_s: float | None = None,
    ) -> AsyncIterator[StreamingResponse]:
        status, fields, whole = self._next(method, target, headers, content)
        body = Body()
        body.feed(whole)
        body.finish()
        yield StreamingResponse(status, fields, body)

    async def websocket(
        self,
        target: str,
        subprotocols: Sequence[str] = (),
        *,
        headers: RawHeaders = (),
        timeout_s: float | None = None,
    ) -> NoReturn:
        raise AssertionError("no test opens a WebSocket here")

    async def close(self) -> None:
        pass


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()
