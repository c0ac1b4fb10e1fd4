"""A leader: takes proposals, commits what a quorum has, knows until when its leadership is valid."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from steersman.raft.core.entries import Entry, EntryKind, size_of
from steersman.raft.core.errors import ChangeRefused, Overloaded, Refused, Transferring
from steersman.raft.core.member import Member, RoleKind
from steersman.raft.core.membership import Change, Configuration, enter_joint, leave_joint, simple
from steersman.raft.core.messages import (
    AppendResponse,
    HeartbeatResponse,
    Message,
    ReadRequest,
    ReadResponse,
    SnapshotResponse,
    TimeoutNow,
)
from steersman.raft.core.progress import Progress
from steersman.raft.core.quorum import agreed
from steersman.raft.core.reads import PendingRead, Reads
from steersman.raft.core.ready import Read
from steersman.raft.core.replication import Replication
from steersman.raft.core.rounds import Rounds

__all__ = ["Leader", "Transfer"]


class Transfer:
    """Leadership on its way to another member."""

    __slots__ = ("asked", "deadline", "to")

    def __init__(self, to: int, deadline: float) -> None:
        self.to = to
        self.deadline = deadline
        #: Whether `TimeoutNow` has left. From then on the other may be elected at any moment, whatever its
        #: voters promised this leader: there is no lease any more, and no way back.
        self.asked = False


class Leader:
    kind = RoleKind.LEADER

    def __init__(self, member: Member) -> None:
        self._member = member
        self.leader = member.id
        self._elected_at = member.now
        self._rounds = Rounds(keep_s=2 * member.config.election_max_s)
        self.replication = Replication(member, self._rounds)
        self._reads = Reads()
        self.transfer: Transfer | None = None
        #: Start of the newest round that a quorum of the configuration in force has answered.
        self._confirmed_at = -math.inf
        self._next_heartbeat = member.now
        #: The first entry of this term. Once it is committed, so is everything before it, and `log.commit`
        #: is the cluster's; until then neither reads nor changes of the membership are safe.
        self._term_start = member.log.last + 1
        #: Whether something is to be done when the configuration in force is committed; a new leader does
        #: not know what its predecessor has done.
        self._unsettled = True
        #: When to stop sending to those that the last change removed.
        self._dismiss_at = math.inf
        #: Index and size of own proposals that are not applied yet.
        self._pending: deque[tuple[int, int]] = deque()
        self._pending_bytes = 0
        self._handlers: dict[type[Message], Callable[[Any], None]] = {
            AppendResponse: self._append_response,
            HeartbeatResponse: self._heartbeat_response,
            SnapshotResponse: self._snapshot_response,
            ReadRequest: self._read_request,
        }

    def start(self) -> None:
        member = self._member
        member.contact_at = member.now
        self.replication.reconcile()
        self._append(EntryKind.NOOP, [b""])
        self._start_round()

    # Time

    @property
    def lease_until(self) -> float:
        if self.transfer is not None and self.transfer.asked:
            return -math.inf
        return self._confirmed_at + self._member.config.lease_s

    @property
    def _quorum_deadline(self) -> float:
        return max(self._confirmed_at, self._elected_at) + self._member.config.election_min_s

    @property
    def deadline(self) -> float:
        deadline = min(self._next_heartbeat, self._quorum_deadline)
        return min(deadline, self.transfer.deadline) if self.transfer else deadline

    def tick(self) -> None:
        member = self._member
        if member.now >= self._next_heartbeat:
            if member.now >= self._dismiss_at:
                self._dismiss_at = math.inf
                self.replication.reconcile()
            self.replication.doubt()
            self._start_round()
            if self.transfer is not None and self.transfer.asked:
                self._ask(self.transfer.to)
        if member.now >= self._quorum_deadline:
            member.become_follower(member.term, 0)
        elif self.transfer is not None and member.now >= self.transfer.deadline:
            if self.transfer.asked:
                member.become_follower(member.term, 0)
            else:
                self.transfer = None

    def _start_round(self) -> None:
        member = self._member
        self._next_heartbeat = member.now + member.config.heartbeat_s
        self._rounds.start(member.now)
        self.replication.progress[member.id].answered(self._rounds.current, member.now)
        self.replication.heartbeat()
        self._confirm()

    def _confirm(self) -> None:
        """Answers came in, or other voters count: see what a quorum has confirmed."""
        member = self._member
        halves = member.configuration.halves
        self._confirmed_at = agreed(halves, self.replication.acked_at(), -math.inf)
        member.contact_at = max(member.contact_at, self._confirmed_at)
        if self._reads.confirming:
            for read, index in self._reads.confirmed(agreed(halves, self.replication.acked_rounds(), 0)):
                self._answer(read, index)

    # Messages

    def step(self, message: Message) -> None:
        handler = self._handlers.get(type(message))
        if handler is not None:
            handler(message)

    def _heard_from(self, response: AppendResponse | HeartbeatResponse | SnapshotResponse) -> Progress | None:
        """Note what the answer proves; None if it is not a member's."""
        progress = self.replication.progress.get(response.sender)
        if progress is not None and response.round > progress.acked_round:
            started_at = self._rounds.started_at(response.round)
            if started_at is not None:
                progress.answered(response.round, started_at)
                self._confirm()
        return progress

    def _append_response(self, response: AppendResponse) -> None:
        progress = self._heard_from(response)
        if progress is None:
            return
        if response.rejected:
            self.replication.rejected(progress, response)
        elif self.replication.accepted(progress, response.index) and response.index > self._member.log.commit:
            self._advance_commit()

    def _heartbeat_response(self, response: HeartbeatResponse) -> None:
        progress = self._heard_from(response)
        if progress is not None:
            self.replication.alive(response.sender, progress)

    def _snapshot_response(self, response: SnapshotResponse) -> None:
        progress = self._heard_from(response)
        if progress is not None:
            self.replication.received(progress, response)

    def _read_request(self, request: ReadRequest) -> None:
        self._reads.waiting.append(PendingRead(request.sender, request.context))

    def persisted(self) -> None:
        """The leader's own copy counts when it is durable."""
        member = self._member
        own = self.replication.progress[member.id]
        if own.accepted(member.log.stable):
            self._advance_commit()

    def voted(self) -> None:
        """A leader has voted for itself; there is no vote left to give."""

    # Committing

    @property
    def _has_committed(self) -> bool:
        return self._member.log.commit >= self._term_start

    def _advance_commit(self) -> None:
        """Commit what a quorum has, if it is of this term: only then can no other leader overwrite it
        (Raft, section 5.4.2, figure 8)."""
        member = self._member
        index = agreed(member.configuration.halves, self.replication.matches(), 0)
        if index < self._term_start or not member.log.commit_to(index):
            return
        if self._unsettled and member.membership.index <= index:
            self._unsettled = False
            self._settle_change()

    def _settle_change(self) -> None:
        """The configuration in force is committed: see whether the next step is the leader's own."""
        member = self._member
        configuration = member.configuration
        # Who was removed hears that it is committed, and then nothing more.
        self._dismiss_at = member.now + member.config.election_max_s
        if configuration.joint:
            if configuration.auto_leave:
                self._append_change(leave_joint(configuration))
        elif not configuration.votes(member.id):
            self._leave()

    def _leave(self) -> None:
        """This leader was removed: it tells what is committed, and asks the best follower to take over."""
        member = self._member
        self.replication.flush()
        self.replication.heartbeat()
        self._ask(self._best_voter())
        member.become_follower(member.term, 0)

    # Proposals

    def propose(self, data: Sequence[bytes]) -> int:
        """Index of the first of them."""
        self._refuse_in_transfer()
        if self._pending_bytes >= self._member.config.max_pending_bytes:
            raise Overloaded(f"{self._pending_bytes} bytes are proposed and not yet applied")
        first = self._member.log.last + 1
        self._append(EntryKind.DATA, data)
        return first

    def _append(self, kind: EntryKind, data: Sequence[bytes]) -> None:
        member = self._member
        index = member.log.last
        term = member.term
        entries = [Entry(index + position, term, kind, item) for position, item in enumerate(data, start=1)]
        size = size_of(entries)
        self._pending.append((index + len(entries), size))
        self._pending_bytes += size
        member.append(entries)

    def applied(self, index: int) -> None:
        while self._pending and self._pending[0][0] <= index:
            self._pending_bytes -= self._pending.popleft()[1]

    def propose_change(self, changes: Sequence[Change], *, joint: bool, auto_leave: bool) -> int:
        """Index of the entry that brings the new configuration."""
        self._refuse_in_transfer()
        member = self._member
        if not self._has_committed:
            raise ChangeRefused("this leader has not committed anything in its term yet")
        if member.membership.index > member.log.commit:
            raise ChangeRefused(f"the change at index {member.membership.index} is not committed yet")
        before = member.configuration
        if before.joint and not changes:
            after = leave_joint(before)
        elif joint:
            after = enter_joint(before, changes, auto_leave=auto_leave)
        else:
            after = simple(before, changes)
        self._check_change(before, after)
        self._append_change(after)
        return member.log.last

    def _check_change(self, before: Configuration, after: Configuration) -> None:
        """New voters must be able to help at once, and those that answer must suffice."""
        member = self._member
        recent = member.now - member.config.election_min_s
        for voter in sorted(after.voters - before.voters - before.outgoing):
            if voter not in before.learners:
                raise ChangeRefused(f"member {voter} must be a learner before it becomes a voter")
            behind = member.log.last - self.replication.progress[voter].match
            if behind > member.config.promotion_lag:
                raise ChangeRefused(f"learner {voter} is {behind} entries behind")
        if agreed(after.halves, self.replication.acked_at(), -math.inf) <= recent:
            raise ChangeRefused("the voters that answer would not be a majority")

    def _append_change(self, configuration: Configuration) -> None:
        """In force at once, here as everywhere."""
        self._append(EntryKind.CHANGE, [configuration.encode()])
        self._unsettled = True
        self._dismiss_at = math.inf
        self.replication.reconcile()
        self._confirm()

    # Reads

    def read(self, context: int, *, lease: bool) -> None:
        read = PendingRead(self._member.id, context)
        if lease and self._has_committed and self._member.now < self.lease_until:
            self._answer(read, self._member.log.commit)
        else:
            self._reads.waiting.append(read)

    def _answer(self, read: PendingRead, index: int) -> None:
        member = self._member
        if read.requester == member.id:
            member.reads.append(Read(read.context, index))
            return
        member.messages.append(
            ReadResponse(
                to=read.requester, sender=member.id, term=member.term, context=read.context, index=index
            )
        )

    # Handing over

    def hand_over(self, to: int) -> None:
        member = self._member
        self._refuse_in_transfer()
        to = to or self._best_voter()
        if to == member.id or to not in member.configuration.voters:
            raise Refused(f"member {to} cannot take over: it is not another voter")
        self.transfer = Transfer(to, member.now + member.config.election_max_s)

    def _refuse_in_transfer(self) -> None:
        if self.transfer is not None:
            raise Transferring(f"leadership is being handed to member {self.transfer.to}")

    def _best_voter(self) -> int:
        """The other voter with the longest log, 0 if there is none."""
        voters = [
            (progress.match, -id_)
            for id_, progress in self.replication.peers
            if id_ in self._member.configuration.voters
        ]
        return -max(voters)[1] if voters else 0

    def _ask(self, to: int) -> None:
        if to:
            member = self._member
            member.messages.append(TimeoutNow(to=to, sender=member.id, term=member.term))

    # Output

    def flush(self) -> None:
        """Right before a Ready: put out what has gathered."""
        if self._reads.waiting and self._has_committed:
            self._start_round()
            self._reads.bind(self._rounds.current, self._member.log.commit)
            self._confirm()
        self.replication.flush()
        transfer = self.transfer
        if transfer is not None and not transfer.asked:
            progress = self.replication.progress.get(transfer.to)
            if progress is not None and progress.match == self._member.log.last:
                transfer.asked = True
                self._ask(transfer.to)
