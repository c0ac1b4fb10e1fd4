"""The decision of the garbage collector for one object, from the state of its owners. Pure.

An owner's standing, as seen from one of its dependents:

| standing | the owner                                                                    |
|----------|------------------------------------------------------------------------------|
| solid    | exists                                                                       |
| waiting  | exists, is being deleted and waits for its dependents to go first            |
| absent   | does not exist                                                               |

One solid owner keeps an object; the references to the others are dropped then, so that a waiting owner does
not wait for it. Without a solid owner the object is deleted: before its own dependents, unless one of its
owners waits and so wants to see all of them go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from steersman.objects.kinds.views.metadata import LifetimeMetadata, LifetimeOwner
from steersman.runtime import Cached

__all__ = ["FOREGROUND", "ORPHAN", "GCVerdict", "Item", "Owners", "Standing", "decide", "shown_within"]

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"

Standing = Literal["solid", "waiting", "absent"]
Propagation = Literal["Foreground", "Background", "Orphan"]


class Item(LifetimeMetadata, frozen=True, gc=False):
    """The metadata of an object that decides whether it is garbage."""

    @classmethod
    def read(cls, cached: Cached) -> Item:
        return _decode(cached.data).metadata

    @classmethod
    def decode(cls, data: bytes) -> Item:
        """The same of what the API sent."""
        return _decode(data).metadata

    @property
    def deleting(self) -> bool:
        return self.deletion_timestamp is not None

    @property
    def waiting(self) -> bool:
        """Whether it is deleted after its dependents."""
        return self.deleting and FOREGROUND in self.finalizers

    @property
    def orphaning(self) -> bool:
        """Whether it is deleted when its dependents no longer refer to it."""
        return self.deleting and ORPHAN in self.finalizers

    @property
    def life(self) -> tuple[object, ...]:
        """What matters of a change."""
        return self.uid, self.deleting, self.finalizers, self.owner_references

    def blocks(self, owner_uid: str) -> bool:
        """Whether an owner that waits waits for this."""
        return any(_blocks(one) for one in self.owner_references if one.uid == owner_uid)

    def freed(self, later: Item) -> list[LifetimeOwner]:
        """The owners that need not wait for this any more, after a change."""
        still = {one.uid for one in later.owner_references if _blocks(one)}
        return [one for one in self.owner_references if _blocks(one) and one.uid not in still]


def _blocks(reference: LifetimeOwner) -> bool:
    """Whether the owner must not go before the dependent, if it waits at all."""
    return reference.block_owner_deletion is True


def shown_within(reference: LifetimeOwner, namespace: str) -> str:
    """An owner as messages show it."""
    owner = f"{reference.api_version}/{reference.kind}"
    return f"[{owner}, namespace: {namespace}, name: {reference.name}, uid: {reference.uid}]"


class _Object(msgspec.Struct):
    metadata: Item


_decode = msgspec.json.Decoder(_Object).decode


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners of an object by state: solid, waiting, absent."""

    solid: Sequence[LifetimeOwner] = ()
    waiting: Sequence[LifetimeOwner] = ()
    absent: Sequence[LifetimeOwner] = ()


@dataclass(frozen=True, slots=True)
class GCVerdict:
    """What to do with an object: delete it, or keep it without some of its owner references."""

    delete: Propagation | None = None
    #: Owners to be no longer referred to, by uid.
    release: tuple[str, ...] = ()
    #: Whether its owners shall not wait for it: they would wait for each other.
    unblock: bool = False


def decide(item: Item, owners: Owners, dependents: Sequence[Item]) -> GCVerdict:
    """What becomes of an object that has owners and is not being deleted."""
    if owners.solid:
        return GCVerdict(release=tuple(one.uid for one in (*owners.absent, *owners.waiting)))
    if owners.waiting and dependents:
        return GCVerdict(delete="Foreground", unblock=any(one.waiting for one in dependents))
    if ORPHAN in item.finalizers:
        return GCVerdict(delete="Orphan")
    return GCVerdict(delete="Foreground" if FOREGROUND in item.finalizers else "Background")
