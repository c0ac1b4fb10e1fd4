"""The live stream: server-sent events of everything that changes on the boards.

    id: 4f1c-17                 who connects again with Last-Event-ID gets what was missed,
    event: workload             or a new snapshot if that is too long ago or of another process
    data: {"tenant": …}

A stream begins with `snapshot` (unless it is resumed). Then come `controller` of every tenant, `workload`,
`workload-gone` and `transition` of the chosen one, and `tenants` when one comes or goes. Every second a
`pulse` without id tells how much of the lease is left: it is the heartbeat too. Nothing is encoded while
nobody looks; a viewer that does not read is dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import orjson

from steersman.aio import Clock, Scope
from steersman.highlander.api import views
from steersman.highlander.state import Board, Transition, WorkloadState
from steersman.http import Request, RequestRefused, Stream

__all__ = ["Events"]

_REMEMBERED = 2048
_MOST_VIEWERS = 256
#: What may wait for a viewer, beside what it was told first, before it is dropped.
_PATIENCE_BYTES = 1 << 20
_PULSE_S = 1.0


class _Event:
    """A change; its bytes are made when first needed."""

    __slots__ = ("_bytes", "_data", "number", "tenant", "what")

    def __init__(self, number: int, what: str, tenant: str, data: Callable[[], object]) -> None:
        self.number = number
        self.what = what
        self.tenant = tenant
        self._data = data
        self._bytes: bytes | None = None

    def concerns(self, tenant: str) -> bool:
        return self.what == "controller" or self.tenant == tenant

    def encoded(self, boot: str) -> bytes:
        if self._bytes is None:
            data = {"tenant": self.tenant, "data": self._data()}
            self._bytes = _message(self.what, data, f"{boot}-{self.number}")
        return self._bytes


@dataclass(frozen=True, slots=True)
class _Viewer:
    tenant: str
    #: More than this waiting for it is too much.
    patience_bytes: int


class Events:
    """Listens to boards, and to whom it may tell it."""

    HEADERS = (
        (b"Content-Type", b"text/event-stream; charset=utf-8"),
        (b"Cache-Control", b"no-store"),
        (b"X-Accel-Buffering", b"no"),
        (b"X-Content-Type-Options", b"nosniff"),
    )

    def __init__(self, boards: Mapping[str, Board], clock: Clock) -> None:
        """`boards` by tenant: read whenever something is to be shown, so it may change."""
        self._boards = boards
        self._clock = clock
        self._boot = uuid4().hex[:8]
        self._number = 0
        self._recent: deque[_Event] = deque(maxlen=_REMEMBERED)
        self._viewers: dict[Stream, _Viewer] = {}
        self._scope = Scope()
        self._pulse: asyncio.Task[None] | None = None

    @property
    def viewers(self) -> int:
        return len(self._viewers)

    def follow(self, board: Board) -> Callable[[], None]:
        """Tell of this board's changes until what is returned is called."""
        return board.subscribe(partial(self._changed, board))

    def serve(self, request: Request, tenant: str, last_id: str) -> None:
        """Answer `request` with the stream."""
        if len(self._viewers) >= _MOST_VIEWERS:
            raise RequestRefused(503, "too many look already", ((b"Retry-After", b"10"),))
        stream = request.stream(200, self.HEADERS)
        missed = self._since(last_id)
        if missed is None:
            first = _message("snapshot", self.snapshot(tenant), f"{self._boot}-{self._number}")
        else:
            first = b"".join(self._encoded(missed, tenant)) or b": up to date\n\n"
        stream.write(first)
        self._viewers[stream] = _Viewer(tenant, _PATIENCE_BYTES + len(first))
        stream.on_close(lambda: self._gone(stream))
        if self._pulse is None:
            self._pulse = self._scope.start(self._beat(), name="pulse")

    def tell_tenants(self) -> None:
        """Which tenants there are now."""
        if not self._viewers:
            return
        message = _message("tenants", [views.tenant(board) for board in self._boards.values()])
        for stream, viewer in tuple(self._viewers.items()):
            self._write(stream, viewer, message)

    def snapshot(self, tenant: str) -> dict[str, Any]:
        """Everything a viewer of `tenant` shows."""
        board, now = self._boards[tenant], self._clock.wall()
        return {
            "now": views.moment(now),
            "tenant": tenant,
            "tenants": [views.tenant(one) for one in self._boards.values()],
            "controller": views.controller(board),
            "workloads": [views.workload(one, now) for one in board.workloads.values()],
            "history": [views.leadership_change(entry) for entry in board.history],
        }

    async def close(self) -> None:
        for stream in tuple(self._viewers):
            stream.end()
        await self._scope.close()

    def _changed(self, board: Board, what: str, value: object) -> None:
        self._number += 1
        event = _Event(self._number, what, board.controller.tenant, self._view(board, value))
        self._recent.append(event)
        for stream, viewer in tuple(self._viewers.items()):
            if event.concerns(viewer.tenant):
                self._write(stream, viewer, event.encoded(self._boot))

    def _view(self, board: Board, value: object) -> Callable[[], object]:
        if isinstance(value, WorkloadState):
            return lambda: views.workload(value, self._clock.wall())
        if isinstance(value, Transition):
            return lambda: views.leadership_change(value)
        # How a controller is can always be said anew; a later view of it is as good as an earlier one.
        return lambda: {**views.controller(board), "summary": views.tenant(board)}

    def _since(self, last_id: str) -> Iterable[_Event] | None:
        """What came after that event; None if that cannot be said."""
        boot, _, number = last_id.rpartition("-")
        if boot != self._boot or not number.isdecimal():
            return None
        last = int(number[:18])
        oldest = self._recent[0].number if self._recent else self._number + 1
        if not oldest - 1 <= last <= self._number:
            return None
        return [event for event in self._recent if event.number > last]

    def _encoded(self, events: Iterable[_Event], tenant: str) -> list[bytes]:
        return [event.encoded(self._boot) for event in events if event.concerns(tenant)]

    def _write(self, stream: Stream, viewer: _Viewer, message: bytes) -> None:
        if stream.buffered > viewer.patience_bytes:
            stream.abort()
        else:
            stream.write(message)

    def _gone(self, stream: Stream) -> None:
        self._viewers.pop(stream, None)

    async def _beat(self) -> None:
        """Until nobody looks."""
        try:
            while self._viewers:
                messages: dict[str, bytes] = {}
                for stream, viewer in tuple(self._viewers.items()):
                    tenant = viewer.tenant
                    if tenant not in self._boards:
                        # The tenant is gone: who connects again is told so.
                        stream.end()
                        continue
                    if tenant not in messages:
                        messages[tenant] = _message("pulse", self._pulse_of(self._boards[tenant]))
                    self._write(stream, viewer, messages[tenant])
                await self._clock.sleep(_PULSE_S)
        finally:
            self._pulse = None

    def _pulse_of(self, board: Board) -> dict[str, object]:
        state = board.controller
        return {
            "tenant": state.tenant,
            "now": views.moment(self._clock.wall()),
            "isLeader": state.is_leader,
            "leaseMarginSeconds": state.lease_margin_s,
            "renewLagSeconds": state.renew_lag_s,
        }


def _message(what: str, data: object, number: str = "") -> bytes:
    """JSON has no line breaks, so one line of data is enough."""
    head = f"id: {number}\nevent: {what}\ndata: " if number else f"event: {what}\ndata: "
    return head.encode() + orjson.dumps(data) + b"\n\n"
