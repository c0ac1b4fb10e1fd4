"""A member at work: drives the core with a clock, a disk, a network and a state machine.

Everything here happens on one event loop. A disk that answers in less time than another thread would take to
ask it is written to there, too; a slower one by a thread, so that the loop does not wait for it. Either way
there is one write at a time, and whatever gathers meanwhile is joined into the next one (group commit).

    propose, receive, timer ──▶ pump: core.ready() ──▶ send ──▶ queue for the disk ──▶ apply ──▶ answer
                                  ▲                                    │
                                  └── core.persisted() ◀── written ────┘

A node that does not *contend* votes and stores as any other, but never campaigns.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, Protocol

from steersman.raft.core import (
    Change,
    Config,
    Entry,
    EntryKind,
    HardState,
    Message,
    NotLeader,
    Raft,
    Ready,
    Refused,
    RoleKind,
    Snapshot,
    Status,
    TimeoutNow,
)
from steersman.raft.errors import NodeStopped, OutcomeUnknown
from steersman.raft.state_machine import StateMachine
from steersman.raft.storage import Storage, Write, join

__all__ = ["Answer", "Lease", "NodeMetrics", "RaftNode"]

_log = logging.getLogger(__name__)

#: A log grows by so many entries before a snapshot replaces them; those who are behind by no more than the
#: trail are brought up by entries.
SNAPSHOT_ENTRIES = 1000
TRAIL_ENTRIES = 500

#: A write that takes less is not worth a thread: waking one, and being woken by it, takes about as long.
#: Single writes that take longer say little, the machine may be busy; one that hangs says that the disk does.
_QUICK_S = 0.002
_HANGS_S = 0.02
#: How many more slow writes than quick ones make a slow disk; and the most that is remembered.
_SLOW_WRITES = 4
_SLOW_WRITES_MAX = 16

#: uvloop's timers count milliseconds, and fire that much early.
_GRAIN_S = 0.001

_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Lease:
    """What is known of leadership: one value, so that other threads read it whole."""

    #: The highest term seen.
    term: int = 0
    #: The member that leads, 0 if none is known.
    leader: int = 0
    #: This member leads surely before this moment of the monotonic clock.
    until: float = _NEVER


@dataclass(slots=True)
class NodeMetrics:
    commits: int = 0
    writes: int = 0
    snapshots: int = 0
    elections_won: int = 0
    #: How late the last and the latest tick came, in seconds.
    tick_late_s: float = 0.0
    tick_late_max_s: float = 0.0


class Answer(Protocol):
    """Who waits for a proposal; a future, or what stands for one of another loop."""

    def done(self) -> bool: ...

    def set_result(self, result: Any, /) -> None: ...

    def set_exception(self, error: Exception, /) -> None: ...


class RaftNode:
    def __init__(
        self,
        config: Config,
        storage: Storage,
        machine: StateMachine,
        send: Callable[[Sequence[Message]], None],
        disk: Executor,
        *,
        contending: bool = True,
        clock: Callable[[], float] = time.monotonic,
        rng: Random | None = None,
    ) -> None:
        """`disk` is a thread of its own; `send` must not wait and may drop."""
        self._storage = storage
        self._machine = machine
        self._send = send
        self._disk = disk
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        stored = storage.snapshot()
        machine.restore(stored.read(0, stored.size))
        self._raft = Raft(config, storage, clock(), rng or Random())
        self._contending = contending
        self.lease = Lease(self._raft.term)
        self.metrics = NodeMetrics()
        #: Called on the loop when the leader, its term or the membership may have changed.
        self.on_change: Callable[[], None] = lambda: None
        #: Why the node has stopped by itself.
        self.failed: asyncio.Future[None] = self._loop.create_future()
        self._stopped = False
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        #: Readys on their way to the disk, and those that wait for the next write.
        self._unwritten: list[Ready] = []
        self._writing = False
        #: Readys with something for the state machine, and whether their turn is coming.
        self._unapplied: list[Ready] = []
        self._applying = False
        #: What needs no sync of its own, and therefore goes with the next write.
        self._unsynced: HardState | None = None
        #: How many more writes were slow than quick, lately.
        self._slow_writes = 0
        self._snapshot_due: Snapshot | None = None
        self._snapshot_index = storage.snapshot().meta.index
        self._applied = self._raft.status().applied_index
        self._proposals: list[tuple[bytes, Answer]] = []
        #: Who waits, by the index and the term of what was proposed. An index may be proposed at again, while
        #: what became of its predecessor is not known here yet.
        self._waiting: dict[tuple[int, int], Answer] = {}
        #: Of the last entry that was applied.
        self._applied_term = 0
        self._reads: dict[int, asyncio.Future[None]] = {}
        self._read_context = 0
        self._seen = (RoleKind.FOLLOWER, 0, 0)

    def start(self) -> None:
        self._schedule()

    def stop(self) -> None:
        """At once; who waits for something is told."""
        if self._stopped:
            return
        self._stopped = True
        self.lease = Lease(self.lease.term)
        if self._timer is not None:
            self._timer.cancel()
        waiting = [*(future for _, future in self._proposals), *self._waiting.values()]
        for future in (*waiting, *self._reads.values()):
            if not future.done():
                future.set_exception(NodeStopped("the node was stopped"))
        self._proposals.clear()
        self._waiting.clear()
        self._reads.clear()

    # Questions

    @property
    def id(self) -> int:
        return self._raft.id

    @property
    def applied(self) -> int:
        return self._applied

    @property
    def leads(self) -> bool:
        """Whether this member has the leader's role; whether it may act on that is the lease's to say."""
        return self._raft.role.kind is RoleKind.LEADER

    def status(self) -> Status:
        return self._raft.status()

    # Requests

    def receive(self, messages: Sequence[Message]) -> None:
        """They arrived."""
        if self._stopped:
            return
        now = self._clock()
        for message in messages:
            if message.to != self._raft.id or (isinstance(message, TimeoutNow) and not self._contending):
                continue
            self._raft.step(message, now)
        self._pump()

    async def propose(self, data: bytes) -> Any:
        """What the state machine answers, when the proposal is committed and applied here.

        Refused and its like: nothing was changed. Whoever stops waiting does not know the outcome."""
        if self._stopped:
            raise NodeStopped("the node is not running")
        future = self._loop.create_future()
        self._proposals.append((data, future))
        self._schedule()
        return await future

    def submit(self, proposals: Sequence[tuple[bytes, Answer]]) -> None:
        """The same for who does not wait here; they leave at once."""
        if self._stopped:
            for _, answer in proposals:
                answer.set_exception(NodeStopped("the node is not running"))
            return
        self._proposals.extend(proposals)
        self._pump()

    async def read(self) -> None:
        """Return when the state machine has everything that was committed when this was called."""
        timeout_s = self._raft.config.election_max_s
        while not self._stopped:
            self._read_context += 1
            context = self._read_context
            future = self._reads[context] = self._loop.create_future()
            try:
                self._raft.read_index(context, self._clock())
                self._schedule()
                async with asyncio.timeout(timeout_s):
                    await future
                return
            except NotLeader:
                await asyncio.sleep(self._raft.config.heartbeat_s)
            except TimeoutError:
                continue
            finally:
                self._reads.pop(context, None)
        raise NodeStopped("the node is not running")

    async def change(self, changes: Sequence[Change], *, joint: bool = False) -> None:
        """Change the membership; return when that is committed."""
        if self._stopped:
            raise NodeStopped("the node is not running")
        index, term = self._raft.propose_change(changes, self._clock(), joint=joint)
        future = self._loop.create_future()
        self._waiting[index, term] = future
        self._schedule()
        await future

    def contend(self, contending: bool) -> None:
        """Whether this member may lead. A leader that no longer wants to hands over."""
        self._contending = contending
        self._publish()
        if not contending:
            self.hand_over()
        self._schedule()

    def hand_over(self, to: int = 0) -> None:
        """Ask another voter to lead, 0 for the one with the longest log; without one just step down."""
        if not self.leads:
            return
        try:
            self._raft.transfer(to, self._clock())
        except Refused:
            if self._raft.status().transfer_to == 0:
                self._raft.step_down(self._clock())
        self._schedule()

    # The pump

    def _schedule(self) -> None:
        """What comes in together goes out together: at the end of this turn of the loop."""
        if not self._scheduled and not self._stopped:
            self._scheduled = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        self._scheduled = False
        if self._stopped:
            return
        try:
            self._propose()
            self._drain()
            # What was persisted or applied at once may be what the core waits for.
            while self._write() or self._apply_gathered():
                self._drain()
            self._arm()
        except Exception as error:  # noqa: BLE001 - whatever it is, the node must not go on
            self._fail(error)

    def _drain(self) -> None:
        while (ready := self._raft.ready()) is not None:
            # Before anything leaves: who is asked to take over may lead the next moment.
            self._publish()
            self._do(ready)
        self._publish()

    def _fail(self, error: Exception) -> None:
        """What the core or the disk says is terminal; going on could break promises."""
        _log.error("raft member %d stops: %s", self._raft.id, error)
        self.stop()
        if not self.failed.done():
            self.failed.set_exception(error)

    def _propose(self) -> None:
        if not self._proposals:
            return
        proposals, self._proposals = self._proposals, []
        proposals = [(data, future) for data, future in proposals if not future.done()]
        try:
            index, term = self._raft.propose([data for data, _ in proposals], self._clock())
        except Refused as refusal:
            for _, future in proposals:
                future.set_exception(refusal)
            return
        for _, future in proposals:
            self._waiting[index, term] = future
            index += 1

    def _do(self, ready: Ready) -> None:
        if ready.messages:
            self._send(ready.messages)
        self._unwritten.append(ready)
        if ready.snapshot is not None or ready.committed or ready.reads:
            self._unapplied.append(ready)

    # The state machine

    def _apply_gathered(self) -> bool:
        """Whether something was applied. Somebody waits for what a leader applies; a follower's turn comes
        when its acknowledgements have left."""
        if not self._unapplied:
            return False
        if self.leads:
            self._apply_readys()
            return True
        if not self._applying:
            self._applying = True
            self._loop.call_soon(self._apply_later)
        return False

    def _apply_later(self) -> None:
        self._applying = False
        if self._stopped:
            return
        try:
            self._apply_readys()
        except Exception as error:  # noqa: BLE001 - whatever it is, the node must not go on
            self._fail(error)
            return
        if self._applied < self._raft.log.commit:
            self._schedule()

    def _apply_readys(self) -> None:
        readys, self._unapplied = self._unapplied, []
        before = self._applied
        for ready in readys:
            if ready.snapshot is not None:
                self._restore(ready.snapshot)
            for entry in ready.committed:
                self._apply(entry)
            for read in ready.reads:
                future = self._reads.get(read.context)
                if future is not None and not future.done():
                    future.set_result(None)
        if self._applied > before:
            self._raft.applied(self._applied)
            self._consider_snapshot()

    def _restore(self, snapshot: Snapshot) -> None:
        self._machine.restore(snapshot.data)
        self._applied = self._snapshot_index = snapshot.meta.index
        for key in [key for key in self._waiting if key[0] <= self._applied]:
            future = self._waiting.pop(key)
            if not future.done():
                future.set_exception(OutcomeUnknown("a snapshot came instead of the answer"))
        self._outlive(snapshot.meta.term)

    def _apply(self, entry: Entry) -> None:
        answer = self._machine.apply(entry.index, entry.data) if entry.kind is EntryKind.DATA else None
        self._applied = entry.index
        self.metrics.commits += 1
        if entry.term != self._applied_term:
            self._outlive(entry.term)
        if not self._waiting:
            return
        future = self._waiting.pop((entry.index, entry.term), None)
        if future is not None and not future.done():
            future.set_result(answer)

    def _outlive(self, term: int) -> None:
        """An entry of this term was committed: none of an earlier one can follow it, since the terms of a log
        never fall. Whoever still waits for one waits in vain."""
        self._applied_term = term
        for key in [key for key in self._waiting if key[1] < term]:
            future = self._waiting.pop(key)
            if not future.done():
                future.set_exception(NotLeader(self._raft.leader))

    # The disk

    def _write(self) -> bool:
        """Hand to the disk what has gathered, unless it is busy; whether that was persisted at once."""
        if self._writing:
            return False
        if not self._unwritten:
            if self._snapshot_due is not None:
                self._save_snapshot()
            return False
        readys, self._unwritten = self._unwritten, []
        write = join(readys)
        self._unsynced = write.hard_state or self._unsynced
        if not write.sync:
            self._persisted(readys)
            return True
        write = replace(write, hard_state=self._unsynced)
        self._unsynced = None
        self.metrics.writes += 1
        if self._slow_writes > _SLOW_WRITES or write.snapshot is not None:
            self._writing = True
            self._loop.run_in_executor(self._disk, self._store, write).add_done_callback(
                partial(self._written, readys)
            )
            return False
        if self.leads:
            # The entries are on their way to others, who write them meanwhile; but they leave when it is the
            # turn of those who wait to send them.
            self._writing = True
            self._loop.call_soon(self._write_here, readys, write)
            return False
        self._store(write)
        self._persisted(readys)
        return True

    def _store(self, write: Write) -> None:
        """On the loop or on the disk's thread, never on both."""
        started = time.perf_counter()
        self._storage.write(write)
        took_s = time.perf_counter() - started
        if took_s < _QUICK_S:
            self._slow_writes = max(0, self._slow_writes - 1)
        else:
            self._slow_writes += 1 if took_s < _HANGS_S else _SLOW_WRITES_MAX
            self._slow_writes = min(self._slow_writes, _SLOW_WRITES_MAX)

    def _write_here(self, readys: Sequence[Ready], write: Write) -> None:
        self._writing = False
        if self._stopped:
            return
        try:
            self._store(write)
            self._persisted(readys)
        except Exception as error:  # noqa: BLE001 - whatever it is, the node must not go on
            self._fail(error)
            return
        self._schedule()

    def _written(self, readys: Sequence[Ready], written: asyncio.Future[None]) -> None:
        self._writing = False
        if self._stopped:
            return
        error = written.exception()
        if error is not None:
            self._fail(error if isinstance(error, Exception) else RuntimeError(str(error)))
            return
        self._persisted(readys)
        self._schedule()

    def _persisted(self, readys: Sequence[Ready]) -> None:
        for ready in readys:
            if ready.messages_after_persist:
                self._send(ready.messages_after_persist)
        self._raft.persisted(readys[-1].number, self._clock())

    # Snapshots

    def _consider_snapshot(self) -> None:
        if self._applied - self._snapshot_index >= SNAPSHOT_ENTRIES and self._snapshot_due is None:
            self.take_snapshot()

    def take_snapshot(self) -> int:
        """Begin to replace the log up to here by the state; its index."""
        self._apply_readys()
        self._snapshot_index = self._applied
        meta = self._raft.snapshot_meta(self._applied)
        self._snapshot_due = Snapshot(meta, self._machine.snapshot())
        self._schedule()
        return self._applied

    def _save_snapshot(self) -> None:
        snapshot, self._snapshot_due = self._snapshot_due, None
        assert snapshot is not None
        if snapshot.meta.index < self._storage.first_index():
            return  # a newer one came from the leader
        self._writing = True
        self.metrics.snapshots += 1
        self._loop.run_in_executor(self._disk, self._storage.save_snapshot, snapshot).add_done_callback(
            partial(self._saved, snapshot.meta.index)
        )

    def _saved(self, index: int, saved: asyncio.Future[None]) -> None:
        self._writing = False
        if self._stopped:
            return
        error = saved.exception()
        if error is not None:
            self._fail(error if isinstance(error, Exception) else RuntimeError(str(error)))
            return
        upto = index - TRAIL_ENTRIES
        if upto >= self._storage.first_index():
            self._raft.compact(upto)
            self._storage.compact(upto)
        self._schedule()

    # Time

    def _arm(self) -> None:
        """Have `_tick` called at the core's deadline. A deadline that moves away, as a follower's does with
        every heartbeat, leaves the timer where it is: it looks again when it fires."""
        deadline = self._raft.deadline
        if self._timer is not None:
            if self._timer_at <= deadline:
                return
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_later(max(0.0, deadline - self._clock()) + _GRAIN_S, self._tick)

    def _tick(self) -> None:
        self._timer = None
        now = self._clock()
        deadline = self._raft.deadline
        if now < deadline:
            self._arm()
            return
        self.metrics.tick_late_s = now - deadline
        self.metrics.tick_late_max_s = max(self.metrics.tick_late_max_s, now - deadline)
        if self._contending or self._raft.role.kind is not RoleKind.FOLLOWER:
            self._raft.tick(now)
            self._schedule()
        else:
            self._publish()
            self._timer_at = now + self._raft.config.election_min_s
            self._timer = self._loop.call_later(self._raft.config.election_min_s, self._tick)

    def _publish(self) -> None:
        raft = self._raft
        now = self._clock()
        until = raft.lease_until if self._contending else _NEVER
        # A follower that does not campaign when its time has come still knows by then that nobody leads.
        leaderless = raft.role.kind is RoleKind.FOLLOWER and now >= raft.deadline
        leader = 0 if leaderless else raft.leader
        lease = self.lease
        if (lease.term, lease.leader, lease.until) != (raft.term, leader, until):
            self.lease = Lease(raft.term, leader, until)
        seen = (raft.role.kind, raft.term, leader)
        if seen != self._seen:
            if seen[0] is RoleKind.LEADER:
                self.metrics.elections_won += 1
            self._seen = seen
            self.on_change()
        elif until != lease.until and (until == _NEVER or lease.until <= now):
            # It ended early, or it had run out: who has seen that would not look again.
            self.on_change()
