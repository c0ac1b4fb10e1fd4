"""Who makes a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["ANONYMOUS", "AUTHENTICATED_GROUP", "MASTERS_GROUP", "User"]

AUTHENTICATED_GROUP = "system:authenticated"
#: Members may do everything, whatever the authorizer's rules say.
MASTERS_GROUP = "system:masters"


@dataclass(frozen=True, slots=True)
class User:
    name: str
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


ANONYMOUS = User("system:anonymous", groups=("system:unauthenticated",))
