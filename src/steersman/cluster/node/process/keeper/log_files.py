"""Writing a container's output as CRI log files: `2006-01-02T15:04:05.000000000Z stdout F line`, with
rotation.

Lines longer than 16 KiB come in parts (`P`, the last `F`), and a line that is never ended is a part. A file
that has grown too large is renamed to `<name>.<UTC time>` and a new one begun; the oldest beyond `max_files`
go. A disk that is full costs lines, never the container its output pipe.
"""

from __future__ import annotations

import glob
import os
import time

__all__ = ["LogFile"]

_PART = 16 << 10


class LogFile:
    """The log of one container."""

    def __init__(self, path: str, max_bytes: int, max_files: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._max_files = max_files
        #: Stream → the beginning of a line whose end has not come.
        self._rests: dict[str, bytes] = {}
        self._fd = -1
        self._size = 0
        self._open()

    def _open(self) -> None:
        try:
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
            self._size = os.fstat(self._fd).st_size
        except OSError:
            self._fd = -1

    def write(self, stream: str, data: bytes) -> None:
        """Take some output, in the pieces it comes."""
        rest = self._rests.pop(stream, b"")
        lines = (rest + data).split(b"\n")
        last = lines.pop()
        head = _stamp() + stream.encode()
        full, part = head + b" F ", head + b" P "
        pieces: list[bytes] = []
        for line in lines:
            while len(line) > _PART:
                pieces += (part, line[:_PART], b"\n")
                line = line[_PART:]
            pieces += (full, line, b"\n")
        while len(last) >= _PART:
            pieces += (part, last[:_PART], b"\n")
            last = last[_PART:]
        if last:
            self._rests[stream] = last
        if pieces:
            self._append(b"".join(pieces))

    def end(self, stream: str) -> None:
        """No more will come of this stream."""
        if rest := self._rests.pop(stream, b""):
            self._append(_stamp() + stream.encode() + b" P " + rest + b"\n")

    def close(self) -> None:
        for stream in tuple(self._rests):
            self.end(stream)
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, data: bytes) -> None:
        if self._size and self._size + len(data) > self._max_bytes:
            self._rotate()
        if self._fd < 0:
            self._open()
        try:
            while data and self._fd >= 0:
                written = os.write(self._fd, data)
                self._size += written
                data = data[written:]
        except OSError:
            return

    def _rotate(self) -> None:
        now_ns = time.time_ns()
        moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now_ns // 10**9))
        try:
            os.rename(self._path, f"{self._path}.{moment}.{now_ns % 10**9 // 1000:06d}")
        except OSError:
            return
        os.close(self._fd)
        self._fd = -1
        self._open()
        old = sorted(glob.glob(f"{glob.escape(self._path)}.*"))
        for path in old[: max(len(old) - self._max_files + 1, 0)]:
            try:
                os.unlink(path)
            except OSError:
                continue


def _stamp() -> bytes:
    now_ns = time.time_ns()
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_ns // 10**9))
    return f"{moment}.{now_ns % 10**9:09d}Z ".encode()
