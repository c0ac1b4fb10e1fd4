"""Sorted keys by table (resource), for range reads.

A key's **table** is its first two segments with their slashes: "/core/configmaps/" for
"/core/configmaps/default/a". Keys with fewer segments share the table "". A prefix of at least two
segments lies in exactly one table, which is what the API server lists and watches by; every other
prefix is answered too, by looking at all tables it can touch.

Called by the index only. Writing marks a key as touched; sorting happens with the next read, and
costs in proportion to what was touched since the last read. Unread tables must not keep old records
alive, so after some writes the sorted records are let go of, and made anew by the next read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from operator import attrgetter

from steersman.cluster.store.interface import Record

__all__ = ["Tables", "table_of"]

_key_of = attrgetter("key")

#: Keys touched without a read after which a table lets go of its sorted records.
_STALE = 512
#: Prefixes of a table whose values are kept.
_PREFIXES = 16


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
    __slots__ = ("_all", "_keys", "_records", "_touched", "_values")

    def __init__(self, records: Mapping[str, Record]) -> None:
        self._all = records
        self._keys: list[str] = []
        #: The records of `_keys`, position by position; None after many writes without a read.
        self._records: list[Record] | None = []
        #: Keys written since the lists were right; bounded by a share of the keys there are.
        self._touched: set[str] = set()
        #: By prefix, what `values` last told; until the next write.
        self._values: dict[str, tuple[list[bytes], int]] = {}

    def touch(self, key: str) -> None:
        touched = self._touched
        touched.add(key)
        if self._values:
            self._values.clear()
        if len(touched) >= _STALE:
            self._records = None
            if len(touched) > len(self._keys) // 4 + _STALE:
                self._merge()

    def records(self) -> list[Record]:
        """All records, sorted by key. Not the caller's to change or to keep."""
        if self._touched and (self._records is None or len(self._touched) * 64 >= len(self._keys)):
            self._merge()
        if self._records is None:
            self._records = [self._all[key] for key in self._keys]
        elif self._touched:
            self._repair(self._records)
        return self._records

    def values(self, prefix: str) -> tuple[list[bytes], int]:
        """The values of the keys with `prefix`, and their size. Not the caller's to change."""
        found = self._values.get(prefix)
        if found is None:
            records = self.records()
            low, high = self.bounds(prefix, "")
            values = [record.value for record in records[low:high]]
            if len(self._values) >= _PREFIXES:
                self._values.clear()
            found = self._values[prefix] = values, sum(map(len, values))
        return found

    def bounds(self, prefix: str, after: str) -> tuple[int, int]:
        """Where in `records()` the keys with `prefix` greater than `after` begin and end."""
        keys = self._keys
        low, high = bisect_left(keys, prefix), bisect_left(keys, _end_of(prefix))
        return (min(max(low, bisect_right(keys, after)), high) if after else low), high

    def _repair(self, records: list[Record]) -> None:
        keys = self._keys
        for key in self._touched:
            position = bisect_left(keys, key)
            known = position < len(keys) and keys[position] == key
            record = self._all.get(key)
            if record is not None and known:
                records[position] = record
            elif record is not None:
                keys.insert(position, key)
                records.insert(position, record)
            elif known:
                del keys[position], records[position]
        self._touched.clear()

    def _merge(self) -> None:
        """Bring the keys up to date; the records of the old ones are not."""
        touched, everything = self._touched, self._all
        keys = [key for key in self._keys if key not in touched]
        keys += sorted(key for key in touched if key in everything)
        keys.sort()  # two sorted runs: one merge
        self._keys = keys
        self._records = None
        touched.clear()


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
        table.touch(key)
        return name

    def values(self, prefix: str) -> tuple[list[bytes], int]:
        """The values of all keys with `prefix`, and their size. Not the caller's to change."""
        table = self._tables.get(table_of(prefix))
        if table is not None and table_of(prefix):
            return table.values(prefix)
        records, low, high = self.slice(prefix)
        values = [record.value for record in records[low:high]]
        return values, sum(map(len, values))

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
