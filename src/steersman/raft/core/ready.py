"""What the core wants done, in one bundle (`Raft.ready`). The package doc lists the caller's duties."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from steersman.raft.core.entries import Entry, HardState, Snapshot
from steersman.raft.core.messages import Message

__all__ = ["Read", "Ready"]


class Read(msgspec.Struct, frozen=True):
    """A read that was asked for may be answered from the state machine."""

    context: int
    #: The state machine has at least this when `Ready.committed` is applied.
    index: int


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    #: Counts up by one; `Raft.persisted` names it.
    number: int
    #: To be stored, if not None.
    hard_state: HardState | None
    #: Replaces log and state machine, before `entries` are appended.
    snapshot: Snapshot | None
    #: To be stored; the first of them replaces whatever is stored from its index on.
    entries: Sequence[Entry]
    #: Whether the above must survive a crash before `persisted` is called.
    must_sync: bool
    #: To be sent at once, in this order for each receiver.
    messages: Sequence[Message]
    #: To be sent when this Ready and all before it are durable: votes and acknowledgements are promises.
    messages_after_persist: Sequence[Message]
    #: To be applied to the state machine, in order; durable here, and `snapshot` comes before them.
    committed: Sequence[Entry]
    #: To be answered when `committed` is applied.
    reads: Sequence[Read]
