"""Reading container logs in CRI's format, across rotated files.

    2026-11-16T12:00:00.000000000Z stdout F a whole line, or the end of one
    2026-11-16T12:00:00.000000000Z stdout P the beginning of a long line

The engine writes `PATH` and renames it to `PATH.<suffix that sorts by age>` when it is large. `read_log` goes
over all of them as over one; the node's API calls it. Nothing here writes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Final

from steersman.objects.times import format_micro_time, parse_time

__all__ = ["ALL_STREAMS", "ContainerLogOptions", "has_log", "read_log"]

ALL_STREAMS: Final = frozenset((b"stdout", b"stderr"))
_BLOCK_BYTES: Final = 64 << 10
#: How often a followed log is looked at that has nothing new.
_LOOK_S: Final = 0.1
#: Records looked at before others get their turn.
_TURN: Final = 1000
#: Files beside the log that are not its earlier parts.
_OTHERS: Final = (".gz", ".tmp")
#: The length of a timestamp with nanoseconds in UTC.
_STAMP_BYTES: Final = 30


@dataclass(frozen=True, slots=True)
class ContainerLogOptions:
    """Which lines to return, and how (tail, since, timestamps, limit, follow)."""

    #: Go on until the container has ended.
    follow: bool = False
    tail_lines: int | None = None
    since: datetime | None = None
    limit_bytes: int | None = None
    timestamps: bool = False
    streams: frozenset[bytes] = ALL_STREAMS


def has_log(path: Path) -> bool:
    try:
        return bool(_names(path))
    except FileNotFoundError:
        return False


async def read_log(
    path: Path, options: ContainerLogOptions, has_ended: Callable[[], Awaitable[bool]]
) -> AsyncGenerator[bytes, None]:
    """The chosen lines, many at a time; when following, as they are written until `has_ended`.

    Raises OSError if there is no such log.
    """
    tape = await _wound_to_start(path, options)
    try:
        show = _Display(options)
        ended = not options.follow
        while not show.done:
            if records := tape.read():
                if shown := show(records):
                    yield shown
                await asyncio.sleep(0)
            elif ended:
                if shown := show(tape.cut_off()):
                    yield shown
                return
            elif await has_ended():
                # What it wrote last may have come after the last look.
                ended = True
            else:
                await asyncio.sleep(_LOOK_S)
    finally:
        tape.close()


class _LogReader:
    """The files of a log read as one, forward. A file that existed at the start is never skipped."""

    def __init__(self, path: Path, file: FileIO) -> None:
        self._path = path
        self._file = file
        self._next: FileIO | None = None
        self._rest = b""

    def read(self) -> bytes:
        """The next records, whole ones only; b"" if there are none now."""
        while True:
            if data := self._file.read(_BLOCK_BYTES):
                whole, newline, self._rest = (self._rest + data).rpartition(b"\n")
                if newline:
                    return whole + newline
            elif self._next is None:
                # Something may have been written before the file was rotated: it is read once more.
                self._next = self._successor()
                if self._next is None:
                    return b""
            else:
                self._file.close()
                self._file, self._next = self._next, None
                if cut_off := self.cut_off():
                    return cut_off

    def cut_off(self) -> bytes:
        """A last record that nobody will complete."""
        rest, self._rest = self._rest, b""
        return rest and rest + b"\n"

    def close(self) -> None:
        for file in (self._file, self._next):
            if file is not None:
                file.close()

    def _successor(self) -> FileIO | None:
        """The file after ours, the oldest if ours is gone."""
        own = _identity(self._file)
        try:
            newest = self._path.stat()
        except FileNotFoundError:
            return None
        if (newest.st_dev, newest.st_ino) == own:
            return None
        files = _open_all(self._path)
        places = [number + 1 for number, file in enumerate(files) if _identity(file) == own]
        place = places[0] if places else 0
        return _only(files, place) if place < len(files) else _only(files, None)


def _identity(file: FileIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


def _only(files: list[FileIO], chosen: int | None) -> FileIO | None:
    """Close all but one."""
    for number, file in enumerate(files):
        if number != chosen:
            file.close()
    return None if chosen is None else files[chosen]


def _names(path: Path) -> list[str]:
    """The log's files, the oldest first."""
    start = f"{path.name}."
    found = [name for name in os.listdir(path.parent) if name == path.name or name.startswith(start)]
    return sorted(
        (name for name in found if not name.endswith(_OTHERS)), key=lambda name: (name == path.name, name)
    )


