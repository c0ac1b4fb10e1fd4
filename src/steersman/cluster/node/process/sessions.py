"""Sessions with processes: pipes and terminals as file descriptors of the agent, not relayed by the keeper.

Nothing is read before the client reads, so a client that reads slowly slows the process down.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import struct
import termios
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from steersman.cluster.node.streaming import Channel, OutputChunk

__all__ = ["ProcessSession"]

_CHUNK: Final = 1 << 16
#: So long output is waited for when the process has ended but somebody has its pipes still open.
_LINGER_S: Final = 0.5


class ProcessSession:
    """A process with its output descriptors and its input. Owns the descriptors."""

    def __init__(
        self,
        outputs: dict[int, Channel],
        stdin: int,
        exit_code: asyncio.Future[int],
        *,
        tty: bool = False,
        on_input_end: Callable[[], Awaitable[None]] | None = None,
        on_close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`stdin` is -1 if there is none; with a terminal it is its other side, and may be in `outputs` too.
        `on_input_end` and `on_close` are what else has to be done then."""
        self._outputs = outputs
        self._stdin = stdin
        self._exit_code = exit_code
        self._tty = tty
        self._on_input_end = on_input_end
        self._on_close = on_close
        self._closed = False
        for fd in self._fds():
            os.set_blocking(fd, False)

    def _fds(self) -> set[int]:
        return {*self._outputs, *([self._stdin] if self._stdin >= 0 else [])}

    async def read(self) -> OutputChunk | None:
        while self._outputs:
            for fd, channel in list(self._outputs.items()):
                try:
                    data = os.read(fd, _CHUNK)
                except BlockingIOError:
                    continue
                except OSError:
                    # The terminal's other side is closed.
                    data = b""
                if data:
                    return OutputChunk(channel, data)
                self._end_output(fd)
            if self._outputs and not await self._wait_readable():
                break
        return None

    async def _wait_readable(self) -> bool:
        """Whether something came before the process had been gone for long enough."""
        if not self._exit_code.done():
            await _ready(self._outputs, self._exit_code)
            return True
        try:
            async with asyncio.timeout(_LINGER_S):
                await _ready(self._outputs, None)
        except TimeoutError:
            return False
        return True

    def _end_output(self, fd: int) -> None:
        del self._outputs[fd]
        if fd != self._stdin:
            os.close(fd)

    async def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view and self._stdin >= 0:
            try:
                view = view[os.write(self._stdin, view) :]
            except BlockingIOError:
                await _writable(self._stdin, self._exit_code)
                if self._exit_code.done():
                    return
            except OSError:
                return

    async def end_input(self) -> None:
        if self._stdin >= 0 and not self._tty:
            os.close(self._stdin)
            self._stdin = -1
        if self._on_input_end is not None:
            await self._on_input_end()

    def resize(self, columns: int, rows: int) -> None:
        if self._tty and self._stdin >= 0:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._stdin, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    async def wait(self) -> int:
        return await asyncio.shield(self._exit_code)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for fd in self._fds():
            os.close(fd)
        self._outputs.clear()
        self._stdin = -1
        if self._on_close is not None:
            await self._on_close()


async def _ready(fds: Iterable[int], exit_code: asyncio.Future[int] | None) -> None:
    """Return when one can be read, or the process has ended."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    fds = tuple(fds)
    for fd in fds:
        loop.add_reader(fd, _settle, ready)
    try:
        await _first(ready, exit_code)
    finally:
        for fd in fds:
            loop.remove_reader(fd)


async def _writable(fd: int, exit_code: asyncio.Future[int]) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_writer(fd, _settle, ready)
    try:
        await _first(ready, exit_code)
    finally:
        loop.remove_writer(fd)


async def _first(ready: asyncio.Future[None], exit_code: asyncio.Future[int] | None) -> None:
    if exit_code is None:
        await ready
        return
    settle = lambda _: _settle(ready)  # noqa: E731 - has to be taken away again
    exit_code.add_done_callback(settle)
    try:
        await ready
    finally:
        exit_code.remove_done_callback(settle)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
