"""`Raft`: one member as its caller sees it. The package doc lists the caller's duties."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from steersman.raft.core.candidate import Candidate
from steersman.raft.core.config import Config
from steersman.raft.core.entries import Entry, HardState, LogReader, SnapshotMeta, size_of
from steersman.raft.core.errors import ContractBroken, NotLeader
from steersman.raft.core.follower import Follower
from steersman.raft.core.leader import Leader
from steersman.raft.core.member import Member, RoleKind
from steersman.raft.core.membership import Change, Configuration
from steersman.raft.core.messages import Message, ReadRequest
from steersman.raft.core.progress import ProgressState
from steersman.raft.core.ready import Read, Ready

__all__ = ["PeerStatus", "Raft", "Status"]


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """Another member, as the leader sees it."""

    state: ProgressState
    match: int
    next: int
    #: Start of the newest heartbeat round it answered, on the leader's clock.
    acked_at: float


@dataclass(frozen=True, slots=True)
class Status:
    id: int
    role: RoleKind
    term: int
    vote: int
    #: 0: nobody known.
    leader: int
    first_index: int
    last_index: int
    stable_index: int
    commit_index: int
    applied_index: int
    configuration: Configuration
    #: Where the configuration is in the log; a change is pending while this is more than `commit_index`.
    configuration_index: int
    lease_until: float
    transfer_to: int
    #: On the leader only.
    peers: Mapping[int, PeerStatus]


class Raft(Member):
    def __init__(self, config: Config, storage: LogReader, now: float, rng: Random) -> None:
        super().__init__(config, storage, now, rng)
        #: Number of the newest Ready, and of the newest that is durable.
        self._number = 0
        self._persisted = 0
        #: The hard state as last handed out.
        self._handed = self.durable
        #: Hard states on their way to the disk, by number of their Ready.
        self._writing: deque[tuple[int, HardState]] = deque()
        #: How far the caller has applied; `log.delivered` is how far it was given.
        self._applied = self.log.delivered
        #: Index and size of deliveries that are not applied.
        self._unapplied: deque[tuple[int, int]] = deque()
        self._unapplied_bytes = 0
        #: The role, if it is that of a leader.
        self._leader: Leader | None = None
        self.role = Follower(self, leader=0)
        self.role.start()

    # Roles

    def become_follower(self, term: int, leader: int) -> None:
        self.enter_term(term)
        self._leader = None
        self.role = Follower(self, leader)
        self.role.start()

    def become_candidate(self, *, pre: bool, transfer: bool = False) -> None:
        if not pre:
            self.enter_term(self.term + 1)
            self.vote = self.id
        self.role = Candidate(self, pre=pre, transfer=transfer)
        self.role.start()

    def become_leader(self) -> None:
        leader = self._leader = Leader(self)
        self.role = leader
        leader.start()

    # Input

    def step(self, message: Message, now: float) -> None:
        """A message arrived."""
        if message.to != self.id:
            raise ContractBroken(f"a message to member {message.to} came to member {self.id}")
        self._time(now)
        self.receive(message)

    def tick(self, now: float) -> None:
        """Time has passed; due at `deadline`, harmless at any time."""
        self._time(now)
        self.role.tick()

    @property
    def deadline(self) -> float:
        """When `tick` is due."""
        return self.role.deadline

    def propose(self, data: Sequence[bytes], now: float) -> tuple[int, int]:
        """Add entries to the log: index of the first, and term. They are committed if and only if entries
        with these indices and this term come out in `Ready.committed`."""
        self._time(now)
        return self._led().propose(data), self.term

    def propose_change(
        self, changes: Sequence[Change], now: float, *, joint: bool = False, auto_leave: bool = True
    ) -> tuple[int, int]:
        """Change the membership; index and term of its entry.

        In force as soon as it is in the log, done when committed. Without `joint` at most one voter changes.
        Without `auto_leave` the joint state is left by a call without changes.
        """
        self._time(now)
        return self._led().propose_change(changes, joint=joint, auto_leave=auto_leave), self.term

    def read_index(self, context: int, now: float, *, lease: bool = False) -> None:
        """Ask for a linearizable read; it may be answered when `context` comes out in `Ready.reads`.

        Followers ask their leader. `lease` trusts the leader's lease, and thereby the rates of all clocks,
        instead of a round of heartbeats. Whoever sees `leader` or `term` change before the answer asks again,
        with a new context.
        """
        self._time(now)
        if self._leader is not None:
            self._leader.read(context, lease=lease)
        elif self.role.leader:
            self.messages.append(
                ReadRequest(to=self.role.leader, sender=self.id, term=self.term, context=context)
            )
        else:
            raise NotLeader(0)

    def transfer(self, to: int, now: float) -> None:
        """Hand leadership to a voter, 0 for the one with the longest log.

        Work that only a leader may do must have ended before. The lease ends when the other is asked to take
        over; if it does not within `election_max_s`, this member steps down all the same.
        """
        self._time(now)
        self._led().hand_over(to)

    def step_down(self, now: float) -> None:
        """Stop leading at once, with nobody asked to take over: others elect somebody when they notice."""
        self._time(now)
        self._led()
        self.become_follower(self.term, 0)

    # Output

    def ready(self) -> Ready | None:
        """What is to be done now, None if nothing. Does not wait for earlier ones to be persisted."""
        if self._leader is not None:
            self._leader.flush()
        committed = (
            self.log.deliver(self.config.max_unapplied_bytes - self._unapplied_bytes)
            if self._unapplied_bytes < self.config.max_unapplied_bytes
            else ()
        )
        reads = self._take_reads()
        hard_state = self.hard_state
        if not (
            committed or reads or self.messages or self.messages_after_persist or self.snapshot
            or hard_state != self._handed or self.log.written < self.log.last
        ):  # fmt: skip
            return None
        self._number += 1
        if committed:
            self._note_delivered(committed[-1].index, size_of(committed))
        return self._bundle(hard_state, committed, reads)

    def _bundle(self, hard_state: HardState, committed: Sequence[Entry], reads: Sequence[Read]) -> Ready:
        number = self._number
        entries = self.log.take_unwritten(number)
        changed = hard_state != self._handed
        promised = (hard_state.term, hard_state.vote) != (self._handed.term, self._handed.vote)
        snapshot, self.snapshot = self.snapshot, None
        if snapshot is not None:
            self.installing = number
        self._handed = hard_state
        self._writing.append((number, hard_state))
        messages, self.messages = self.messages, []
        after, self.messages_after_persist = self.messages_after_persist, []
        return Ready(
            number=number,
            hard_state=hard_state if changed else None,
            snapshot=snapshot,
            entries=entries,
            must_sync=bool(entries) or promised or snapshot is not None,
            messages=messages,
            messages_after_persist=after,
            committed=committed,
            reads=reads,
        )

    def _take_reads(self) -> Sequence[Read]:
        if not self.reads:
            return ()
        done = [read for read in self.reads if read.index <= self.log.delivered]
        self.reads = deque(read for read in self.reads if read.index > self.log.delivered)
        return done

    def _note_delivered(self, index: int, size: int) -> None:
        self._unapplied.append((index, size))
        self._unapplied_bytes += size

    def persisted(self, number: int, now: float) -> None:
        """The Ready of this number and all before it are durable, and what waited for that was sent."""
        self._time(now)
        if not self._persisted < number <= self._number:
            raise ContractBroken(f"Ready {number} is persisted, after {self._persisted} of {self._number}")
        self._persisted = number
        while self._writing and self._writing[0][0] <= number:
            self.durable = self._writing.popleft()[1]
        if self.installing and self.installing <= number:
            self.installing = 0
        self.log.persisted(number)
        self.role.persisted()

    def applied(self, index: int) -> None:
        """The state machine has everything up to `index`."""
        if not self._applied <= index <= self.log.delivered:
            raise ContractBroken(f"applied {index}, but only entries up to {self.log.delivered} were given")
        self._applied = index
        while self._unapplied and self._unapplied[0][0] <= index:
            self._unapplied_bytes -= self._unapplied.popleft()[1]
        if self._leader is not None:
            self._leader.applied(index)

    # Snapshots

    def snapshot_meta(self, index: int) -> SnapshotMeta:
        """What a snapshot of the state machine at `index` must be stored with."""
        if not self.log.first - 1 <= index <= self._applied:
            raise ContractBroken(
                f"a snapshot at {index}, but {self.log.first - 1} to {self._applied} are applied"
            )
        return SnapshotMeta(index, self.log.term(index), self.membership.at(index))

    def compact(self, index: int) -> None:
        """Forget entries up to `index`; a durable snapshot at or after it exists. Then, the storage may
        delete them."""
        self.log.compact(index)
        self.membership.compact(index)

    # Questions

    @property
    def lease_until(self) -> float:
        """Leadership is valid before this moment of the clock given as `now`; -inf without. Ask each time:
        a transfer ends it early."""
        return self._leader.lease_until if self._leader is not None else -math.inf

    def is_leader(self, now: float) -> bool:
        """Whether this member leads, surely: nobody else's `is_leader` is true at this moment."""
        return now < self.lease_until

    @property
    def leader(self) -> int:
        """Who leads as far as known here, 0 nobody."""
        return self.role.leader

    def status(self) -> Status:
        leader = self._leader
        peers = leader.replication.peers if leader is not None else []
        transfer = leader.transfer if leader is not None else None
        return Status(
            id=self.id,
            role=self.role.kind,
            term=self.term,
            vote=self.vote,
            leader=self.role.leader,
            first_index=self.log.first,
            last_index=self.log.last,
            stable_index=self.log.stable,
            commit_index=self.log.commit,
            applied_index=self._applied,
            configuration=self.configuration,
            configuration_index=self.membership.index,
            lease_until=self.lease_until,
            transfer_to=transfer.to if transfer is not None else 0,
            peers={id_: PeerStatus(p.state, p.match, p.next, p.acked_at) for id_, p in peers},
        )

    def _led(self) -> Leader:
        if self._leader is None:
            raise NotLeader(self.role.leader)
        return self._leader

    def _time(self, now: float) -> None:
        self.now = max(self.now, now)
