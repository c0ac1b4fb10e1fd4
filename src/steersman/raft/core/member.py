"""What a member is in every role: its term and vote, its log, what it has to send; and how it votes.

    Follower ──timeout──▶ Candidate(pre) ──majority──▶ Candidate ──majority──▶ Leader
        ▲  ▲                  │                           │                      │
        │  └──────lost, or a leader of this term──────────┘                      │
        └───────────────a higher term, no quorum, removed───────────────────────┘

Roles are objects that hold what only they need; `Raft` (the subclass callers use) makes them. Rules about
terms are here, so that a role sees messages of its own term only.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Protocol

from steersman.raft.core.config import Config
from steersman.raft.core.entries import Entry, EntryKind, HardState, LogReader, Snapshot
from steersman.raft.core.errors import ContractBroken
from steersman.raft.core.log import Log
from steersman.raft.core.membership import Configuration, History
from steersman.raft.core.messages import (
    AppendRequest,
    AppendResponse,
    HeartbeatRequest,
    Message,
    SnapshotChunk,
    VoteRequest,
    VoteResponse,
)
from steersman.raft.core.ready import Read

__all__ = ["Member", "Role", "RoleKind"]

#: Only a leader sends these: their sender leads their term.
_FROM_LEADER = (AppendRequest, HeartbeatRequest, SnapshotChunk)


class RoleKind(enum.Enum):
    FOLLOWER = "follower"
    PRE_CANDIDATE = "pre-candidate"
    CANDIDATE = "candidate"
    LEADER = "leader"


class Role(Protocol):
    @property
    def kind(self) -> RoleKind: ...

    @property
    def leader(self) -> int:
        """Who leads this term as far as known, 0 nobody."""
        ...

    @property
    def deadline(self) -> float:
        """When `tick` has something to do."""
        ...

    def start(self) -> None:
        """The member has just taken this role."""
        ...

    def step(self, message: Message) -> None:
        """A message of the member's term; not a VoteRequest."""
        ...

    def tick(self) -> None:
        """Time has passed."""
        ...

    def persisted(self) -> None:
        """Something has become durable."""
        ...

    def voted(self) -> None:
        """The member's vote went to a candidate."""
        ...


