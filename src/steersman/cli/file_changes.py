"""Waits for changes of files below a folder: by inotify on Linux, elsewhere by a timer.

It reports that something changed, not what: the caller compares the files. inotify does not report changes
that another machine makes on a network file system, so the timer runs there, too.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Self

__all__ = ["FileChanges"]

#: From sys/inotify.h: a file that was written is closed, names that come and go; whether it is a folder.
_CLOSE_WRITE: Final = 0x8
_MOVED_FROM: Final = 0x40
_MOVED_TO: Final = 0x80
_CREATE: Final = 0x100
_DELETE: Final = 0x200
_IS_FOLDER: Final = 0x4000_0000
_EVENTS: Final = _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
#: What comes before an event's name: watch, what happened, cookie, length of the name.
_HEAD: Final = struct.Struct("iIII")
_BUFFER: Final = 1 << 16

_TOLD_S: Final = 1.0
_UNTOLD_S: Final = 0.2


class FileChanges:
    """`async with FileChanges(folders) as notices:`, then `await notices.next()` again and again."""

    def __init__(self, folders: Callable[[], Iterable[Path]]) -> None:
        """`folders` are those whose files matter, now: there may be others later."""
        self._folders = folders
        self._happened = asyncio.Event()
        self._add_watch: Callable[[int, bytes, int], int] | None = None
        self._fd = -1

    async def __aenter__(self) -> Self:
        try:
            library = ctypes.CDLL(None, use_errno=True)
            self._fd = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, AttributeError):  # not Linux
            return self
        if self._fd >= 0:
            self._add_watch = library.inotify_add_watch
            asyncio.get_running_loop().add_reader(self._fd, self._read)
            self._watch()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._fd >= 0:
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)

    def wake(self) -> None:
        """Let whoever waits look."""
        self._happened.set()

    async def next(self, within_s: float = _TOLD_S) -> None:
        """Return when something has happened since the last time, or it is time to look again."""
        try:
            async with asyncio.timeout(within_s if self._fd >= 0 else min(within_s, _UNTOLD_S)):
                await self._happened.wait()
        except TimeoutError:
            return
        self._happened.clear()
        self._watch()

    def _watch(self) -> None:
        """A folder that is watched already is not watched twice."""
        if self._add_watch is not None:
            for folder in self._folders():
                self._add_watch(self._fd, os.fsencode(folder), _EVENTS)

    def _read(self) -> None:
        try:
            told = os.read(self._fd, _BUFFER)
        except BlockingIOError:
            return
        place = 0
        while place < len(told):
            _, what, _, length = _HEAD.unpack_from(told, place)
            place += _HEAD.size + length
            # A new file is looked at when it has been written.
            if what & _IS_FOLDER or not what & _CREATE:
                self.wake()
