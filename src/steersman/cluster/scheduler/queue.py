"""The scheduling queue: active, back-off and unschedulable pods. Pure: time is an argument.

    add ──► active ──pop──► being tried ──► done
              ▲                  │
              │                  ├── nothing fits ──► refused ──┐ something happened that may help,
              │                  │                              │ or five minutes have passed
              └───── backing off ◄── went wrong ────────────────┘

Backing off takes 1, 2, 4, … 10 seconds by the number of tries. A pod that was refused and backs off is tried
early if no other pod waits; one whose attempt failed with an error is not. A pod that may not be scheduled
yet (gates) counts as refused.
"""

from __future__ import annotations

import heapq
import itertools
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from steersman.cluster.scheduler.framework.events import ClusterEvent, EventKind, Hints
from steersman.cluster.scheduler.framework.verdicts import Refusal
from steersman.cluster.scheduler.model.pod import PodInfo
from steersman.runtime import Key, RetryPolicy

__all__ = ["QueuedPodInfo", "SchedulingQueue"]

_BACKOFF: Final = RetryPolicy.exponential(1.0, 10.0)
_LONGEST_S: Final = 300.0
#: Stands for the plugin of a pod that no plugin refused: anything may help.
_ANY: Final = ""

Place = Literal["active", "backing off", "after error", "refused", "gated", "tried"]


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pod in the queue."""

    pod: PodInfo
    queued_at: float
    place: Place = "tried"
    tries: int = 0
    #: When the last try came to nothing.
    tried_at: float = 0.0
    #: The plugins that refused it.
    refused_by: frozenset[str] = frozenset()
    #: Which of several places in a heap is the right one.
    ticket: int = 0
    #: Somebody works on making room; until that is done it is not tried, only noted that it should be.
    held: bool = False
    due: bool = False

    @property
    def key(self) -> Key:
        return self.pod.key


@dataclass(slots=True)
class SchedulingQueue:
    """The queue of all profiles. `hints` are the queueing hints of each profile's plugins, by scheduler name;
    None: every event helps.
    """

    sort_key: Callable[[PodInfo, float], tuple[float, ...]]
    pre_enqueue: Callable[[PodInfo], Refusal | None]
    hints: Mapping[str, Mapping[str, Hints | None]]
    _entries: dict[Key, QueuedPodInfo] = field(default_factory=dict)
    _active: list[tuple[tuple[float, ...], int, QueuedPodInfo]] = field(default_factory=list)
    _backoff: list[tuple[float, int, QueuedPodInfo]] = field(default_factory=list)
    _errors: list[tuple[float, int, QueuedPodInfo]] = field(default_factory=list)
    #: In the order they were refused.
    _refused: OrderedDict[Key, QueuedPodInfo] = field(default_factory=OrderedDict)
    #: Refused and gated pods by scheduler name and plugin.
    _by_plugin: dict[tuple[str, str], dict[Key, QueuedPodInfo]] = field(default_factory=dict)
    _tickets: itertools.count[int] = field(default_factory=itertools.count)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> QueuedPodInfo | None:
        return self._entries.get(key)

    # --- in and out

    def add(self, pod: PodInfo, now: float) -> None:
        """A pod is new, or is another than it was."""
        entry = self._entries.get(pod.key)
        if entry is not None and entry.pod.uid == pod.uid:
            self._update(entry, pod, now)
            return
        self.remove(pod.key)
        entry = self._entries[pod.key] = QueuedPodInfo(pod, now)
        self._enqueue(entry, now)

    def remove(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._take_out(entry)

    def pop(self, now: float) -> QueuedPodInfo | None:
        """The next pod to try."""
        self._wake(now)
        while self._active:
            _, ticket, entry = heapq.heappop(self._active)
            if entry.ticket == ticket:
                return self._begin(entry)
        while self._backoff:
            _, ticket, entry = heapq.heappop(self._backoff)
            if entry.ticket == ticket:
                return self._begin(entry)
        return None

    def next_due(self) -> float | None:
        """When to look again if nothing happens."""
        times = [entry.tried_at + _LONGEST_S for entry in itertools.islice(self._refused.values(), 1)]
        for heap in (self._backoff, self._errors):
            while heap and heap[0][2].ticket != heap[0][1]:
                heapq.heappop(heap)
            times += [heap[0][0]] if heap else []
        return min(times, default=None)

    def refused(self, entry: QueuedPodInfo, plugins: Collection[str], now: float) -> None:
        """The pod fits nowhere, as these plugins say."""
        if self._entries.get(entry.key) is entry:
            entry.tried_at = now
            entry.refused_by = frozenset(plugins) or frozenset((_ANY,))
            self._put_refused(entry, "refused")

    def failed(self, entry: QueuedPodInfo, now: float) -> None:
        """The try went wrong, which says nothing about the pod; also of one that was `done` already."""
        known = self._entries.setdefault(entry.key, entry)
        if known is entry:
            self._take_out(entry)
            entry.tried_at = now
            self._push(self._errors, entry, "after error", self._backoff_ends(entry))

    def done(self, key: Key) -> None:
        """The pod has its node."""
        self.remove(key)

    def hold(self, key: Key) -> None:
        entry = self._entries.get(key)
        if entry is not None:
            entry.held = True

    def release(self, key: Key, now: float) -> None:
        entry = self._entries.get(key)
        if entry is not None and entry.held:
            entry.held = False
            if entry.due:
                entry.due = False
                self._move(entry, now)

    # --- what happens

    def happened(self, what: ClusterEvent, now: float) -> None:
        """Have another look at the pods that it may help."""
        for (scheduler, plugin), entries in list(self._by_plugin.items()):
            hints = self.hints.get(scheduler, {}).get(plugin)
            if hints is not None and what.kind not in hints:
                continue
            hint = None if hints is None else hints[what.kind]
            for entry in list(entries.values()):
                if hint is None or hint(entry.pod, what):
                    self._move(entry, now)

    def _update(self, entry: QueuedPodInfo, pod: PodInfo, now: float) -> None:
        old, entry.pod = entry.pod, pod
        if entry.place not in ("refused", "gated"):
            return
        hints = self.hints.get(pod.scheduler, {})
        for kind in _changes(old, pod):
            what = ClusterEvent(kind, old, pod)
            for plugin in entry.refused_by:
                known = hints.get(plugin)
                if known is None or (kind in known and ((hint := known[kind]) is None or hint(pod, what))):
                    self._move(entry, now)
                    return

    # --- places

    def _begin(self, entry: QueuedPodInfo) -> QueuedPodInfo:
        entry.place, entry.ticket = "tried", -1
        entry.tries += 1
        return entry

    def _enqueue(self, entry: QueuedPodInfo, now: float) -> None:
        refusal = self.pre_enqueue(entry.pod)
        if refusal is not None:
            entry.refused_by = frozenset((refusal.plugin,))
            self._put_refused(entry, "gated")
            return
        ends = self._backoff_ends(entry) if entry.tries else now
        if ends > now:
            self._push(self._backoff, entry, "backing off", ends)
        else:
            self._activate(entry)

    def _move(self, entry: QueuedPodInfo, now: float) -> None:
        if entry.held:
            entry.due = True
            return
        self._take_out(entry)
        self._enqueue(entry, now)

    def _wake(self, now: float) -> None:
        """Those whose time has come."""
        for heap in (self._backoff, self._errors):
            while heap and heap[0][0] <= now:
                _, ticket, entry = heapq.heappop(heap)
                if entry.ticket == ticket:
                    self._activate(entry)
        while self._refused:
            entry = next(iter(self._refused.values()))
            if entry.tried_at + _LONGEST_S > now:
                return
            self._move(entry, now)
            if entry.place == "refused":
                # Held: it comes back to the end.
                self._refused.move_to_end(entry.key)
                entry.tried_at = now

    def _activate(self, entry: QueuedPodInfo) -> None:
        entry.place, entry.ticket = "active", next(self._tickets)
        heapq.heappush(self._active, (self.sort_key(entry.pod, entry.queued_at), entry.ticket, entry))

    def _push(
        self, heap: list[tuple[float, int, QueuedPodInfo]], entry: QueuedPodInfo, place: Place, due: float
    ) -> None:
        entry.place, entry.ticket = place, next(self._tickets)
        heapq.heappush(heap, (due, entry.ticket, entry))

    def _put_refused(self, entry: QueuedPodInfo, place: Place) -> None:
        entry.place, entry.ticket = place, -1
        if place == "refused":
            self._refused[entry.key] = entry
        for plugin in entry.refused_by:
            self._by_plugin.setdefault((entry.pod.scheduler, plugin), {})[entry.key] = entry

    def _take_out(self, entry: QueuedPodInfo) -> None:
        entry.ticket = -1
        self._refused.pop(entry.key, None)
        for plugin in entry.refused_by:
            entries = self._by_plugin.get((entry.pod.scheduler, plugin))
            if entries is not None and entries.pop(entry.key, None) is not None and not entries:
                del self._by_plugin[entry.pod.scheduler, plugin]

    def _backoff_ends(self, entry: QueuedPodInfo) -> float:
        return entry.tried_at + _BACKOFF.wait_s(max(entry.tries, 1))


def _changes(old: PodInfo, new: PodInfo) -> list[EventKind]:
    """What of a waiting pod has changed that may matter."""
    kinds = []
    if old.labels != new.labels:
        kinds.append(EventKind.TARGET_LABELS)
    if old.tolerations != new.tolerations:
        kinds.append(EventKind.TARGET_TOLERATIONS)
    if old.gates != new.gates:
        kinds.append(EventKind.TARGET_GATES)
    if old.requests is not new.requests and (
        new.requests.cpu < old.requests.cpu or new.requests.memory < old.requests.memory
    ):
        kinds.append(EventKind.TARGET_SHRUNK)
    return kinds
