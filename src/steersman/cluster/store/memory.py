"""The in-memory engine: an index without durability.

For `--data :memory:` and for tests; also the shortest example of an engine.
"""

from __future__ import annotations

from steersman.cluster.store.changes import Change, change, refusal
from steersman.cluster.store.errors import Closed
from steersman.cluster.store.indexed import HISTORY_BYTES, HISTORY_S, IndexedStore
from steersman.cluster.store.interface import Event, Record, Stamp, unstamped

__all__ = ["MemoryStore"]


class MemoryStore(IndexedStore):
    """The in-memory engine."""

    def __init__(
        self,
        *,
        stamp: Stamp = unstamped,
        history_s: float = HISTORY_S,
        history_bytes: int = HISTORY_BYTES,
    ) -> None:
        super().__init__(stamp, history_s, history_bytes)
        self._closed = False

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        _, record = self._write(key, value, expected)
        assert record is not None
        return record

    async def delete(self, key: str, *, expected: int | None = None) -> Event:
        return self._write(key, None, expected)[0]

    async def compact(self, revision: int) -> None:
        self._index.compact(revision)

    async def close(self) -> None:
        self._closed = True
        self._stop_time()
        self._index.close()

    def _write(self, key: str, value: bytes | None, expected: int | None) -> Change:
        if self._closed:
            raise Closed
        current = self._index.get(key)
        if (refused := refusal(key, current, expected, value is None)) is not None:
            raise refused
        done = change(key, value, self._index.revision + 1, current, self._stamp)
        self._publish([done])
        return done