def _open_all(path: Path) -> list[FileIO]:
    """The log's files, the oldest first, as they were at one moment."""
    while True:
        names = _names(path)
        files: list[FileIO] = []
        try:
            for name in names:
                files.append(FileIO(path.with_name(name)))
            if _names(path) == names:
                return files
        except FileNotFoundError:
            # It was rotated while we looked.
            pass
        except BaseException:
            _only(files, None)
            raise
        _only(files, None)


# Where to begin


async def _wound_to_start(path: Path, options: ContainerLogOptions) -> _LogReader:
    files = _open_all(path)
    if not files:
        raise FileNotFoundError(2, "no such file or directory", str(path))
    try:
        if options.tail_lines is not None:
            place, offset = await _tail_start(files, options.tail_lines)
        else:
            place, offset = (_first_since(files, options.since) if options.since else 0), 0
        files[place].seek(offset)
    except BaseException:
        _only(files, None)
        raise
    chosen = _only(files, place)
    assert chosen is not None
    return _LogReader(path, chosen)


def _first_since(files: list[FileIO], since: datetime) -> int:
    """The first file that was written to since then."""
    limit = since.timestamp()
    times = (number for number, file in enumerate(files) if os.fstat(file.fileno()).st_mtime >= limit)
    return next(times, len(files) - 1)


async def _tail_start(files: list[FileIO], lines: int) -> tuple[int, int]:
    """The file and the offset where the last `lines` lines begin. Lines in several records are one; of the
    last one the end may not be there yet."""
    is_last = True
    seen = 0
    for place in range(len(files) - 1, -1, -1):
        for end, record in _backwards(files[place]):
            if _is_full(record) or is_last:
                if not lines:
                    return place, end
                lines -= 1
            is_last = False
            seen += 1
            if seen % _TURN == 0:
                await asyncio.sleep(0)
    return 0, 0


def _backwards(file: FileIO) -> Iterator[tuple[int, bytes]]:
    """A file's records with the offsets behind them, the last one first."""
    start = file.seek(0, os.SEEK_END)
    kept = b""
    while start:
        size = min(start, _BLOCK_BYTES)
        start -= size
        file.seek(start)
        block = file.read(size) + kept
        end = start + len(block)
        first, *records = _lines(block)
        for record in reversed(records):
            yield end, record
            end -= len(record)
        kept = first
    if kept:
        yield len(kept), kept


def _lines(block: bytes) -> list[bytes]:
    """Only newlines end records, whatever else containers write."""
    pieces = block.split(b"\n")
    last = pieces.pop()
    return [piece + b"\n" for piece in pieces] + ([last] if last else [])


def _is_full(record: bytes) -> bool:
    """Whether a record ends a line."""
    parts = record.split(b" ", 3)
    return len(parts) < 4 or not parts[2].startswith(b"P")


# How lines are shown


class _Display:
    """Formats log records."""

    def __init__(self, options: ContainerLogOptions) -> None:
        self._options = options
        self._since = _stamp(format_micro_time(options.since).encode()) if options.since else b""
        self._looks_at_times = options.timestamps or options.since is not None
        self._bytes_left = options.limit_bytes
        #: Whether the next record begins a line.
        self._at_start = True
        # Somebody who follows wants what comes after the last lines, too.
        self._lines_left = None if options.follow else options.tail_lines
        self.done = self._lines_left == 0

    def __call__(self, records: bytes) -> bytes:
        shown = []
        for record in records.split(b"\n"):
            if not record:
                continue
            shown.append(self._show(record))
            if self._lines_left == 0:
                self.done = True
                break
        whole = b"".join(shown)
        if self._bytes_left is None:
            return whole
        whole = whole[: self._bytes_left]
        self._bytes_left -= len(whole)
        self.done = self.done or self._bytes_left == 0
        return whole

    def _show(self, record: bytes) -> bytes:
        try:
            stamp, stream, tag, text = record.split(b" ", 3)
            when = _stamp(stamp) if self._looks_at_times else b""
        except ValueError:
            # Cut off, by a crash perhaps.
            return b""
        is_full = not tag.startswith(b"P")
        if self._lines_left is not None and is_full:
            self._lines_left -= 1
        if stream not in self._options.streams or when < self._since:
            return b""
        head = when + b" " if self._options.timestamps and self._at_start else b""
        self._at_start = is_full
        return head + text + b"\n" if is_full else head + text


def _stamp(stamp: bytes) -> bytes:
    """A timestamp with nanoseconds and in UTC, so that texts compare as times do."""
    if len(stamp) == _STAMP_BYTES:
        return stamp
    if not stamp.endswith(b"Z"):
        # Of another zone.
        stamp = format_micro_time(parse_time(stamp.decode()).astimezone(UTC)).encode()
    seconds, _, fraction = stamp[:-1].partition(b".")
    return b"%b.%bZ" % (seconds, fraction.ljust(9, b"0"))
