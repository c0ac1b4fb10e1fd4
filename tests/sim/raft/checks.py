"""The promises of Raft, checked as a simulation goes on; each violation is an AssertionError that says which.

The names are those of figure 3 of the Raft paper, plus what this implementation adds: votes are durable,
never two valid leaderships at one instant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from steersman.raft.core import Entry, Message, Raft, RoleKind, Snapshot, VoteResponse

__all__ = ["Checks", "Watched"]


class Watched(Protocol):
    """A member under simulation."""

    @property
    def id(self) -> int: ...

    @property
    def raft(self) -> Raft | None:
        """None while it is down."""
        ...

    def clock(self) -> float:
        """Its local time."""
        ...


class Checks:
    def __init__(self) -> None:
        self._leaders: dict[int, int] = {}
        #: Of every entry ever seen: its content and its predecessor's term.
        self._entries: dict[tuple[int, int], tuple[Entry, int]] = {}
        #: Of every index that any member has taken as committed.
        self.committed: dict[int, Entry] = {}
        #: The last of them that was applied by a member in this term, or one before.
        self._last_committed: dict[int, int] = {}
        self._votes: dict[tuple[int, int], int] = {}

    def members(self, members: Iterable[Watched]) -> None:
        """After every step."""
        valid = []
        for member in members:
            raft = member.raft
            if raft is None:
                continue
            if raft.role.kind is RoleKind.LEADER and raft.term not in self._leaders:
                self._check_completeness(raft)
            if raft.role.kind is RoleKind.LEADER:
                leader = self._leaders.setdefault(raft.term, raft.id)
                assert leader == raft.id, f"election safety: {leader} and {raft.id} lead term {raft.term}"
            if raft.is_leader(member.clock()):
                valid.append(raft.id)
        assert len(valid) < 2, f"lease safety: {valid} all hold a valid leadership"

    def _check_completeness(self, raft: Raft) -> None:
        index = max((last for term, last in self._last_committed.items() if term < raft.term), default=0)
        if index >= raft.log.first:
            assert raft.log.has(index, self.committed[index].term), (
                f"leader completeness: {raft.id}, new leader of term {raft.term}, lacks committed {index}"
            )

    def written(self, raft: Raft, entries: Iterable[Entry]) -> None:
        """Entries go to a member's disk."""
        for entry in entries:
            before = raft.log.term(entry.index - 1)
            known = self._entries.setdefault((entry.index, entry.term), (entry, before))
            assert known == (entry, before), f"log matching: {raft.id} has another {entry.index}/{entry.term}"

    def applied(self, raft: Raft, entries: Iterable[Entry]) -> None:
        for entry in entries:
            known = self.committed.setdefault(entry.index, entry)
            assert known == entry, f"state machine safety: {raft.id} applies another entry {entry.index}"
            if known is entry:
                self._last_committed[raft.term] = entry.index

    def installed(self, raft: Raft, snapshot: Snapshot) -> None:
        meta = snapshot.meta
        known = self.committed.get(meta.index)
        assert known is None or known.term == meta.term, f"state machine safety: {raft.id} installs {meta}"

    def sent(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if isinstance(message, VoteResponse) and message.granted and not message.pre:
                key = message.sender, message.term
                candidate = self._votes.setdefault(key, message.to)
                assert candidate == message.to, f"one vote a term: {key} went to {candidate} and {message.to}"
