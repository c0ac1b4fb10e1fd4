"""What members say to each other. Values only; the transport maps them to its wire format.

Every message has `to`, `sender` and `term`. They may be lost, repeated, delayed and reordered; they must not
be altered. `round` is a leader's count of heartbeat rounds: an answer that repeats it proves that the
follower knew this leader after the round had started, which is what leases and reads rest on.
"""

from __future__ import annotations

import msgspec

from steersman.raft.core.entries import Entry, SnapshotMeta

__all__ = [
    "AppendRequest",
    "AppendResponse",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "Message",
    "ReadRequest",
    "ReadResponse",
    "SnapshotChunk",
    "SnapshotResponse",
    "TimeoutNow",
    "VoteRequest",
    "VoteResponse",
]


class Message(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    to: int
    sender: int
    term: int


class VoteRequest(Message, frozen=True, kw_only=True):
    """Candidate → voter. With `pre`, asks whether it would be worth it; `term` is then the one to come."""

    last_index: int
    last_term: int
    pre: bool = False
    #: The leader asked for this election (`TimeoutNow`): a voter need not protect that leader.
    transfer: bool = False


class VoteResponse(Message, frozen=True, kw_only=True):
    """A granted pre-vote repeats the term asked for; all others carry the voter's."""

    granted: bool
    pre: bool = False


class AppendRequest(Message, frozen=True, kw_only=True):
    """Leader → member: `entries` follow the entry `prev_index`, `prev_term`."""

    prev_index: int
    prev_term: int
    entries: tuple[Entry, ...]
    commit: int
    round: int


class AppendResponse(Message, frozen=True, kw_only=True):
    """Member → leader: everything up to `index` is durable here; or, `rejected`, `index` does not match.

    The hint of a rejection is the last entry here that may still match. `round` 0 answers an older term.
    """

    index: int
    round: int
    rejected: bool = False
    hint_index: int = 0
    hint_term: int = 0


class HeartbeatRequest(Message, frozen=True, kw_only=True):
    """Leader → member. `commit` is never more than the member is known to have."""

    commit: int
    round: int


class HeartbeatResponse(Message, frozen=True, kw_only=True):
    round: int


class SnapshotChunk(Message, frozen=True, kw_only=True):
    """Leader → member: `data` at `offset` of a snapshot of `size` bytes."""

    meta: SnapshotMeta
    offset: int
    size: int
    data: bytes
    round: int


class SnapshotResponse(Message, frozen=True, kw_only=True):
    """Member → leader: so many bytes of the snapshot at `index` are here, in one piece from the start."""

    index: int
    received: int
    round: int


class TimeoutNow(Message, frozen=True, kw_only=True):
    """Leader → voter: campaign at once, this leader steps aside."""


class ReadRequest(Message, frozen=True, kw_only=True):
    """Member → leader: up to where must the state machine be for a read that starts now?"""

    context: int


class ReadResponse(Message, frozen=True, kw_only=True):
    context: int
    index: int
