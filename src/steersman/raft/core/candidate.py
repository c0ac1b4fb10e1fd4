"""A candidate: asks for votes, first without obligation (pre-vote), then for its new term.

The pre-vote keeps a member that was cut off from disturbing a working leader when it comes back: its term
does not rise until a majority would vote for it (Raft thesis, section 9.6).
"""

from __future__ import annotations

from steersman.raft.core.member import Member, RoleKind
from steersman.raft.core.messages import (
    AppendRequest,
    HeartbeatRequest,
    Message,
    SnapshotChunk,
    VoteRequest,
    VoteResponse,
)
from steersman.raft.core.quorum import VoteResult, tally

__all__ = ["Candidate"]


class Candidate:
    leader = 0

    def __init__(self, member: Member, *, pre: bool, transfer: bool) -> None:
        self._member = member
        self._pre = pre
        #: Whether the leader asked for this election; then voters need not protect it.
        self._transfer = transfer
        self.kind = RoleKind.PRE_CANDIDATE if pre else RoleKind.CANDIDATE
        #: When to begin anew, nobody having won.
        self.deadline = member.now + member.election_timeout()
        #: One answer a voter; the first counts.
        self._votes: dict[int, bool] = {}

    def start(self) -> None:
        member = self._member
        # A request tells the log's end. Should this member crash and come back with less, a vote for the
        # longer log must not elect it: the request leaves when all is durable. A pre-vote elects nobody.
        outbox = member.messages if self._pre else member.messages_after_persist
        voters = frozenset().union(*member.configuration.halves)
        for voter in sorted(voters - {member.id}):
            outbox.append(
                VoteRequest(
                    to=voter, sender=member.id, term=member.term + self._pre, last_index=member.log.last,
                    last_term=member.log.last_term, pre=self._pre, transfer=self._transfer,
                )
            )  # fmt: skip
        if self._pre:
            self._count(member.id, granted=True)

    def step(self, message: Message) -> None:
        if isinstance(message, VoteResponse):
            # A pre-vote for a term that has come since says nothing about the next.
            stale = self._pre and message.granted and message.term != self._member.term + 1
            if message.pre == self._pre and not stale:
                self._count(message.sender, granted=message.granted)
        elif isinstance(message, AppendRequest | HeartbeatRequest | SnapshotChunk):
            self._member.become_follower(message.term, message.sender)
            self._member.role.step(message)

    def tick(self) -> None:
        member = self._member
        if member.now < self.deadline:
            return
        if member.may_campaign:
            member.become_candidate(pre=True)
        else:
            member.become_follower(member.term, 0)

    def persisted(self) -> None:
        """The own vote counts when it would be remembered."""
        member = self._member
        if not self._pre and (member.durable.term, member.durable.vote) == (member.term, member.id):
            self._count(member.id, granted=True)

    def voted(self) -> None:
        """A candidate has voted for itself; there is no vote left to give."""

    def _count(self, voter: int, *, granted: bool) -> None:
        member = self._member
        self._votes.setdefault(voter, granted)
        result = tally(member.configuration.halves, self._votes)
        if result is VoteResult.LOST:
            member.become_follower(member.term, 0)
        elif result is VoteResult.WON and self._pre:
            member.become_candidate(pre=False, transfer=self._transfer)
        elif result is VoteResult.WON:
            member.become_leader()
