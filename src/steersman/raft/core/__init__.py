"""Raft without I/O: decides, and leaves all doing to its caller.

`Raft` is one member of a cluster. Time, randomness and messages are arguments; what it wants done comes out
of `ready()`. Semantics are those of the Raft paper and thesis with pre-vote, check-quorum, leader leases,
learners, joint consensus, ReadIndex and leadership transfer.

**The caller's duties, in order.** After every call of `step`, `tick`, `propose…`, `read_index`, `transfer`,
`persisted` or `applied` (or several of them: what comes in together goes out together), take `ready()` until
it is None, and for each Ready:

1. Send `messages`. Messages to one member keep their order if they can; they may get lost.
2. Store, as one write that happens wholly or not at all: `snapshot` (it replaces the log), then `entries`
   (the first of them replaces everything stored from its index on), and `hard_state`. With `must_sync`, make
   that durable; without, it may as well wait for the next write, or be lost in a crash. Writes of several
   Readys may be under way or joined, but become durable in order.
3. When this and all Readys before it are durable: send `messages_after_persist`, then call
   `persisted(number)`; from then on `LogReader` must show it. Later numbers include earlier ones. Every Ready
   is to be persisted, also one without anything to store.
4. Load `snapshot` into the state machine, then apply `committed` in order, then answer `reads`; call
   `applied(index)` when done, also after a snapshot. This may happen on another thread and need not wait for
   the disk: what is committed here was durable before. `Raft` itself belongs to one thread.

Beside that: call `tick(now)` at `deadline`; `now` is a monotonic clock in seconds. A member that lost what it
had stored must not come back under its id. To shorten the log: `snapshot_meta(index)`, store a snapshot with
it durably, `compact(index)`, then delete entries from the storage. Founders store `founding(voters)` before
their first start; everybody else starts empty and is added as a learner.

**What the caller may rely on.** `is_leader(now)` is true for one member at most at any moment, if clocks run
at rates that differ by less than the lease's margin; `term` is the fencing token of that leadership.
"""

from __future__ import annotations

from steersman.raft.core.config import Config
from steersman.raft.core.entries import (
    Entry,
    EntryKind,
    HardState,
    LogReader,
    Snapshot,
    SnapshotMeta,
    StoredSnapshot,
    founding,
)
from steersman.raft.core.errors import (
    ChangeRefused,
    ConfigError,
    ContractBroken,
    LogLost,
    NotLeader,
    Overloaded,
    RaftError,
    Refused,
    Transferring,
)
from steersman.raft.core.member import RoleKind
from steersman.raft.core.membership import Change, ChangeKind, Configuration
from steersman.raft.core.messages import (
    AppendRequest,
    AppendResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    Message,
    ReadRequest,
    ReadResponse,
    SnapshotChunk,
    SnapshotResponse,
    TimeoutNow,
    VoteRequest,
    VoteResponse,
)
from steersman.raft.core.progress import ProgressState
from steersman.raft.core.raft import PeerStatus, Raft, Status
from steersman.raft.core.ready import Read, Ready

__all__ = [
    "AppendRequest",
    "AppendResponse",
    "Change",
    "ChangeKind",
    "ChangeRefused",
    "Config",
    "ConfigError",
    "Configuration",
    "ContractBroken",
    "Entry",
    "EntryKind",
    "HardState",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "LogLost",
    "LogReader",
    "Message",
    "NotLeader",
    "Overloaded",
    "PeerStatus",
    "ProgressState",
    "Raft",
    "RaftError",
    "Read",
    "ReadRequest",
    "ReadResponse",
    "Ready",
    "Refused",
    "RoleKind",
    "Snapshot",
    "SnapshotChunk",
    "SnapshotMeta",
    "SnapshotResponse",
    "Status",
    "StoredSnapshot",
    "TimeoutNow",
    "Transferring",
    "VoteRequest",
    "VoteResponse",
    "founding",
]
