"""A log in a RocksDB folder.

| key            | value                                                        |
|----------------|--------------------------------------------------------------|
| `identity`     | `Identity`                                                   |
| `hard`         | `HardState`                                                  |
| `before`       | index and term of the entry before the first, when compacted |
| `snapshot`     | `SnapshotMeta` and the state machine's bytes                 |
| `log/` + index | `Entry`; eight bytes, so that they sort by index             |

Recovery drops an incomplete record at the end of RocksDB's own log, which was never synced and hence never
promised to anybody; damage anywhere else is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from rocksdict import AccessType, DBRecoveryMode, Options, Rdict, WriteBatch

from steersman.raft.core import Entry, HardState, Snapshot, SnapshotMeta
from steersman.raft.errors import StorageError
from steersman.raft.storage.interface import Identity, SnapshotBytes, Write, fit

__all__ = ["RocksStorage"]

T = TypeVar("T")

_MIB = 1 << 20
_LOG = b"log/"
_LOG_END = b"log0"
_encode = msgspec.msgpack.Encoder().encode
_decode_entry = msgspec.msgpack.Decoder(Entry).decode


class RocksStorage:
    survives = True

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            self._db = Rdict(str(self._path), _options(), access_type=AccessType.read_write())
        except Exception as error:
            raise StorageError(f"Raft's folder {self._path} cannot be used: {_one_line(error)}") from error
        try:
            self._load()
        except Exception as error:
            self._db.close()
            raise StorageError(f"Raft's folder {self._path} is damaged: {_one_line(error)}") from error

    def _load(self) -> None:
        self._identity = self._get(b"identity", Identity)
        self._hard_state = self._get(b"hard", HardState) or HardState()
        stored = self._get(b"snapshot", tuple[SnapshotMeta, bytes])
        self._snapshot = SnapshotBytes(*stored) if stored else SnapshotBytes()
        #: Index and term of the entry before the first.
        self._before: tuple[int, int] = self._get(b"before", tuple[int, int]) or (0, 0)
        self._last = self._before[0]
        for key in self._db.keys(from_key=_LOG):
            assert isinstance(key, bytes)
            if not key.startswith(_LOG):
                break
            index = int.from_bytes(key[len(_LOG) :], "big")
            if index != self._last + 1:
                raise StorageError(f"entry {self._last + 1} of the log is missing")
            self._last = index

    def _get(self, key: bytes, kind: type[T]) -> T | None:
        value = self._db.get(key)
        return None if value is None else msgspec.msgpack.decode(value, type=kind)

    def identity(self) -> Identity | None:
        return self._identity

    def identify(self, identity: Identity) -> None:
        batch = WriteBatch(raw_mode=True)
        batch.put(b"identity", _encode(identity))
        self._commit(batch, sync=True)
        self._identity = identity

    # LogReader

    def hard_state(self) -> HardState:
        return self._hard_state

    def first_index(self) -> int:
        return self._before[0] + 1

    def last_index(self) -> int:
        return self._last

    def term(self, index: int) -> int:
        before, term = self._before
        return term if index == before else self._entry(index).term

    def entries(self, low: int, high: int, max_bytes: int) -> Sequence[Entry]:
        return fit(self._read(low, high), max_bytes)

    def _read(self, low: int, high: int) -> Iterator[Entry]:
        for index in range(low, high):
            yield self._entry(index)

    def _entry(self, index: int) -> Entry:
        value = self._db.get(_key(index))
        if value is None:
            raise StorageError(f"Raft's folder {self._path} is damaged: entry {index} is missing")
        return _decode_entry(value)

    def snapshot(self) -> SnapshotBytes:
        return self._snapshot

    # Writing

    def write(self, write: Write) -> None:
        batch = WriteBatch(raw_mode=True)
        before, last, snapshot = self._before, self._last, self._snapshot
        if write.snapshot is not None:
            meta = write.snapshot.meta
            batch.delete_range(_LOG, _LOG_END)
            batch.put(b"snapshot", _encode((meta, write.snapshot.data)))
            batch.put(b"before", _encode((meta.index, meta.term)))
            snapshot = SnapshotBytes(meta, write.snapshot.data)
            before, last = (meta.index, meta.term), meta.index
        if write.entries:
            for entry in write.entries:
                batch.put(_key(entry.index), _encode(entry))
            for index in range(write.entries[-1].index + 1, last + 1):
                batch.delete(_key(index))
            last = write.entries[-1].index
        if write.hard_state is not None:
            batch.put(b"hard", _encode(write.hard_state))
        self._commit(batch, sync=write.sync)
        self._before, self._last, self._snapshot = before, last, snapshot
        self._hard_state = write.hard_state or self._hard_state

    def save_snapshot(self, snapshot: Snapshot) -> None:
        batch = WriteBatch(raw_mode=True)
        batch.put(b"snapshot", _encode((snapshot.meta, snapshot.data)))
        self._commit(batch, sync=True)
        self._snapshot = SnapshotBytes(snapshot.meta, snapshot.data)

    def compact(self, index: int) -> None:
        if index <= self._before[0]:
            return
        before = (index, self.term(index))
        batch = WriteBatch(raw_mode=True)
        batch.put(b"before", _encode(before))
        batch.delete_range(_LOG, _key(index + 1))
        self._commit(batch, sync=False)
        self._before = before

    def _commit(self, batch: WriteBatch, *, sync: bool) -> None:
        try:
            self._db.write(batch)
            if sync:
                # Not an option of the write: that would hold the interpreter's lock, and with it every
                # thread of the program, until the disk has answered.
                self._db.flush_wal(True)
        except Exception as error:
            raise StorageError(f"Raft's folder {self._path} takes no writes: {_one_line(error)}") from error

    def close(self) -> None:
        self._db.close()


def _key(index: int) -> bytes:
    return _LOG + index.to_bytes(8, "big")


def _options() -> Options:
    """A log is small: what RocksDB sets aside for big tables would be most of the process."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    options.set_write_buffer_size(4 * _MIB)
    options.set_max_write_buffer_number(2)
    options.set_max_total_wal_size(16 * _MIB)
    options.set_max_background_jobs(2)
    options.set_keep_log_file_num(2)
    return options


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
