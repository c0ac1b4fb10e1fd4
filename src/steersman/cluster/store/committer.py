"""The commit thread of the SQLite engine: takes batches from the event loop, makes them durable, reports
back.

Started by the SQLite engine with an open journal, which is this thread's alone from then on, together
with the data folder, until it stops. Between batches it removes forgotten rows, a bounded number at a
time, and keeps the write-ahead log short; when there is nothing to do it waits without cost.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from steersman.cluster.store.errors import StoreError, SyncFailed, Unavailable
from steersman.cluster.store.folder import DataFolder
from steersman.cluster.store.interface import Event
from steersman.cluster.store.journal import Row, SqliteJournal

__all__ = ["REMOVED_AT_ONCE", "Committer"]

log = logging.getLogger(__name__)

B = TypeVar("B")

#: How many forgotten rows are removed in one transaction, while the next batch may be waiting.
REMOVED_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class _Commit(Generic[B]):
    """A batch to commit."""

    rows: Sequence[Row]
    batch: B


@dataclass(frozen=True, slots=True)
class _Forget:
    """An instruction to remove rows that compaction no longer needs."""

    compacted: int
    events: Sequence[Event]
    done: asyncio.Future[None] | None


_Job: TypeAlias = "_Commit[B] | _Forget | None"


def _rows_replaced(events: Iterable[Event]) -> Iterable[Row]:
    """The rows nobody needs once these events are forgotten, older before newer."""
    for event in events:
        if (previous := event.previous) is not None:
            yield previous.revision, previous.key, previous.created, previous.value
        if event.deleted:
            yield event.revision, event.key, 0, None


class Committer(Generic[B]):
    """`settle(batch, error)` is called on the loop for each submitted batch, in order."""

    def __init__(
        self,
        journal: SqliteJournal,
        folder: DataFolder,
        *,
        garbage: Iterable[Row],
        compacted: int,
        settle: Callable[[B, Unavailable | None], None],
        on_fatal: Callable[[SyncFailed], None],
    ) -> None:
        self._journal = journal
        self._folder = folder
        self._settle = settle
        self._on_fatal = on_fatal
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[_Job[B]] = queue.SimpleQueue()
        self._stopped = self._loop.create_future()
        #: Thread only, as is all below. Rows to remove, of one key always older before newer.
        self._garbage = deque(garbage)
        self._compacted = compacted
        self._fatal: Unavailable | None = None
        threading.Thread(target=self._run, name="steersman-store", daemon=True).start()

    def commit(self, rows: Sequence[Row], batch: B) -> None:
        self._jobs.put(_Commit(rows, batch))

    def forget(
        self, compacted: int, events: Sequence[Event], done: asyncio.Future[None] | None = None
    ) -> None:
        """Remove what history up to `compacted` needed; `done` when the file says so."""
        self._jobs.put(_Forget(compacted, events, done))

    async def stop(self) -> None:
        """Finish all jobs, close the journal, release the folder. Call once."""
        self._jobs.put(None)
        await asyncio.shield(self._stopped)

    def _run(self) -> None:
        try:
            while (job := self._next()) is not None:
                if isinstance(job, _Commit):
                    self._report(self._settle, job.batch, self._attempt(self._journal.append, job.rows))
                else:
                    self._forget(job)
                self._attempt(self._journal.checkpoint)
            self._attempt(self._journal.finish)
        finally:
            # Whoever is killed right after this leaves a log that is read, but would not be missed.
            self._folder.mark(is_open=False)
            self._journal.close()
            self._folder.release()
            self._report(_resolve, self._stopped, None)

    def _next(self) -> _Job[B]:
        """The next job; some garbage goes before it, all of it while there is none."""
        failed = False
        while self._garbage and not failed:
            failed = self._remove_some() is not None
            self._attempt(self._journal.checkpoint)
            if not self._jobs.empty():
                break
        return self._jobs.get()

    def _forget(self, job: _Forget) -> None:
        self._garbage.extend(_rows_replaced(job.events))
        self._compacted = max(self._compacted, job.compacted)
        if job.done is not None:
            self._report(_resolve, job.done, self._remove_some())

    def _remove_some(self) -> Unavailable | None:
        rows = [self._garbage[i] for i in range(min(REMOVED_AT_ONCE, len(self._garbage)))]
        error = self._attempt(self._journal.remove, self._compacted, rows)
        if error is None:
            for _ in rows:
                self._garbage.popleft()
        else:
            log.info("forgotten history stays on disk for now: %s", error)
        return error

    def _attempt(self, action: Callable[..., None], *arguments: object) -> Unavailable | None:
        """Do something to the journal; after a failed fsync nothing is ever done to it again."""
        if self._fatal is not None:
            return self._fatal
        try:
            action(*arguments)
        except Unavailable as error:
            return error
        except SyncFailed as error:
            self._fatal = Unavailable(str(error))
            self._on_fatal(error)
            return self._fatal
        except Exception as error:
            # Whatever it was (a key that is no text, say), the next batch must not wait for ever.
            log.exception("the committer failed")
            return Unavailable(f"the write failed: {error}")
        return None

    def _report(self, callback: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            log.debug("the event loop is closed; the result of a commit is lost: %s", callback)


def _resolve(future: asyncio.Future[None], error: StoreError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(copy(error))
