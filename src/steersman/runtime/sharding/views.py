"""Who owns what. Pure: a set of members and the name of an object decide, the same in every process.

Rendezvous hashing: of all members the one whose hash together with the object's name is highest owns it.
When a member comes, objects move only to it; when one goes, only its objects move.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

__all__ = ["Members", "View", "owner"]

Members = frozenset[str]

#: How many answers are remembered; a process that looks after more objects computes some again.
_REMEMBERED = 1 << 17


@lru_cache(maxsize=_REMEMBERED)
def owner(unit: str, members: Members) -> str:
    """The member that owns `unit` if these are all there are; empty if there are none."""
    return max(members, key=lambda member: (_weight(unit, member), member), default="")


def _weight(unit: str, member: str) -> bytes:
    return blake2b(f"{member}\0{unit}".encode(), digest_size=8).digest()


@dataclass(frozen=True, slots=True)
class View:
    """What one member may work on: what all its claims give it and no claim of another does."""

    member: str
    #: Its own claims that others may know of. None: it may work on nothing.
    claims: tuple[Members, ...] = ()
    #: What the others claim. A claim that is the same as one of our own cannot be in our way.
    rivals: tuple[tuple[str, Members], ...] = ()

    def owns(self, unit: str) -> bool:
        if not self.claims:
            return False
        for claim in self.claims:
            if owner(unit, claim) != self.member:
                return False
        return all(owner(unit, claim) != rival for rival, claim in self.rivals)

    def and_also(self, other: View) -> View:
        """What both allow."""
        if not self.claims or not other.claims:
            return View(self.member)
        return View(
            self.member,
            tuple(dict.fromkeys((*self.claims, *other.claims))),
            tuple(dict.fromkeys((*self.rivals, *other.rivals))),
        )
