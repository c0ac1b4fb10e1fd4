"""A body on its way in: chunks between the protocol that receives them and the one task that reads.

The protocol stops reading from the network while `size` is above `HIGH_WATER_BYTES`, so a slow
reader costs bounded memory. Used for streamed requests (server) and responses (client).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Protocol

__all__ = ["HIGH_WATER_BYTES", "Body", "BodySource"]

HIGH_WATER_BYTES = 256 << 10


class BodySource(Protocol):
    """The protocol at the network end."""

    def body_wanted(self) -> None:
        """The reader waits and there is nothing for it (time to send 100 Continue)."""
        ...

    def body_drained(self) -> None:
        """The reader has made room."""
        ...


class Body:
    """The chunks of one message; iterate over it once."""

    __slots__ = ("_chunks", "_error", "_source", "_waiter", "complete", "size")

    def __init__(self, source: BodySource | None = None) -> None:
        self._source = source
        self._chunks: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._error: BaseException | None = None
        self.size = 0
        """Bytes received and not yet read."""
        self.complete = False
        """Whether the last chunk has been received (not: read)."""

    # network side

    def feed(self, data: bytes) -> None:
        self._chunks.append(data)
        self.size += len(data)
        self._wake()

    def finish(self) -> None:
        self.complete = True
        self._wake()

    def fail(self, error: BaseException) -> None:
        """What the reader gets once the chunks received so far are read; ignored after the end."""
        if not self.complete and self._error is None:
            self._error = error
            self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    # reader's side

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self.complete:
                raise StopAsyncIteration
            if self._waiter is not None:
                raise RuntimeError("the body is already being read by another task")
            if self._source is not None:
                self._source.body_wanted()
            self._waiter = waiter = asyncio.get_running_loop().create_future()
            try:
                await waiter
            finally:
                self._waiter = None
        data = self._chunks.popleft()
        before = self.size
        self.size = before - len(data)
        if before > HIGH_WATER_BYTES >= self.size and self._source is not None:
            self._source.body_drained()
        return data

    async def read(self) -> bytes:
        """Everything that is left."""
        return b"".join([chunk async for chunk in self])