class Member(ABC):
    def __init__(self, config: Config, storage: LogReader, now: float, rng: Random) -> None:
        self.config = config
        self.id = config.id
        self.storage = storage
        self.rng = rng
        #: The latest time told by the caller. Never falls.
        self.now = now

        hard = storage.hard_state()
        #: Highest term seen. Never falls.
        self.term = hard.term
        #: Who has this member's vote in `term`. Once given it stays until the term changes.
        self.vote = hard.vote
        #: What of these is durable: only then may anybody, this member included, count the vote.
        self.durable = hard
        self.log = Log(storage, config.cache_bytes)
        if self.term < self.log.last_term:
            raise ContractBroken(f"hard state of term {self.term} with a log of term {self.log.last_term}")
        #: The configuration in force is the newest in the log, committed or not.
        self.membership = self._read_membership(storage)

        #: When a leader was last heard. For `election_min_s` from then on other candidates are refused. A
        #: start counts: before it, this member may have promised that to a leader which still relies on it.
        self.contact_at = now
        self.messages: list[Message] = []
        #: Rest on what may not be durable yet.
        self.messages_after_persist: list[Message] = []
        #: Confirmed reads; handed out when their index is delivered.
        self.reads: deque[Read] = deque()
        #: Came from the leader and was not handed to the disk yet.
        self.snapshot: Snapshot | None = None
        #: The number of the Ready that takes the last received snapshot to the disk; none while 0.
        self.installing = 0
        self.role: Role

    def _read_membership(self, storage: LogReader) -> History:
        meta = storage.snapshot().meta
        history = History(meta.index, meta.configuration)
        index = max(meta.index + 1, self.log.first)
        while index <= self.log.last:
            entries = self.log.entries(index, self.log.last + 1, self.config.max_append_bytes)
            self._note_changes(history, entries)
            index = entries[-1].index + 1
        return history

    # Roles

    @abstractmethod
    def become_follower(self, term: int, leader: int) -> None: ...

    @abstractmethod
    def become_candidate(self, *, pre: bool, transfer: bool = False) -> None: ...

    @abstractmethod
    def become_leader(self) -> None: ...

    @property
    def configuration(self) -> Configuration:
        return self.membership.current

    @property
    def may_campaign(self) -> bool:
        """Whether this member may lead: it votes, and its log is in one piece.

        Who was removed by a change that may not be committed may be needed to commit it, being perhaps the
        only one to have it (Raft thesis, section 4.2.2). Its own vote does not count.
        """
        membership = self.membership
        votes = membership.current.votes(self.id) or (
            membership.index > self.log.commit and membership.before().votes(self.id)
        )
        return votes and self.snapshot is None and not self.installing

    def enter_term(self, term: int) -> None:
        if term > self.term:
            self.term = term
            self.vote = 0

    def election_timeout(self) -> float:
        return self.rng.uniform(self.config.election_min_s, self.config.election_max_s)

    # Messages

    def receive(self, message: Message) -> None:
        """Bring the terms in line (Raft, section 5.1), then let the role, or the vote, decide."""
        if message.term > self.term:
            if not self._follow_higher(message):
                return
        elif message.term < self.term:
            self._answer_lower(message)
            return
        if isinstance(message, VoteRequest):
            self._consider(message)
        else:
            self.role.step(message)

    def _follow_higher(self, message: Message) -> bool:
        """Whether the message goes on after its higher term was dealt with."""
        if isinstance(message, VoteRequest):
            if self.sticks_to_leader and not message.transfer:
                return False
            if not message.pre:
                self.become_follower(message.term, 0)
        elif isinstance(message, VoteResponse) and message.pre and message.granted:
            pass  # repeats the term that this member asked about, and has not entered
        else:
            self.become_follower(message.term, message.sender if isinstance(message, _FROM_LEADER) else 0)
        return True

    def _answer_lower(self, message: Message) -> None:
        """Who is behind must learn the term, or it would never follow again."""
        if isinstance(message, _FROM_LEADER):
            self.messages.append(
                AppendResponse(
                    to=message.sender, sender=self.id, term=self.term, index=0, round=0, rejected=True
                )
            )
        elif isinstance(message, VoteRequest):
            self._answer_vote(message, granted=False)

    # Votes

    @property
    def sticks_to_leader(self) -> bool:
        """Whether a leader may still count on this member."""
        return self.now < self.contact_at + self.config.election_min_s

    def _consider(self, request: VoteRequest) -> None:
        """Grant at most one vote a term, to a log that has everything committed (sections 5.2, 5.4.1)."""
        if request.pre:
            free = request.term > self.term
        else:
            free = self.vote == request.sender or (self.vote == 0 and self.role.leader == 0)
        granted = free and self.log.is_up_to_date(request.last_index, request.last_term)
        if granted and not request.pre:
            self.vote = request.sender
            self.role.voted()
        self._answer_vote(request, granted=granted)

    def _answer_vote(self, request: VoteRequest, *, granted: bool) -> None:
        answer = VoteResponse(
            to=request.sender,
            sender=self.id,
            term=request.term if granted else self.term,
            granted=granted,
            pre=request.pre,
        )
        binding = granted and not request.pre
        (self.messages_after_persist if binding else self.messages).append(answer)

    # The log

    def append(self, entries: Sequence[Entry]) -> None:
        """A leader's own entries."""
        self.log.append(entries)
        self._note_changes(self.membership, entries)

    def merge(self, entries: Sequence[Entry]) -> None:
        """A leader's entries at a follower."""
        new = self.log.merge(entries)
        if new:
            self.membership.truncate(new[0].index)
            self._note_changes(self.membership, new)

    @staticmethod
    def _note_changes(history: History, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if entry.kind == EntryKind.CHANGE:
                history.append(entry.index, Configuration.decode(entry.data))

    def install(self, snapshot: Snapshot) -> None:
        meta = snapshot.meta
        self.log.reset(meta)
        self.membership = History(meta.index, meta.configuration)
        self.snapshot = snapshot

    @property
    def hard_state(self) -> HardState:
        return HardState(self.term, self.vote, self.log.commit)
