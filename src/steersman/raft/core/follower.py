"""A follower: takes the leader's entries and snapshots, and campaigns when the leader falls silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steersman.raft.core.entries import Snapshot, SnapshotMeta
from steersman.raft.core.errors import ContractBroken
from steersman.raft.core.member import Member, RoleKind
from steersman.raft.core.messages import (
    AppendRequest,
    AppendResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    Message,
    ReadResponse,
    SnapshotChunk,
    SnapshotResponse,
    TimeoutNow,
)
from steersman.raft.core.ready import Read

__all__ = ["Follower"]


class _Assembly:
    """A snapshot that arrives in pieces."""

    __slots__ = ("data", "meta")

    def __init__(self, meta: SnapshotMeta) -> None:
        self.meta = meta
        self.data = bytearray()


class Follower:
    kind = RoleKind.FOLLOWER

    def __init__(self, member: Member, leader: int) -> None:
        self._member = member
        #: 0 until the leader of this term was heard; then it stays.
        self.leader = leader
        #: When to campaign.
        self.deadline = member.now + member.election_timeout()
        self._assembly: _Assembly | None = None
        self._handlers: dict[type[Message], Callable[[Any], None]] = {
            AppendRequest: self._append,
            HeartbeatRequest: self._heartbeat,
            SnapshotChunk: self._snapshot,
            TimeoutNow: self._timeout_now,
            ReadResponse: self._read,
        }

    def start(self) -> None:
        member = self._member
        if member.configuration.halves == (frozenset({member.id}),):
            # The only voter competes with nobody and need not draw lots; a leader that it may just have
            # removed can rely on it for as long as on any other.
            self.deadline = max(member.now, member.contact_at + member.config.election_min_s)

    def step(self, message: Message) -> None:
        handler = self._handlers.get(type(message))
        if handler is not None:
            handler(message)

    def tick(self) -> None:
        member = self._member
        if member.now < self.deadline:
            return
        if member.may_campaign:
            member.become_candidate(pre=True)
        else:
            self.deadline = member.now + member.election_timeout()

    def persisted(self) -> None:
        """Acknowledgements leave with the Ready that was persisted; there is nothing else to do."""

    def voted(self) -> None:
        self.deadline = self._member.now + self._member.election_timeout()

    def _heard_from(self, leader: int) -> None:
        if self.leader not in (0, leader):
            raise ContractBroken(f"members {self.leader} and {leader} both lead term {self._member.term}")
        member = self._member
        self.leader = leader
        member.contact_at = member.now
        self.deadline = member.now + member.election_timeout()

    def _heartbeat(self, request: HeartbeatRequest) -> None:
        member = self._member
        self._heard_from(request.sender)
        member.log.commit_to(request.commit)
        member.messages.append(
            HeartbeatResponse(to=request.sender, sender=member.id, term=member.term, round=request.round)
        )

    def _append(self, request: AppendRequest) -> None:
        member = self._member
        log = member.log
        self._heard_from(request.sender)
        if request.prev_index < log.commit:
            # Delayed: it has nothing to say about what is committed, and what follows will be sent again.
            self._acknowledge(request, log.commit)
        elif log.has(request.prev_index, request.prev_term):
            member.merge(request.entries)
            known = request.prev_index + len(request.entries)
            log.commit_to(min(request.commit, known))
            self._acknowledge(request, known)
        else:
            hint_index, hint_term = log.hint(request.prev_index, request.prev_term)
            member.messages.append(
                AppendResponse(
                    to=request.sender, sender=member.id, term=member.term, index=request.prev_index,
                    round=request.round, rejected=True, hint_index=hint_index, hint_term=hint_term,
                )
            )  # fmt: skip

    def _acknowledge(self, request: AppendRequest | SnapshotChunk, index: int) -> None:
        member = self._member
        member.messages_after_persist.append(
            AppendResponse(
                to=request.sender, sender=member.id, term=member.term, index=index, round=request.round
            )
        )

    def _snapshot(self, chunk: SnapshotChunk) -> None:
        member = self._member
        log = member.log
        meta = chunk.meta
        self._heard_from(chunk.sender)
        if meta.index <= log.commit or log.has(meta.index, meta.term):
            # The log has all that the snapshot stands for.
            log.commit_to(meta.index)
            self._assembly = None
            self._acknowledge(chunk, log.commit)
            return
        assembly = self._assembly
        if assembly is None or assembly.meta != meta:
            assembly = self._assembly = _Assembly(meta)
        if chunk.offset == len(assembly.data):
            assembly.data += chunk.data
        if len(assembly.data) < chunk.size:
            member.messages.append(
                SnapshotResponse(
                    to=chunk.sender, sender=member.id, term=member.term, index=meta.index,
                    received=len(assembly.data), round=chunk.round,
                )
            )  # fmt: skip
            return
        self._assembly = None
        member.install(Snapshot(meta, bytes(assembly.data)))
        self._acknowledge(chunk, meta.index)

    def _timeout_now(self, message: TimeoutNow) -> None:
        if self._member.may_campaign:
            self._member.become_candidate(pre=False, transfer=True)

    def _read(self, response: ReadResponse) -> None:
        self._member.reads.append(Read(response.context, response.index))
