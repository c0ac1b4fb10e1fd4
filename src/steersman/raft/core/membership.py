"""Who belongs to the cluster, and how that may change.

A `Configuration` is a value; `simple`, `enter_joint` and `leave_joint` make the next one or refuse. The log
carries whole configurations, not changes: the latest in a member's log, committed or not, is the one in force
there (Raft thesis, section 4.1). `History` remembers where each came from, so that a truncated log takes its
configuration with it.

Two consecutive configurations always have overlapping majorities:
- simple       at most one voter is added or removed;
- joint        decisions need a majority of `voters` and one of `outgoing`, until the joint state is left.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

import msgspec

from steersman.raft.core.errors import ChangeRefused, ContractBroken

__all__ = ["Change", "ChangeKind", "Configuration", "History", "enter_joint", "leave_joint", "simple"]

_NOBODY: frozenset[int] = frozenset()


class Configuration(msgspec.Struct, frozen=True, array_like=True):
    #: Decide: a majority of them elects and commits. Empty only on a member that has not joined yet.
    voters: frozenset[int] = _NOBODY
    #: The voters before a joint change; a majority of these must agree, too. Empty unless joint.
    outgoing: frozenset[int] = _NOBODY
    #: Receive the log and have no say. Never overlaps `voters` or `outgoing`.
    learners: frozenset[int] = _NOBODY
    #: Voters of `outgoing` that become learners when the joint state is left.
    learners_next: frozenset[int] = _NOBODY
    #: Whether the leader leaves the joint state by itself as soon as entering it is committed.
    auto_leave: bool = False

    @property
    def joint(self) -> bool:
        return bool(self.outgoing)

    @property
    def halves(self) -> tuple[frozenset[int], ...]:
        """The sets of voters that must each have a majority."""
        return (self.voters, self.outgoing) if self.outgoing else (self.voters,)

    @property
    def members(self) -> frozenset[int]:
        """Everybody who receives the log."""
        return self.voters | self.outgoing | self.learners

    def votes(self, member: int) -> bool:
        return member in self.voters or member in self.outgoing

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(self, order="deterministic")

    @classmethod
    def decode(cls, data: bytes) -> Configuration:
        return msgspec.msgpack.decode(data, type=cls)


class ChangeKind(enum.Enum):
    ADD_VOTER = "add-voter"
    ADD_LEARNER = "add-learner"
    REMOVE = "remove"


class Change(msgspec.Struct, frozen=True):
    """One step of a change: make `member` a voter or a learner, whatever it is now, or remove it."""

    kind: ChangeKind
    member: int


class _Draft:
    """A configuration under change. `outgoing` stays as it is."""

    def __init__(self, before: Configuration, outgoing: frozenset[int]) -> None:
        self.voters = set(before.voters)
        self.learners = set(before.learners)
        self.learners_next = set(before.learners_next)
        self.outgoing = outgoing

    def apply(self, changes: Iterable[Change]) -> None:
        for change in changes:
            member = change.member
            if member == 0:  # nobody
                continue
            self.voters.discard(member)
            self.learners.discard(member)
            self.learners_next.discard(member)
            if change.kind is ChangeKind.ADD_VOTER:
                self.voters.add(member)
            elif change.kind is ChangeKind.ADD_LEARNER:
                # Who still votes in the other half becomes a learner only when that half is gone.
                (self.learners_next if member in self.outgoing else self.learners).add(member)
        if not self.voters:
            raise ChangeRefused("removed all voters")

    def finish(self, *, auto_leave: bool = False) -> Configuration:
        return Configuration(
            voters=frozenset(self.voters),
            outgoing=self.outgoing,
            learners=frozenset(self.learners),
            learners_next=frozenset(self.learners_next),
            auto_leave=auto_leave,
        )


def simple(before: Configuration, changes: Iterable[Change]) -> Configuration:
    """Change at most one voter, and any number of learners."""
    if before.joint:
        raise ChangeRefused("can't apply simple config change in joint config")
    draft = _Draft(before, outgoing=_NOBODY)
    draft.apply(changes)
    if len(draft.voters ^ before.voters) > 1:
        raise ChangeRefused("more than one voter changed without entering joint config")
    return draft.finish()


def enter_joint(
    before: Configuration, changes: Iterable[Change], *, auto_leave: bool = False
) -> Configuration:
    """Any change at all; decisions need both majorities until `leave_joint`."""
    if before.joint:
        raise ChangeRefused("config is already joint")
    if not before.voters:
        raise ChangeRefused("can't make a zero-voter config joint")
    draft = _Draft(before, outgoing=before.voters)
    draft.apply(changes)
    return draft.finish(auto_leave=auto_leave)


def leave_joint(before: Configuration) -> Configuration:
    if not before.joint:
        raise ChangeRefused("can't leave a non-joint config")
    return Configuration(voters=before.voters, learners=before.learners | before.learners_next)


class History:
    """The configurations of a log, each from the index of its entry on. Never empty; indices rise.

    All but the last are kept only as long as the log may be truncated before their successor, or a snapshot
    taken there: `compact` drops the others.
    """

    __slots__ = ("_steps", "current", "index")

    def __init__(self, index: int, configuration: Configuration) -> None:
        self._steps: list[tuple[int, Configuration]] = [(index, configuration)]
        #: In force now.
        self.current = configuration
        #: Where it is in the log; a change is pending while this is not committed.
        self.index = index

    def append(self, index: int, configuration: Configuration) -> None:
        if index <= self.index:
            raise ContractBroken(f"configuration at {index} follows one at {self.index}")
        self._steps.append((index, configuration))
        self._settle()

    def truncate(self, index: int) -> bool:
        """The log was cut from `index` on; whether that changed what is in force."""
        before = self.index
        while self._steps[-1][0] >= index:
            if len(self._steps) == 1:
                raise ContractBroken(f"the log was cut at {index}, inside of its snapshot")
            self._steps.pop()
        self._settle()
        return self.index != before

    def compact(self, index: int) -> None:
        """The log before `index` is gone."""
        while len(self._steps) > 1 and self._steps[1][0] <= index:
            del self._steps[0]

    def at(self, index: int) -> Configuration:
        """What was in force at `index`."""
        for start, configuration in reversed(self._steps):
            if start <= index:
                return configuration
        raise ContractBroken(f"the configuration at {index} is compacted")

    def before(self) -> Configuration:
        """What `current` replaced, or `current` if that is forgotten."""
        return self._steps[-2][1] if len(self._steps) > 1 else self.current

    def steps(self) -> Sequence[tuple[int, Configuration]]:
        return tuple(self._steps)

    def _settle(self) -> None:
        self.index, self.current = self._steps[-1]
