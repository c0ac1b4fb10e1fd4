"""The state machine of the simulation: numbered registers."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from steersman.raft.core import Entry, EntryKind, Snapshot

__all__ = ["Registers", "command"]


def command(key: int, value: int) -> bytes:
    return msgspec.msgpack.encode((key, value))


class Registers:
    def __init__(self) -> None:
        self.values: dict[int, int] = {}
        self.index = 0

    def apply(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            assert entry.index == self.index + 1, f"entry {entry.index} applied after {self.index}"
            self.index = entry.index
            if entry.kind == EntryKind.DATA:
                key, value = msgspec.msgpack.decode(entry.data, type=tuple[int, int])
                self.values[key] = value

    def save(self) -> bytes:
        return msgspec.msgpack.encode(self.values)

    def load(self, index: int, data: bytes) -> None:
        self.values = msgspec.msgpack.decode(data, type=dict[int, int]) if data else {}
        self.index = index

    def install(self, snapshot: Snapshot) -> None:
        self.load(snapshot.meta.index, snapshot.data)
