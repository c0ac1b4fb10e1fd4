"""Proposals of one loop on their way to the node's loop and back: what goes together crosses together.

Waking another thread's loop costs more than a proposal. Therefore either side wakes the other only if it has
not done so since the other last looked.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from steersman.raft.errors import NodeStopped
from steersman.raft.node import RaftNode

__all__ = ["Bridge"]


class Bridge:
    """Between `caller`, whose thread calls `propose`, and the loop of `node`."""

    def __init__(self, node: RaftNode, home: asyncio.AbstractEventLoop) -> None:
        self.caller = asyncio.get_running_loop()
        self._node = node
        self._home = home
        #: Appended to on one thread and emptied on the other, which deques allow.
        self._going: deque[tuple[bytes, _Return]] = deque()
        self._coming: deque[_Return] = deque()
        #: Whether the other side is about to look. Lowered before looking: what comes later wakes it again.
        self._woken = False
        self._called = False

    def propose(self, data: bytes) -> asyncio.Future[Any]:
        """On the caller's loop."""
        answer = _Return(self)
        self._going.append((data, answer))
        if not self._woken:
            self._woken = True
            try:
                self._home.call_soon_threadsafe(self._arrive)
            except RuntimeError as error:
                raise NodeStopped("the node was stopped") from error
        return answer.future

    def _arrive(self) -> None:
        """On the node's loop."""
        self._woken = False
        arrived = []
        while self._going:
            arrived.append(self._going.popleft())
        self._node.submit(arrived)

    def come(self, answer: _Return) -> None:
        """On the node's loop: an answer goes back."""
        self._coming.append(answer)
        if not self._called and not self.caller.is_closed():
            self._called = True
            self.caller.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        """On the caller's loop."""
        self._called = False
        while self._coming:
            self._coming.popleft().settle()


class _Return:
    """Stands at the node's for a future of the caller's."""

    __slots__ = ("_bridge", "_error", "_result", "_settled", "future")

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self.future: asyncio.Future[Any] = bridge.caller.create_future()
        self._result: Any = None
        self._error: Exception | None = None
        self._settled = False

    def done(self) -> bool:
        return self._settled

    def set_result(self, result: Any, /) -> None:
        self._result = result
        self._settled = True
        self._bridge.come(self)

    def set_exception(self, error: Exception, /) -> None:
        self._error = error
        self._settled = True
        self._bridge.come(self)

    def settle(self) -> None:
        if self.future.done():
            return  # nobody waits any more
        if self._error is not None:
            self.future.set_exception(self._error)
        else:
            self.future.set_result(self._result)
