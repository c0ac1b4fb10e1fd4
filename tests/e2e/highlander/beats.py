"""Heartbeats that cannot be argued with: no API is asked how many copies of a workload there are.

A copy holds a lock on its file for as long as its process lives, and writes its epoch, a name of its own and
the machine's monotonic time to it, twenty times a second. One that finds the file locked says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

__all__ = ["PROGRAM", "Beats", "Copy"]

#: For `python -ISc`: the file, and for how many seconds to live.
PROGRAM = """
import fcntl, os, sys, time
end = time.monotonic() + float(sys.argv[2])
name = os.urandom(8).hex()
with open(sys.argv[1], "a", buffering=1) as file:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        what = "alone"
    except OSError:
        what = "second"
    while time.monotonic() < end:
        file.write(f"{os.environ['HIGHLANDER_EPOCH']} {name} {time.monotonic():.4f} {what}\\n")
        time.sleep(0.05)
"""


@dataclass(frozen=True, slots=True)
class Copy:
    """One process, from its first heartbeat to its last."""

    name: str
    epoch: int
    first: float
    last: float
    alone: bool


class Beats:
    """What the copies of one workload have written."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._read = 0
        self._copies: dict[str, Copy] = {}

    def copies(self) -> list[Copy]:
        """In the order of their beginning."""
        if self.file.exists():
            with self.file.open() as file:
                file.seek(self._read)
                text = file.read()
            whole = text[: text.rfind("\n") + 1]
            self._read += len(whole)
            for line in whole.splitlines():
                self._hear(line)
        return sorted(self._copies.values(), key=lambda copy: copy.first)

    def _hear(self, line: str) -> None:
        epoch, name, at, what = line.split()
        known = self._copies.get(name) or Copy(name, int(epoch), float(at), float(at), what == "alone")
        self._copies[name] = replace(known, last=float(at))

    def check(self) -> None:
        """Never two at once, and epochs only grow."""
        copies = self.copies()
        for copy in copies:
            assert copy.alone, f"{self.file.name}: another process lived when this one began: {copy}"
        for earlier, later in pairwise(copies):
            assert earlier.last < later.first, f"{self.file.name}: two copies: {earlier} and {later}"
            assert earlier.epoch <= later.epoch, f"{self.file.name}: {later.epoch} after {earlier.epoch}"

    @property
    def epoch(self) -> int:
        return max((copy.epoch for copy in self.copies()), default=0)

    def is_alive(self, since: float, above: int = -1) -> bool:
        """Whether a copy of an epoch above that one has beaten since."""
        return any(copy.last > since and copy.epoch > above for copy in self.copies())

    def first_of(self, epoch: int) -> Copy | None:
        """The copy with which an epoch, or a later one, began."""
        return next((copy for copy in self.copies() if copy.epoch >= epoch), None)

    def gaps(self, since: float = 0.0) -> list[float]:
        """The times without a copy that ended after `since`."""
        return [
            later.first - earlier.last for earlier, later in pairwise(self.copies()) if later.first > since
        ]
