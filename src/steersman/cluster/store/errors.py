"""The errors of a store.

StoreError
├── Conflict         the key is not at the expected revision             (caller: read again, retry)
├── NotFound         there is no such key                                (caller)
├── Compacted        the requested revision has been compacted           (caller: list again)
├── FutureRevision   the requested revision does not exist yet           (caller)
├── Unavailable      the write was refused, nothing was written; reads go on  (retry later)
│   ├── DiskFull     no space is left for it
│   └── Closed       the store is closing or closed
├── SyncFailed       fsync failed: the contents of the disk are unknown  (terminal)
├── Corrupt          the data on disk is not what was written            (terminal, at opening)
├── Locked           another process has the data folder open            (terminal, at opening)
└── Unusable         the data folder cannot be read or written           (terminal, at opening)
"""

from __future__ import annotations

from pathlib import Path

from steersman.cluster.store.interface import Record

__all__ = [
    "Closed",
    "Compacted",
    "Conflict",
    "Corrupt",
    "DiskFull",
    "FutureRevision",
    "Locked",
    "NotFound",
    "StoreError",
    "SyncFailed",
    "Unavailable",
    "Unusable",
]


class StoreError(Exception):
    """The base class of store errors. Can be copied: one cause may have to be raised to many callers."""


class Conflict(StoreError):
    """The key is not at the expected revision; `record` is its current state, None when absent."""

    def __init__(self, key: str, record: Record | None) -> None:
        super().__init__(key, record)
        self.key = key
        self.record = record

    def __str__(self) -> str:
        return f"{self.key} " + (
            f"is at revision {self.record.revision}" if self.record else "does not exist"
        )


class NotFound(StoreError):
    """The key does not exist."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key

    def __str__(self) -> str:
        return f"{self.key} does not exist"


class Compacted(StoreError):
    """`compacted` is the oldest revision that can still be read."""

    def __init__(self, revision: int, compacted: int) -> None:
        super().__init__(revision, compacted)
        self.revision = revision
        self.compacted = compacted

    def __str__(self) -> str:
        return f"revision {self.revision} has been compacted, the oldest kept is {self.compacted}"


class FutureRevision(StoreError):
    """`current` is the newest revision there is."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(revision, current)
        self.revision = revision
        self.current = current

    def __str__(self) -> str:
        return f"revision {self.revision} is in the future, the newest is {self.current}"


class Unavailable(StoreError):
    """The write was refused and nothing of it was written; reads go on."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class DiskFull(Unavailable):
    """No disk space is left; `reason` is the message."""


class Closed(Unavailable):
    """The store is closing or closed."""

    def __init__(self, reason: str = "the store is closed") -> None:
        super().__init__(reason)


class _AtPath(StoreError):
    """An error of a file or folder: `path`, and the end of the message in `detail`."""

    problem = ""

    def __init__(self, path: Path | str, detail: str) -> None:
        super().__init__(path, detail)
        self.path = path
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.path} {self.problem}: {self.detail}"


class SyncFailed(_AtPath):
    """After a failed fsync the kernel may have dropped the data and a retry would lie: stop."""

    problem = "could not be made durable"


class Corrupt(_AtPath):
    """The data on disk is not what was written."""

    problem = "is corrupt"


class Unusable(_AtPath):
    """The data folder cannot be read or written."""

    problem = "cannot be used"


class Locked(StoreError):
    """`owner` is the process id of the holder, None when it could not be read."""

    def __init__(self, path: Path, owner: int | None) -> None:
        super().__init__(path, owner)
        self.path = path
        self.owner = owner

    def __str__(self) -> str:
        holder = "another process" if self.owner is None else f"process {self.owner}"
        return f"{self.path} is in use by {holder}"
