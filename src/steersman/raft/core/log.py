"""A member's log: durable entries in the storage, newer ones in memory, and how far each step has come.

    first ≤ … ≤ delivered ≤ commit,  delivered ≤ stable ≤ written ≤ last

The newest entries are held in a window in memory, durable or not; older ones are read from the storage.
Entries leave the window only when they are durable and the window is full. `take_unwritten` gives entries to
the disk, `persisted` hears that they arrived; any number of writes may be under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from steersman.raft.core.entries import Entry, LogReader, SnapshotMeta, size_of
from steersman.raft.core.errors import ContractBroken, LogLost

__all__ = ["Log"]


class _Write:
    """Entries on their way to the disk, for one Ready."""

    __slots__ = ("last", "number")

    def __init__(self, number: int, last: int) -> None:
        self.number = number
        #: What is durable when this has arrived. Falls when the log is truncated meanwhile: then a later
        #: write overwrites the rest, and its arrival alone proves nothing about it.
        self.last = last


class Log:
    __slots__ = (
        "_base_term",
        "_cache_bytes",
        "_offset",
        "_storage",
        "_window",
        "_window_bytes",
        "_writes",
        "commit",
        "delivered",
        "first",
        "last",
        "stable",
        "written",
    )

    def __init__(self, storage: LogReader, cache_bytes: int) -> None:
        self._storage = storage
        self._cache_bytes = cache_bytes
        #: Oldest entry that may be read; everything before is in the snapshot only.
        self.first = storage.first_index()
        #: Newest entry. Falls only when a leader overwrites what was never committed.
        self.last = storage.last_index()
        self._base_term = storage.term(self.first - 1)
        #: Entries from `_offset` to `last`.
        self._window: list[Entry] = []
        self._offset = self.last + 1
        self._window_bytes = 0
        #: Given to the disk.
        self.written = self.last
        #: Durable: survives a crash. Only this may be acknowledged, counted for a commit, and delivered.
        self.stable = self.last
        self._writes: deque[_Write] = deque()
        snapshot = storage.snapshot().meta
        #: Known to be committed. Never falls, never beyond `last`.
        self.commit = max(storage.hard_state().commit, snapshot.index)
        #: Given to the state machine: by a snapshot, or as `Ready.committed`.
        self.delivered = snapshot.index
        if not self.first - 1 <= snapshot.index <= self.commit <= self.last:
            raise ContractBroken(
                f"storage does not fit together: first {self.first}, snapshot {snapshot.index},"
                f" commit {self.commit}, last {self.last}"
            )

    # Reading

    def term(self, index: int) -> int:
        """0 for what is compacted or not there."""
        position = index - self._offset
        if 0 <= position < len(self._window):
            return self._window[position].term
        if index == self.first - 1:
            return self._base_term
        if self.first <= index < self._offset:
            return self._storage.term(index)
        return 0

    @property
    def last_term(self) -> int:
        return self.term(self.last)

    def has(self, index: int, term: int) -> bool:
        """Whether this very entry is here, and therefore (log matching) all before it."""
        return self.first - 1 <= index <= self.last and self.term(index) == term

    def is_up_to_date(self, last_index: int, last_term: int) -> bool:
        """Whether a log that ends there has at least what this one has (Raft, section 5.4.1)."""
        own = self.last_term
        return last_term > own or (last_term == own and last_index >= self.last)

    def entries(self, low: int, high: int, max_bytes: int) -> Sequence[Entry]:
        """From `low` to before `high`, at least one; fewer by `max_bytes` or where the window starts."""
        if low < self.first or high > self.last + 1 or low >= high:
            raise ContractBroken(f"entries {low} to {high} of a log from {self.first} to {self.last}")
        if low < self._offset:
            found = self._storage.entries(low, min(high, self._offset), max_bytes)
            if not found or found[0].index != low:
                raise ContractBroken(f"the storage does not have entry {low}")
            return found
        found = self._window[low - self._offset : high - self._offset]
        if size_of(found) <= max_bytes:
            return found
        size = 0
        for count, entry in enumerate(found):
            size += entry.size
            if count and size > max_bytes:
                return found[:count]
        return found

    def hint(self, index: int, term: int) -> tuple[int, int]:
        """The last entry up to `index` whose term is at most `term`: nothing between can match."""
        index = min(index, self.last)
        while index >= self.first and self.term(index) > term:
            index -= 1
        return index, self.term(index)

    # Writing

    def append(self, entries: Sequence[Entry]) -> None:
        """Add what follows `last`."""
        if entries:
            if entries[0].index != self.last + 1:
                raise ContractBroken(f"entry {entries[0].index} cannot follow {self.last}")
            self._window.extend(entries)
            self._window_bytes += size_of(entries)
            self.last = entries[-1].index

    def merge(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Take a leader's entries, whose predecessor is here; returns those that are new here.

        What is already here stays (a delayed message must not cut off newer entries); the first that
        conflicts cuts the log.
        """
        for position, entry in enumerate(entries):
            if entry.index > self.last:
                new = entries[position:]
            elif self.term(entry.index) != entry.term:
                self._truncate(entry.index)
                new = entries[position:]
            else:
                continue
            self.append(new)
            return new
        return ()

    def _truncate(self, index: int) -> None:
        """Drop everything from `index` on."""
        if index <= self.commit:
            raise LogLost(
                f"entry {index} would be overwritten, but entries up to {self.commit} are committed"
            )
        keep = max(index - self._offset, 0)
        self._window_bytes -= size_of(self._window[keep:])
        del self._window[keep:]
        self._offset = min(self._offset, index)
        self.last = index - 1
        self.stable = min(self.stable, self.last)
        self.written = min(self.written, self.last)
        for write in self._writes:
            write.last = min(write.last, self.last)

    def reset(self, meta: SnapshotMeta) -> None:
        """A snapshot replaces the whole log. Nothing is durable until it is."""
        self._window.clear()
        self._window_bytes = 0
        self._offset = meta.index + 1
        self._base_term = meta.term
        self.first = meta.index + 1
        self.last = self.written = self.commit = self.delivered = meta.index
        self.stable = 0
        for write in self._writes:
            write.last = 0

    def take_unwritten(self, number: int) -> Sequence[Entry]:
        """What the disk has not been given yet; `persisted(number)` will say that it has arrived."""
        entries = self._window[self.written + 1 - self._offset :] if self.written < self.last else ()
        self.written = self.last
        self._writes.append(_Write(number, self.last))
        return entries

    def persisted(self, number: int) -> None:
        """All writes up to `number` have arrived."""
        while self._writes and self._writes[0].number <= number:
            self.stable = max(self.stable, self._writes.popleft().last)
        self._shrink()

    def _shrink(self) -> None:
        """Let go of durable entries, the oldest first, until the window is half as large as it may be."""
        if self._window_bytes <= self._cache_bytes:
            return
        keep = 0
        for entry in self._window:
            if entry.index > self.stable or self._window_bytes <= self._cache_bytes // 2:
                break
            self._window_bytes -= entry.size
            keep += 1
        del self._window[:keep]
        self._offset += keep

    def commit_to(self, index: int) -> bool:
        """Whether that is news."""
        if index <= self.commit:
            return False
        if index > self.last:
            raise LogLost(f"entry {index} is committed, but this log ends at {self.last}")
        self.commit = index
        return True

    def deliver(self, max_bytes: int) -> Sequence[Entry]:
        """The next committed entries for the state machine; only durable ones, so that a crash cannot leave
        the state machine ahead of its log."""
        high = min(self.commit, self.stable)
        if high <= self.delivered:
            return ()
        entries = self.entries(self.delivered + 1, high + 1, max_bytes)
        self.delivered = entries[-1].index
        return entries

    def compact(self, index: int) -> None:
        """Forget everything up to `index`; the storage may delete it afterwards."""
        if index > self.delivered:
            raise ContractBroken(f"entry {index} cannot be compacted before it is applied")
        if index < self.first:
            return
        self._base_term = self.term(index)
        self.first = index + 1
        dropped = self._window[: max(index + 1 - self._offset, 0)]
        del self._window[: len(dropped)]
        self._window_bytes -= size_of(dropped)
        self._offset = max(self._offset, index + 1)
