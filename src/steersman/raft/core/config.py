"""Settings of one member: who it is, its timing, and how much memory it may use.

All times are seconds of the caller's monotonic clock. The safety of the lease rests on one inequality,
checked here: a lease ends before any voter that granted it may vote for somebody else, even if clocks run
at rates that differ by `1 - lease_s / election_min_s`.
"""

from __future__ import annotations

from dataclasses import dataclass

from steersman.raft.core.errors import ConfigError

__all__ = ["Config"]

_KIB = 1024
_MIB = 1024 * _KIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    #: This member; 0 stands for nobody.
    id: int

    #: A leader starts a new round of heartbeats this often.
    heartbeat_s: float = 0.04
    #: A follower that hears nothing campaigns after a time drawn from here to `election_max_s`; a voter that
    #: heard from a leader refuses other candidates for this long.
    election_min_s: float = 0.2
    election_max_s: float = 0.4
    #: Leadership is valid for this long after the start of the last round that a quorum answered.
    lease_s: float = 0.16

    #: Entries in one message, at least one.
    max_append_bytes: int = 256 * _KIB
    #: Messages and bytes on their way to one peer before its answer.
    max_inflight_messages: int = 64
    max_inflight_bytes: int = 4 * _MIB
    #: Own proposals that are not applied yet; more are refused as `Overloaded`.
    max_pending_bytes: int = 16 * _MIB
    #: Committed entries given to the caller and not yet reported by `applied`.
    max_unapplied_bytes: int = 4 * _MIB
    #: Durable entries that are kept in memory, so that sending and applying rarely read the storage.
    cache_bytes: int = 2 * _MIB
    #: One piece of a snapshot on its way to a peer.
    snapshot_chunk_bytes: int = 256 * _KIB

    #: A learner at most so many entries behind may become a voter.
    promotion_lag: int = 256

    def __post_init__(self) -> None:
        if self.id <= 0:
            raise ConfigError(f"a member's id is a positive number, not {self.id}")
        if not 0 < 2 * self.heartbeat_s <= self.lease_s:
            raise ConfigError("lease_s must leave room for two heartbeats, or one late answer ends it")
        if not self.lease_s < self.election_min_s < self.election_max_s:
            raise ConfigError(
                "lease_s < election_min_s < election_max_s, or two leaders may be valid at once"
            )
        sizes = ("max_append_bytes", "max_inflight_messages", "max_inflight_bytes", "max_pending_bytes",
                 "max_unapplied_bytes", "snapshot_chunk_bytes")  # fmt: skip
        for name in sizes:
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be positive")
