"""Errors of the Raft core.

    RaftError
    ├── Refused              the caller may try again, here or elsewhere; nothing was changed
    │   ├── NotLeader        ask `leader` instead (0: nobody known)
    │   ├── Overloaded       too much is proposed and not yet applied; wait for `Ready.committed`
    │   ├── Transferring     leadership is being handed over; proposals wait for the next leader
    │   └── ChangeRefused    this change of the membership would be unsafe, or not now
    ├── ConfigError          settings that would not be safe (caller's fault)
    ├── ContractBroken       the caller broke a duty listed in `steersman.raft.core` (caller's fault)
    └── LogLost              this member's log lacks what it had acknowledged: it must not go on under its id

`Refused` are ordinary; the others are terminal for this `Raft`.
"""

from __future__ import annotations

__all__ = [
    "ChangeRefused",
    "ConfigError",
    "ContractBroken",
    "LogLost",
    "NotLeader",
    "Overloaded",
    "RaftError",
    "Refused",
    "Transferring",
]


class RaftError(Exception):
    """Anything the core raises on purpose."""


class Refused(RaftError):
    """Nothing was changed; the same call may succeed later or elsewhere."""


class NotLeader(Refused):
    """Only the leader can do that."""

    def __init__(self, leader: int) -> None:
        super().__init__(f"member {leader} is the leader" if leader else "no leader is known")
        self.leader = leader


class Overloaded(Refused):
    """Proposals that are not yet applied fill the memory set aside for them."""


class Transferring(Refused):
    """The leader is handing over and takes no proposals."""


class ChangeRefused(Refused):
    """A change of the membership that is not safe, or not at this moment."""


class ConfigError(RaftError, ValueError):
    """The settings cannot be used; one sentence says why."""


class ContractBroken(RaftError):
    """The caller did something in the wrong order, or the storage answers what cannot be."""


class LogLost(RaftError):
    """The leader knows this member to hold entries that are not here: its log was truncated or lost."""
