"""How far one member has come, as its leader sees it.

    PROBE      where its log matches is not known: one message at a time
      → REPLICATE   a message was accepted
    REPLICATE  messages follow each other without waiting, within a window
      → PROBE       a message was rejected
    any → SNAPSHOT  it needs entries that are compacted: pieces of the snapshot, one at a time
    SNAPSHOT → REPLICATE   it has acknowledged the snapshot's index

Pure bookkeeping: `replication` decides what to send.
"""

from __future__ import annotations

import enum
import math
from collections import deque

from steersman.raft.core.entries import StoredSnapshot

__all__ = ["Progress", "ProgressState"]


class ProgressState(enum.Enum):
    PROBE = "probe"
    REPLICATE = "replicate"
    SNAPSHOT = "snapshot"


class Progress:
    __slots__ = (
        "acked_at",
        "acked_round",
        "doubtful",
        "inflight",
        "inflight_bytes",
        "match",
        "next",
        "offset",
        "snapshot",
        "state",
        "waiting",
    )

    def __init__(self, next_index: int) -> None:
        self.state = ProgressState.PROBE
        #: Durable there, as acknowledged. Never falls while one leader leads.
        self.match = 0
        #: What to send next. Always more than `match`.
        self.next = next_index
        #: In PROBE and SNAPSHOT: something was sent and not answered.
        self.waiting = False
        #: What was sent was not answered by the time a heartbeat was due: it may be lost.
        self.doubtful = False
        #: In REPLICATE: the last index and the size of each message that is not acknowledged, oldest first.
        self.inflight: deque[tuple[int, int]] = deque()
        self.inflight_bytes = 0
        #: In SNAPSHOT: what is being sent, and how much of it is there.
        self.snapshot: StoredSnapshot | None = None
        self.offset = 0
        #: The newest round it answered, and when that round started on the leader's clock.
        self.acked_round = 0
        self.acked_at = -math.inf

    def become_probe(self) -> None:
        self._enter(ProgressState.PROBE)
        self.next = self.match + 1

    def become_replicate(self) -> None:
        self._enter(ProgressState.REPLICATE)
        self.next = self.match + 1

    def become_snapshot(self, snapshot: StoredSnapshot) -> None:
        self._enter(ProgressState.SNAPSHOT)
        self.snapshot = snapshot

    def _enter(self, state: ProgressState) -> None:
        self.state = state
        self.waiting = False
        self.doubtful = False
        self.inflight.clear()
        self.inflight_bytes = 0
        self.snapshot = None
        self.offset = 0

    def sent(self, last_index: int, size: int) -> None:
        """A message with entries up to `last_index` left in REPLICATE."""
        self.next = last_index + 1
        self.inflight.append((last_index, size))
        self.inflight_bytes += size

    def accepted(self, index: int) -> bool:
        """It has everything up to `index`; whether that is news."""
        while self.inflight and self.inflight[0][0] <= index:
            self.inflight_bytes -= self.inflight.popleft()[1]
        if index <= self.match:
            return False
        self.match = index
        self.doubtful = False
        self.next = max(self.next, index + 1)
        return True

    def rejected(self, index: int, may_match: int) -> bool:
        """`index` does not match there, `may_match` perhaps; whether this is about what was last sent."""
        if self.state is ProgressState.REPLICATE:
            if index <= self.match:  # delayed: it has matched since
                return False
            self.become_probe()
            return True
        if self.state is ProgressState.SNAPSHOT or self.next - 1 != index:
            return False
        self.next = max(min(index, may_match + 1), self.match + 1)
        self.waiting = False
        return True

    def answered(self, round_: int, started_at: float) -> None:
        if round_ > self.acked_round:
            self.acked_round = round_
            self.acked_at = max(self.acked_at, started_at)
