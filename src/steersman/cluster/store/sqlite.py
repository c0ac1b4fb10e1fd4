"""The SQLite engine: one file, group commit, reads from memory.

The life of a write. On the loop it is checked against the pending state (committed state plus what is
queued before it), given its revision, stamped, and queued. One batch at a time is with the committer's
thread; what queues meanwhile is the next. When the thread reports a batch durable, the loop publishes
it to the index and its watchers, and then acknowledges its writes.

    queued ──(no batch in flight)──> in flight ──durable──> published, acknowledged
       └────────────────<any batch in flight fails>──────────> refused: Unavailable

When a batch fails, all behind it fail with it, since they were decided on top of it; pending state
and revisions fall back to what is committed, so a revision that was never visible may be used again. A write
refused because of a pending one is not answered before that one's fate is known.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path

from steersman.aio import Scope
from steersman.cluster.store.changes import change, refusal
from steersman.cluster.store.committer import REMOVED_AT_ONCE, Committer
from steersman.cluster.store.encryption import ValueCipher
from steersman.cluster.store.errors import Closed, Corrupt, SyncFailed, Unavailable
from steersman.cluster.store.folder import LOCK_FILE, DataFolder
from steersman.cluster.store.indexed import HISTORY_BYTES, HISTORY_S, IndexedStore
from steersman.cluster.store.interface import Event, Record, Stamp, unstamped
from steersman.cluster.store.journal import FILE, LOG, Connect, Recovered, Row, SqliteJournal, connect

__all__ = ["EXIT_SYNC_FAILED", "SqliteStore", "exit_at_once"]

log = logging.getLogger(__name__)

#: The exit code of a process whose disk failed to sync: sysexits' "internal software error".
EXIT_SYNC_FAILED = 70

#: Bounds how long one transaction keeps the next waiting. At most half of what the committer removes
#: between two batches, so that removal keeps pace: a write leaves two rows to remove at most.
_BATCH = REMOVED_AT_ONCE // 2


def exit_at_once(error: SyncFailed) -> None:
    """What is on disk is unknown, so nothing may be said to anybody any more."""
    log.critical("%s; stopping", error)
    os._exit(EXIT_SYNC_FAILED)


def _check_whole(folder: DataFolder) -> None:
    """Without its log the file would open, and be what it was some time ago."""
    file, log_file = folder.path / FILE, folder.path / LOG
    if folder.left_open and file.exists() and not log_file.exists():
        detail = f"it was not closed, and {log_file.name} with the last writes is missing"
        raise Corrupt(file, f"{detail}; to go on without them, remove {folder.path / LOCK_FILE}")


class _Write:
    """A checked write that waits for its commit."""

    __slots__ = ("done", "event", "record", "waiting")

    def __init__(self, event: Event, record: Record | None, done: asyncio.Future[None]) -> None:
        self.event = event
        #: What the key will hold.
        self.record = record
        self.done = done
        #: Those who wait for this write's fate, whatever it is.
        self.waiting: list[asyncio.Future[None]] = []

    def row(self) -> Row:
        event, record = self.event, self.record
        if record is None:
            return event.revision, event.key, 0, None
        return event.revision, event.key, record.created, event.value

    def settle(self, error: Unavailable | None) -> None:
        if not self.done.done():  # else its caller was cancelled
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(copy(error))
        for waiter in self.waiting:
            if not waiter.done():
                waiter.set_result(None)


class SqliteStore(IndexedStore):
    """The SQLite engine. Use `open`."""

    def __init__(
        self,
        folder: DataFolder,
        journal: SqliteJournal,
        recovered: Recovered,
        *,
        stamp: Stamp,
        history_s: float,
        history_bytes: int,
        on_fatal: Callable[[SyncFailed], None],
    ) -> None:
        super().__init__(stamp, history_s, history_bytes)
        self._loop = asyncio.get_running_loop()
        self._committer = Committer[Sequence[_Write]](
            journal,
            folder,
            garbage=recovered.garbage,
            compacted=recovered.compacted,
            settle=self._settle,
            on_fatal=on_fatal,
        )
        self._index.load(
            recovered.records.values(),
            recovered.log,
            revision=recovered.revision,
            compacted=recovered.compacted,
        )
        #: The newest revision given out. Invariant: equals the index's when nothing is pending.
        self._assigned = recovered.revision
        #: The newest undecided write of each key that has one.
        self._pending: dict[str, _Write] = {}
        self._queue: list[_Write] = []
        #: A batch is with the committer, or about to be handed to it.
        self._busy = False
        #: The last batch failed.
        self._refusing = False
        self._scope = Scope()
        self._closing: asyncio.Task[None] | None = None
        self._idle: asyncio.Future[None] | None = None
        self._forgotten(self._index.trim())
        self._keep_time()

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str],
        *,
        stamp: Stamp = unstamped,
        history_s: float = HISTORY_S,
        history_bytes: int = HISTORY_BYTES,
        on_fatal: Callable[[SyncFailed], None] = exit_at_once,
        connect: Connect = connect,
        sealer: ValueCipher | None = None,
    ) -> SqliteStore:
        """Open the store in folder `path`, made if not there. Raises Locked, Corrupt or Unusable.

        `on_fatal` is called on the committer's thread when an fsync fails; if it returns, the store
        refuses all writes from then on."""
        folder = DataFolder.acquire(Path(path))
        try:
            _check_whole(folder)
            journal, recovered = SqliteJournal.open(folder.path, stamp, connect, sealer)
        except BaseException:
            folder.release()
            raise
        folder.mark(is_open=True)
        return cls(
            folder,
            journal,
            recovered,
            stamp=stamp,
            history_s=history_s,
            history_bytes=history_bytes,
            on_fatal=on_fatal,
        )

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        write = await self._write(key, value, expected)
        assert write.record is not None
        return write.record

    async def delete(self, key: str, *, expected: int | None = None) -> Event:
        return (await self._write(key, None, expected)).event

    async def compact(self, revision: int) -> None:
        if self._closing is not None:
            raise Closed
        if forgotten := self._index.compact(revision):
            done = self._loop.create_future()
            self._committer.forget(self.compacted, forgotten, done)
            await done

    async def close(self) -> None:
        if self._closing is None:
            self._closing = self._scope.start(self._close())
        await asyncio.shield(self._closing)

    async def _write(self, key: str, value: bytes | None, expected: int | None) -> _Write:
        while True:
            pending = self._pending.get(key)
            current = self._index.get(key) if pending is None else pending.record
            if self._closing is not None:
                raise Closed
            refused = refusal(key, current, expected, value is None)
            if refused is None:
                break
            if pending is None:
                raise refused
            fate = self._loop.create_future()
            pending.waiting.append(fate)
            await fate
        write = self._submit(key, value, current)
        await write.done
        return write

    def _submit(self, key: str, value: bytes | None, current: Record | None) -> _Write:
        event, record = change(key, value, self._assigned + 1, current, self._stamp)
        write = _Write(event, record, self._loop.create_future())
        self._assigned = event.revision
        self._pending[key] = write
        self._queue.append(write)
        if not self._busy:
            # At the end of this turn of the loop, so that writes of the same turn go together.
            self._busy = True
            self._loop.call_soon(self._hand_over)
        return write

    def _hand_over(self) -> None:
        """Give the committer its next batch, if there is one."""
        batch = self._queue[:_BATCH]
        del self._queue[:_BATCH]
        self._busy = bool(batch)
        if batch:
            self._committer.commit([write.row() for write in batch], batch)
        elif self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    def _settle(self, batch: Sequence[_Write], error: Unavailable | None) -> None:
        """The committer's report on a batch."""
        if (error is None) is self._refusing:
            self._refusing = error is not None
            log.warning("writes are %s", f"refused: {error}" if error else "accepted again")
        if error is None:
            self._publish([(write.event, write.record) for write in batch])
            for write in batch:
                if self._pending.get(write.event.key) is write:
                    del self._pending[write.event.key]
        else:
            batch = [*batch, *self._queue]
            self._queue.clear()
            self._pending.clear()
            self._assigned = self._index.revision
        for write in batch:
            write.settle(error)
        self._loop.call_soon(self._hand_over)

    def _forgotten(self, events: Sequence[Event]) -> None:
        if events:
            self._committer.forget(self.compacted, events)

    async def _close(self) -> None:
        if self._busy:
            self._idle = self._loop.create_future()
            await self._idle
        self._stop_time()
        self._index.close()
        await self._committer.stop()
