"""The output of a container: read from its pipes or terminal, written to its log, copied to attached clients.

An attached client that reads slowly slows the container down, as a terminal would; one that has disconnected
does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from .log_files import LogFile
from .loop import Loop

__all__ = ["ContainerOutput"]

_CHUNK = 1 << 16
#: More than a pipe can hold; who is still writing is no part of the container any more.
_LAST_CHUNKS = 64


class _Sink:
    """An attached client, and its unsent data."""

    __slots__ = ("fd", "left", "source", "waited_for")

    def __init__(self, fd: int, source: _Source) -> None:
        self.fd = fd
        self.left = b""
        self.source = source
        #: Then the source is not read from.
        self.waited_for = False


class _Source:
    """A pipe or terminal of the container."""

    __slots__ = ("fd", "sinks", "stream")

    def __init__(self, fd: int, stream: str) -> None:
        self.fd = fd
        self.stream = stream
        self.sinks: list[_Sink] = []


class ContainerOutput:
    """The output of one container."""

    def __init__(self, loop: Loop, log: LogFile, sources: dict[str, int], on_end: Callable[[], None]) -> None:
        """`sources` are descriptors by stream; `on_end` is called when nothing more will come."""
        self._loop = loop
        self._log = log
        self._on_end = on_end
        self._sources: dict[str, _Source] = {}
        for stream, fd in sources.items():
            os.set_blocking(fd, False)
            source = self._sources[stream] = _Source(fd, stream)
            loop.on_readable(fd, partial(self._on_readable, source))

    @property
    def ended(self) -> bool:
        return not self._sources

    def attach(self, stream: str, fd: int) -> None:
        """Give what comes from now on to `fd` too; it is closed when nothing more will come."""
        source = self._sources.get(stream)
        if source is None:
            os.close(fd)
            return
        os.set_blocking(fd, False)
        source.sinks.append(_Sink(fd, source))

    def close(self) -> None:
        """Take what is there and stop listening, whoever still has the other ends."""
        for source in list(self._sources.values()):
            for _ in range(_LAST_CHUNKS):
                if not (data := _read(source.fd)):
                    break
                self._log.write(source.stream, data)
            self._end(source)

    def _on_readable(self, source: _Source) -> None:
        data = _read(source.fd)
        if data is None:
            return
        if not data:
            self._end(source)
            if not self._sources:
                self._on_end()
            return
        self._log.write(source.stream, data)
        for sink in list(source.sinks):
            sink.left = data
            self._give(sink)
        if any(sink.left for sink in source.sinks):
            self._loop.forget(source.fd)

    def _give(self, sink: _Sink) -> None:
        try:
            sink.left = sink.left[os.write(sink.fd, sink.left) :]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(sink)
            return
        if sink.left and not sink.waited_for:
            sink.waited_for = True
            self._loop.on_writable(sink.fd, partial(self._go_on, sink))
        elif sink.waited_for and not sink.left:
            sink.waited_for = False
            self._loop.forget(sink.fd)

    def _go_on(self, sink: _Sink) -> None:
        self._give(sink)
        source = sink.source
        if not any(one.left for one in source.sinks):
            self._loop.on_readable(source.fd, partial(self._on_readable, source))

    def _drop(self, sink: _Sink) -> None:
        self._loop.forget(sink.fd)
        os.close(sink.fd)
        sink.left = b""
        sink.source.sinks.remove(sink)

    def _end(self, source: _Source) -> None:
        self._loop.forget(source.fd)
        os.close(source.fd)
        del self._sources[source.stream]
        for sink in list(source.sinks):
            self._drop(sink)
        self._log.end(source.stream)


def _read(fd: int) -> bytes | None:
    """What is there now: None if nothing is, nothing at the end."""
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        # A terminal that nobody has open any more.
        return b""
