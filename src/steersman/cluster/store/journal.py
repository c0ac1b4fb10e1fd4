"""The SQLite file of the store: a log of writes, committed in batches, and read back at start.

This module owns the file; the committer's thread is its only caller once it is open. It handles rows and
revisions, not futures or loops.

One table, `log`, is both history and snapshot. Each write appends one row under its revision. A row
that a later write has replaced stays while history needs it, and goes when that later write is
forgotten; so what is left below `compacted` is the state at `compacted`, and what is above is the
history since. Appending touches the end of one B-tree only.

SQLite guards the shape of its file but not what is in it, so every write is booked: `total` in each
row is the sum of the checksums of all rows ever appended, `removed` in `meta` that of all rows taken
out. At start the rows present must add up to the difference; a lost or altered row cannot hide.

Crash safety is SQLite's: WAL mode with synchronous=FULL, one transaction per batch. The checkpoint is
called for explicitly because SQLite's automatic one hides a failed fsync.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from steersman.cluster.store.changes import change
from steersman.cluster.store.encryption import ValueCipher, is_sealed
from steersman.cluster.store.errors import Corrupt, DiskFull, StoreError, SyncFailed, Unavailable, Unusable
from steersman.cluster.store.folder import sync_folder
from steersman.cluster.store.interface import Event, Record, Stamp

__all__ = ["FILE", "LOG", "Connect", "Recovered", "Row", "SqliteJournal", "connect"]

FILE = "store.db"
#: SQLite's write-ahead log: there as long as the file is open, and what was written last.
LOG = FILE + "-wal"

#: revision, key, revision the key was created at (0 in a deletion), value (None: a deletion)
Row: TypeAlias = tuple[int, str, int, bytes | None]

#: How the file is opened: the seam at which tests make a disk fail.
Connect: TypeAlias = Callable[[Path], sqlite3.Connection]

_APPLICATION = 0x53544552  # "STER", in the file's header
_FORMAT = 1

_SCHEMA = """
CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    key TEXT NOT NULL, created INTEGER NOT NULL, value BLOB, total INTEGER NOT NULL
) STRICT;
CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    compacted INTEGER NOT NULL, revision INTEGER NOT NULL, appended INTEGER NOT NULL, removed INTEGER NOT NULL
) STRICT;
INSERT INTO meta VALUES (1, 0, 0, 0, 0);
"""

#: Rows per INSERT. One statement is one step, and each step lets the loop's thread take the
#: interpreter away; so a batch is few statements, and up to this size one transaction of one.
_ROWS = 64
_INSERTS = tuple(f"INSERT INTO log VALUES {','.join(['(?,?,?,?,?)'] * n)}" for n in range(_ROWS + 1))  # noqa: S608

_SUMS = (1 << 62) - 1

#: Move the write-ahead log into the file when about this much has been appended to it.
_CHECKPOINT_BYTES = 4 << 20

_SYNC_FAILED = {sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC}
#: At opening; SQLITE_ERROR is a table or column that is not there.
_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=_ROWS + 16, timeout=0
    )


def checksum(row: Row) -> int:
    revision, key, created, value = row
    if value is None:
        return zlib.crc32(f"{revision} {key}".encode())
    return zlib.crc32(value, zlib.crc32(f"{revision} {created} {key}\0".encode()))


@dataclass(frozen=True, slots=True)
class Recovered:
    """The contents of a file: the state, the history since `compacted`, and rows that only await removal."""

    records: dict[str, Record]
    log: list[Event]
    revision: int
    compacted: int
    garbage: list[Row]


class SqliteJournal:
    """The open SQLite file."""

    def __init__(self, path: Path, database: sqlite3.Connection, sealer: ValueCipher | None = None) -> None:
        self._path = path
        self._database = database
        self._sealer = sealer
        self._revision = 0
        self._appended = 0
        self._removed = 0
        self._unmoved_bytes = 0

    @classmethod
    def open(
        cls, folder: Path, stamp: Stamp, connect: Connect = connect, sealer: ValueCipher | None = None
    ) -> tuple[SqliteJournal, Recovered]:
        """Open or make the file and read it. Raises Corrupt or Unusable."""
        path = folder / FILE
        try:
            if not path.exists():
                _create(path, connect)
            elif not path.stat().st_size:
                raise Corrupt(path, "it is empty")
            database = connect(path)
        except (sqlite3.Error, OSError) as error:
            raise Unusable(path, str(error)) from error
        journal = cls(path, database, sealer)
        try:
            _configure(path, database)
            return journal, journal._recover(stamp)
        except sqlite3.Error as error:
            database.close()
            # Text that is no UTF-8 is reported without a code.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
            if code & 0xFF in _CORRUPT:
                raise Corrupt(path, str(error)) from error
            raise Unusable(path, str(error)) from error
        except TypeError as error:
            database.close()
            raise Corrupt(path, "it does not have the shape of a store") from error
        except BaseException:
            database.close()
            raise

    def append(self, rows: Sequence[Row]) -> None:
        """Make rows durable, all or none. Raises Unavailable or SyncFailed."""
        total, size = self._appended, 4096
        values: list[int | str | bytes | None] = []
        for row in rows:
            total = (total + checksum(row)) & _SUMS
            revision, key, created, value = row
            if value is not None and self._sealer is not None:
                value = self._sealer.seal(key, value)
            values += (revision, key, created, value, total)
            size += 128 + len(row[3] or b"")
        with self._transaction(begin=len(rows) > _ROWS):
            for start in range(0, len(rows), _ROWS):
                chunk = values[start * 5 : (start + _ROWS) * 5]
                self._database.execute(_INSERTS[len(chunk) // 5], chunk)
        self._appended = total
        self._revision = rows[-1][0]
        self._unmoved_bytes += size

    def remove(self, compacted: int, rows: Sequence[Row]) -> None:
        """Note that history up to `compacted` is forgotten and take out rows nobody needs any more.
        Of the rows of one key, none may be removed before an older one: it would come back to life.
        Raises Unavailable or SyncFailed."""
        removed = (self._removed + sum(map(checksum, rows))) & _SUMS
        revisions = json.dumps([row[0] for row in rows])
        with self._transaction(begin=True):
            self._database.execute(
                "DELETE FROM log WHERE revision IN (SELECT value FROM json_each(?))", (revisions,)
            )
            self._database.execute(
                "UPDATE meta SET compacted = max(compacted, ?), revision = ?, appended = ?, removed = ?",
                (compacted, self._revision, self._appended, removed),
            )
        self._removed = removed
        self._unmoved_bytes += sum(len(row[3] or b"") for row in rows) + 4096

    def checkpoint(self) -> None:
        """Keep the write-ahead log short, if it is long. Raises Unavailable or SyncFailed."""
        if self._unmoved_bytes >= _CHECKPOINT_BYTES:
            self._unmoved_bytes = 0
            with self._errors():
                self._database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def finish(self) -> None:
        """Move all of the write-ahead log into the file. Raises Unavailable or SyncFailed."""
        with self._errors():
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _transaction(self, *, begin: bool) -> Iterator[None]:
        """All statements or none; without `begin` there may only be one."""
        with self._errors():
            # Left open by a rollback that failed too; what is added to it would not be durable.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            if not begin:
                yield
                return
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # the first error is the one to tell
                    if self._database.in_transaction:
                        self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._translated(error) from error

    def _translated(self, error: sqlite3.Error) -> StoreError:
        code = getattr(error, "sqlite_errorcode", 0)
        if code in _SYNC_FAILED:
            return SyncFailed(self._path, str(error))
        if code & 0xFF == sqlite3.SQLITE_FULL:
            return DiskFull(f"no space left on the disk of {self._path}")
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        return Unavailable(f"{self._path} could not be written: {error} ({name})")

    def _recover(self, stamp: Stamp) -> Recovered:
        query = "SELECT compacted, revision, appended, removed FROM meta"
        compacted, noted, self._appended, self._removed = self._database.execute(query).fetchone()
        self._revision = noted
        records: dict[str, Record] = {}
        log: list[Event] = []
        garbage: list[Row] = []
        present = 0
        query = "SELECT revision, key, created, value, total FROM log ORDER BY revision"
        stale: list[tuple[bytes, int]] = []
        for revision, key, created, kept, total in self._database.execute(query):
            value = kept if kept is None else self._plain(revision, key, kept, stale)
            row: Row = (revision, key, created, value)
            present += checksum(row)
            if revision > noted:
                self._revision, self._appended = revision, total
            if revision <= compacted:
                _settle(row, records, garbage)
            else:
                log.append(self._replay(row, records, stamp))
        if present & _SUMS != (self._appended - self._removed) & _SUMS:
            raise Corrupt(self._path, "its records do not add up to what was written")
        self._seal_again(stale)
        return Recovered(records, log, self._revision, compacted, garbage)

    def _plain(self, revision: int, key: str, kept: bytes, stale: list[tuple[bytes, int]]) -> bytes:
        """A value as it was written; notes it if the disk should hold it sealed otherwise."""
        sealer = self._sealer
        if sealer is None:
            if is_sealed(kept):
                raise Unusable(self._path, f"{key} is encrypted and no key file was given")
            return kept
        value = sealer.open(self._path, key, kept)
        if not sealer.is_current(key, kept):
            stale.append((sealer.seal(key, value), revision))
        return value

    def _seal_again(self, stale: Sequence[tuple[bytes, int]]) -> None:
        """Values sealed with an old key, or not at all, get the new one before anything else happens."""
        if not stale:
            return
        with self._transaction(begin=True):
            self._database.executemany("UPDATE log SET value = ? WHERE revision = ?", stale)
        # What was overwritten must not stay readable in free pages or the write-ahead log.
        self._database.execute("VACUUM")
        self.finish()

    def _replay(self, row: Row, records: dict[str, Record], stamp: Stamp) -> Event:
        """Apply one write of the history, whose predecessor must still be there."""
        revision, key, created, value = row
        previous = records.pop(key, None)
        if value is None and previous is not None:
            return change(key, None, revision, previous, stamp)[0]
        if value is None or created != (revision if previous is None else previous.created):
            raise Corrupt(self._path, f"revision {revision} does not follow from what is before it")
        records[key] = Record(key, value, revision, created)
        return Event(key, revision, value, previous)


def _settle(row: Row, records: dict[str, Record], garbage: list[Row]) -> None:
    """Apply one write from before the history; what it replaces, and a deletion, only await removal."""
    revision, key, created, value = row
    if (replaced := records.pop(key, None)) is not None:
        garbage.append((replaced.revision, key, replaced.created, replaced.value))
    if value is None:
        garbage.append(row)
    else:
        records[key] = Record(key, value, revision, created)


def _configure(path: Path, database: sqlite3.Connection) -> None:
    # Exclusive: the folder's lock says so anyway, and it spares the shared-memory file and its locks.
    for pragma in ("locking_mode=EXCLUSIVE", "synchronous=FULL", "wal_autocheckpoint=0"):
        database.execute(f"PRAGMA {pragma}")
    database.execute(f"PRAGMA journal_size_limit={4 * _CHECKPOINT_BYTES}")
    application, version = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if application != _APPLICATION:
        raise Corrupt(path, "it is not a store")
    if version != _FORMAT:
        raise Unusable(path, f"it has format {version}, this version reads format {_FORMAT}")
    problems = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problems != "ok":
        raise Corrupt(path, problems.replace("\n", " "))


def _create(path: Path, connect: Connect) -> None:
    """Make an empty store under another name first: a file of this name is always a whole one."""
    if path.with_name(LOG).exists():
        raise Corrupt(path, "it is missing, but its write-ahead log is there")
    draft = path.with_name(FILE + ".new")
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    database = connect(draft)
    try:
        database.execute("PRAGMA synchronous=FULL")
        database.executescript(
            f"PRAGMA application_id={_APPLICATION}; PRAGMA user_version={_FORMAT}; BEGIN; {_SCHEMA} COMMIT;"
        )
        database.execute("PRAGMA journal_mode=WAL")
    finally:
        database.close()
    draft.rename(path)
    sync_folder(path.parent)
