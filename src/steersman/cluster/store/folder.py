"""The data folder: private permissions, and a lock so that only one process opens it.

The lock is a flock on a file with its holder's process id, so it ends with the process however that ends. The
file also records whether the last process stopped cleanly.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

from steersman.cluster.store.errors import Locked, Unusable

__all__ = ["LOCK_FILE", "DataFolder", "sync_folder"]

LOCK_FILE = "store.lock"
_OPEN = b"open"


def sync_folder(path: Path) -> None:
    """Make a folder's entries durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class DataFolder:
    """A locked folder; `release` when done."""

    def __init__(self, path: Path, lock: int, *, left_open: bool) -> None:
        self.path = path
        #: Whether whoever had it last did not come to close what is in it.
        self.left_open = left_open
        self._lock = lock

    @classmethod
    def acquire(cls, path: Path) -> DataFolder:
        """Make the folder (0700) if it is not there, and lock it. Raises Locked or Unusable.

        A folder that is there keeps its permissions: it may hold what others need to reach."""
        try:
            _make(path)
            lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise Unusable(path, error.strerror or str(error)) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(lock, 32, 0).partition(b" ")[0].strip()
            os.close(lock)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise Locked(path, int(owner) if owner.isdigit() else None) from None
            raise Unusable(path, error.strerror or str(error)) from error
        folder = cls(path, lock, left_open=_OPEN in os.pread(lock, 32, 0))
        folder.mark(is_open=folder.left_open)
        return folder

    def mark(self, *, is_open: bool) -> None:
        """Note that what is in the folder is in use, with all the files that this takes, or is not."""
        with suppress(OSError):  # a full disk may still be read
            if is_open:
                sync_folder(self.path)
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, b"%d%s\n" % (os.getpid(), b" " + _OPEN if is_open else b""), 0)

    def release(self) -> None:
        """Let others in. Idempotent."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _make(path: Path) -> None:
    if path.is_dir():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    sync_folder(path.parent)
