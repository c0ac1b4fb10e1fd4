"""Sorted keys, table by table.

A key's **table** is its first two segments with their slashes: "/core/configmaps/" for
"/core/configmaps/default/a". Keys with fewer segments share the table "". A prefix of at least two
segments lies in exactly one table, which is what the API server lists and watches by; every other
prefix is answered too, by looking at all tables it can touch.

Called by the index only. Writing marks a key as touched; sorting happens when somebody reads, and
costs in proportion to what was touched since the last read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from operator import attrgetter

from steersman.cluster.store.interface import Record

__all__ = ["Tables", "table_of"]

_key_of = attrgetter("key")


def table_of(text: str) -> str:
    """The table of a key, or of all keys that start with a prefix; "" when it names none."""
    # Not found is -1, and the search goes on at 0: a text with too few slashes finds an earlier one
    # again, so only a third slash behind the second counts.
    second = text.find("/", text.find("/") + 1)
    third = text.find("/", second + 1)
    return text[: third + 1] if third > second > 0 else ""


def _end_of(prefix: str) -> str:
    """The smallest text greater than every text that starts with `prefix`."""
    stem = prefix.rstrip("\U0010ffff")
    return stem[:-1] + chr(ord(stem[-1]) + 1)


class _Table:
    __slots__ = ("_all", "_keys", "_records", "touched")

    def __init__(self, records: Mapping[str, Record]) -> None:
        self._all = records
        self._keys: list[str] = []
        #: The records of `_keys`, position by position.
        self._records: list[Record] = []
        #: Keys written since the two lists were right.
        self.touched: set[str] = set()

    def records(self) -> list[Record]:
        """All records, sorted by key. Not the caller's to change or to keep."""
        if self.touched:
            if len(self.touched) * 64 < len(self._keys):
                self._repair()
            else:
                self._rebuild()
            self.touched.clear()
        return self._records

    def bounds(self, prefix: str, after: str) -> tuple[int, int]:
        """Where in `records()` the keys with `prefix` greater than `after` begin and end."""
        keys = self._keys
        low, high = bisect_left(keys, prefix), bisect_left(keys, _end_of(prefix))
        return (min(max(low, bisect_right(keys, after)), high) if after else low), high

    def _repair(self) -> None:
        for key in self.touched:
            position = bisect_left(self._keys, key)
            known = position < len(self._keys) and self._keys[position] == key
            record = self._all.get(key)
            if record is not None and known:
                self._records[position] = record
            elif record is not None:
                self._keys.insert(position, key)
                self._records.insert(position, record)
            elif known:
                del self._keys[position], self._records[position]

    def _rebuild(self) -> None:
        touched, records = self.touched, self._all
        keys = [key for key in self._keys if key not in touched] if self._keys else []
        keys += sorted(key for key in touched if key in records)
        keys.sort()  # two sorted runs: one merge
        self._keys = keys
        self._records = [records[key] for key in keys]


class Tables:
    """The sorted view of `records`, which the owner changes and reports key by key."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self._all = records
        self._tables: dict[str, _Table] = {}

    def touch(self, key: str) -> str:
        """The key was written or deleted. Returns its table."""
        name = table_of(key)
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = _Table(self._all)
        table.touched.add(key)
        return name

    def slice(self, prefix: str, after: str = "") -> tuple[list[Record], int, int]:
        """A sorted list, and where in it the keys with `prefix` greater than `after` lie. The list is
        only to be copied from."""
        name = table_of(prefix)
        if name:
            table = self._tables.get(name)
            if table is None:
                return [], 0, 0
            records = table.records()
            if prefix == name and not after:
                return records, 0, len(records)
            return records, *table.bounds(prefix, after)
        merged = [
            record
            for name, table in self._tables.items()
            if not name or name.startswith(prefix)
            for record in table.records()
            if record.key.startswith(prefix) and record.key > after
        ]
        merged.sort(key=_key_of)
        return merged, 0, len(merged)
