"""A leader's view of the other members: what each has, and what to send it next.

Sends nothing by itself: `flush` puts into the member's outbox whatever may go now. Because that happens once
a Ready, all proposals made since the last one travel together.
"""

from __future__ import annotations

from collections.abc import Mapping

from steersman.raft.core.entries import Entry, size_of
from steersman.raft.core.errors import ContractBroken
from steersman.raft.core.member import Member
from steersman.raft.core.messages import (
    AppendRequest,
    AppendResponse,
    HeartbeatRequest,
    SnapshotChunk,
    SnapshotResponse,
)
from steersman.raft.core.progress import Progress, ProgressState
from steersman.raft.core.rounds import Rounds

__all__ = ["Replication"]


class Replication:
    __slots__ = ("_member", "_rounds", "peers", "progress")

    def __init__(self, member: Member, rounds: Rounds) -> None:
        self._member = member
        self._rounds = rounds
        #: Everybody who receives the log, the leader included; while a change is pending, and for a moment
        #: after, also those it removes, so that they learn of it.
        self.progress: dict[int, Progress] = {}
        #: The same without the leader.
        self.peers: list[tuple[int, Progress]] = []

    def reconcile(self) -> None:
        """Follow the membership; who stays keeps its progress."""
        member = self._member
        receivers = member.configuration.members | {member.id}
        if member.membership.index > member.log.commit:
            receivers |= member.membership.before().members
        next_index = member.log.last + 1
        self.progress = {
            receiver: self.progress.get(receiver) or Progress(next_index) for receiver in sorted(receivers)
        }
        self.peers = [(id_, progress) for id_, progress in self.progress.items() if id_ != member.id]

    def matches(self) -> Mapping[int, int]:
        return {id_: progress.match for id_, progress in self.progress.items()}

    def acked_at(self) -> Mapping[int, float]:
        return {id_: progress.acked_at for id_, progress in self.progress.items()}

    def acked_rounds(self) -> Mapping[int, int]:
        return {id_: progress.acked_round for id_, progress in self.progress.items()}

    # Sending

    def heartbeat(self) -> None:
        """To everybody, at the start of a round."""
        member = self._member
        commit = member.log.commit
        for id_, progress in self.peers:
            member.messages.append(
                HeartbeatRequest(
                    to=id_,
                    sender=member.id,
                    term=member.term,
                    commit=min(commit, progress.match),
                    round=self._rounds.current,
                )
            )

    def flush(self) -> None:
        """Send what there is to send."""
        last = self._member.log.last
        for id_, progress in self.peers:
            if progress.state is ProgressState.REPLICATE:
                self._stream(id_, progress, last)
            elif progress.waiting:
                continue
            elif progress.state is ProgressState.PROBE:
                progress.waiting = True
                self._send_entries(id_, progress)
            else:
                progress.waiting = True
                self._send_chunk(id_, progress)

    def _stream(self, id_: int, progress: Progress, last: int) -> None:
        config = self._member.config
        while (
            progress.next <= last
            and progress.state is ProgressState.REPLICATE
            and len(progress.inflight) < config.max_inflight_messages
            and progress.inflight_bytes < config.max_inflight_bytes
        ):
            self._send_entries(id_, progress)

    def _send_entries(self, id_: int, progress: Progress) -> None:
        member = self._member
        log = member.log
        previous = progress.next - 1
        if previous < log.first - 1:
            self._begin_snapshot(id_, progress)
            return
        entries = (
            tuple(log.entries(progress.next, log.last + 1, member.config.max_append_bytes))
            if progress.next <= log.last
            else ()
        )
        self._append(id_, previous, entries)
        if entries and progress.state is ProgressState.REPLICATE:
            progress.sent(entries[-1].index, size_of(entries))

    def _append(self, id_: int, previous: int, entries: tuple[Entry, ...]) -> None:
        member = self._member
        member.messages.append(
            AppendRequest(
                to=id_,
                sender=member.id,
                term=member.term,
                prev_index=previous,
                prev_term=member.log.term(previous),
                entries=entries,
                commit=member.log.commit,
                round=self._rounds.current,
            )
        )

    def _begin_snapshot(self, id_: int, progress: Progress) -> None:
        if progress.acked_round == 0:
            # Silent so far; a heartbeat's answer brings it back here.
            progress.become_probe()
            progress.waiting = True
            return
        progress.become_snapshot(self._member.storage.snapshot())
        progress.waiting = True
        self._send_chunk(id_, progress)

    def _send_chunk(self, id_: int, progress: Progress) -> None:
        member = self._member
        snapshot = progress.snapshot
        assert snapshot is not None
        member.messages.append(
            SnapshotChunk(
                to=id_,
                sender=member.id,
                term=member.term,
                meta=snapshot.meta,
                offset=progress.offset,
                size=snapshot.size,
                data=snapshot.read(progress.offset, member.config.snapshot_chunk_bytes),
                round=self._rounds.current,
            )
        )

    # Answers

    def accepted(self, progress: Progress, index: int) -> bool:
        """Everything up to `index` is durable there; whether that is news."""
        if index > self._member.log.last:
            raise ContractBroken(
                f"entry {index} is acknowledged, but the log ends at {self._member.log.last}"
            )
        news = progress.accepted(index)
        if progress.state is ProgressState.PROBE and index >= progress.match:
            progress.become_replicate()
        elif progress.state is ProgressState.SNAPSHOT:
            assert progress.snapshot is not None
            if progress.match >= progress.snapshot.meta.index:
                progress.become_replicate()
        return news

    def rejected(self, progress: Progress, response: AppendResponse) -> None:
        """Go back to where both logs may agree: the answer's hint, or what this log has before its term."""
        may_match, _ = self._member.log.hint(response.hint_index, response.hint_term)
        progress.rejected(response.index, may_match)

    def received(self, progress: Progress, response: SnapshotResponse) -> None:
        """A part of the snapshot is there; an answer that is no news leaves the repeating to heartbeats."""
        snapshot = progress.snapshot
        if snapshot is None or snapshot.meta.index != response.index or response.received == progress.offset:
            return
        progress.offset = response.received
        progress.waiting = False

    def doubt(self) -> None:
        """A heartbeat is due, and answers that are missing by now are late."""
        for _, progress in self.peers:
            progress.doubtful = progress.waiting or bool(progress.inflight)

    def alive(self, id_: int, progress: Progress) -> None:
        """It answered a heartbeat, and therefore hears: what is in doubt is sent again, once."""
        if not progress.doubtful:
            return
        progress.doubtful = False
        progress.waiting = False
        if progress.state is ProgressState.REPLICATE and progress.inflight:
            # If something is missing there, this will be rejected, and sending starts again from `match`.
            self._append(id_, progress.next - 1, ())
