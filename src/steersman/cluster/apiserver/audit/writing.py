"""The writer of the audit log: a thread that renders events and appends them, off the event loop.

`put` never blocks: when too much waits already, the snapshot is dropped and counted. The counters of each
side are written by that side only, so there is no lock.
"""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from steersman.cluster.apiserver.audit.errors import LogUnusable
from steersman.cluster.apiserver.audit.event import Snapshot
from steersman.cluster.apiserver.audit.rendering import render
from steersman.cluster.apiserver.audit.rotation import RotatingFile, Rotation

__all__ = ["STANDARD_OUTPUT", "Log", "Writer", "open_log"]

_log = logging.getLogger(__name__)

#: The log's path for standard output.
STANDARD_OUTPUT = "-"
#: What may wait: so many lines, so many bytes of bodies.
_MOST_WAITING = 10_000
_MOST_WAITING_BYTES = 64 << 20
#: Lines written together.
_BATCH = 256


class Log(Protocol):
    def write(self, data: bytes) -> None:
        """Append whole lines. May block. Raises OSError."""

    def close(self) -> None: ...


class _StandardOutput:
    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]

    def close(self) -> None:
        pass


def open_log(path: str, rotation: Rotation) -> Log:
    """Raises LogUnusable."""
    if path == STANDARD_OUTPUT:
        return _StandardOutput()
    try:
        return RotatingFile(Path(path), rotation)
    except OSError as error:
        raise LogUnusable(path, error.strerror or str(error)) from None


class Writer:
    def __init__(
        self, log: Log, most_waiting: int = _MOST_WAITING, most_waiting_bytes: int = _MOST_WAITING_BYTES
    ) -> None:
        self._log = log
        self._most_waiting = most_waiting
        self._most_waiting_bytes = most_waiting_bytes
        self._queue: SimpleQueue[Snapshot | None] = SimpleQueue()
        # Written by the loop.
        self._put = 0
        self._put_bytes = 0
        self.dropped = 0
        self._dropping = 0
        # Written by the thread.
        self._done = 0
        self._done_bytes = 0
        self.failed = 0
        self._failing = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="audit log", daemon=True)
        self._thread.start()

    @property
    def written(self) -> int:
        return self._done - self.failed

    def put(self, snapshot: Snapshot) -> None:
        """Have it written, soon, unless there is no room."""
        size = snapshot.size
        if (
            self._closed
            or self._put - self._done >= self._most_waiting
            or self._put_bytes - self._done_bytes + size > self._most_waiting_bytes
        ):
            self._drop()
            return
        if self._dropping:
            _log.warning("the audit log goes on; %d events were dropped", self._dropping)
            self._dropping = 0
        self._put += 1
        self._put_bytes += size
        self._queue.put(snapshot)

    def _drop(self) -> None:
        self.dropped += 1
        self._dropping += 1
        if self._dropping == 1:
            _log.warning("audit events are dropped: the log cannot keep up")

    def close(self) -> None:
        """Write what waits, then end. Blocks."""
        self._closed = True
        self._queue.put(None)
        self._thread.join()
        self._log.close()
        if self._dropping:
            _log.warning("%d audit events were dropped", self._dropping)

    # On the thread

    def _run(self) -> None:
        while True:
            batch, last = self._take()
            if batch:
                self._write(batch)
                self._done_bytes += sum(snapshot.size for snapshot in batch)
                self._done += len(batch)
            if last:
                return

    def _take(self) -> tuple[list[Snapshot], bool]:
        """What is there, at least one; and whether it is the last."""
        first = self._queue.get()
        if first is None:
            return [], True
        batch = [first]
        while len(batch) < _BATCH:
            try:
                more = self._queue.get_nowait()
            except Empty:
                break
            if more is None:
                return batch, True
            batch.append(more)
        return batch, False

    def _write(self, batch: list[Snapshot]) -> None:
        lines = []
        for snapshot in batch:
            try:
                lines.append(render(snapshot))
            except Exception as error:  # noqa: BLE001 - one bad line must not end the log
                self.failed += 1
                _log.error("an audit event could not be written: %r", error)
        try:
            self._log.write(b"".join(lines))
        except OSError as error:
            self.failed += len(lines)
            if not self._failing:
                _log.error("the audit log cannot be written: %s", error)
            self._failing = True
        else:
            self._failing = False
