"""The back-off before a failed daemon pod is replaced: 1 s, 2 s, … 15 min, for each node. Pure.

A node that rejects a pod rejects the next one immediately; without a back-off, pods would be created and
rejected in a loop.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["FailedPods"]

_FIRST_S: Final = 1.0
_MOST_S: Final = 900.0
#: Whoever fails less often than this is not failing again and again.
_FORGET_S: Final = 2 * _MOST_S


class _Wait(NamedTuple):
    """The back-off of one node: its length and its end."""

    seconds: float
    since: float


class FailedPods:
    """The back-offs of DaemonSets by node."""

    def __init__(self) -> None:
        self._waits: dict[tuple[str, int, str], _Wait] = {}

    def wait_s(self, uid: str, generation: int, node: str, now: float) -> float:
        """How long a failed pod of a DaemonSet (at a generation) on a node must stay; 0 if it may go now,
        which is noted."""
        key = uid, generation, node
        old = self._waits.get(key)
        if old is not None and now - old.since < old.seconds:
            return old.seconds - (now - old.since)
        fresh = old is None or now - old.since > _FORGET_S
        self._forget(now)
        self._waits[key] = _Wait(_FIRST_S if fresh or old is None else min(old.seconds * 2, _MOST_S), now)
        return 0.0

    def _forget(self, now: float) -> None:
        for key in [key for key, wait in self._waits.items() if now - wait.since > _FORGET_S]:
            del self._waits[key]
