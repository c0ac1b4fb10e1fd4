"""What is said of any lock in a store: where the store is, the lock's name, its timing, its password.

Passwords come with the URL, from a file or from the environment; they are never part of a repr.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from steersman.election.errors import ElectionConfigError
from steersman.election.lock.contest import LockSettings

__all__ = ["LockDeclaration"]


@dataclass(frozen=True, slots=True)
class LockDeclaration:
    url: str = field(repr=False)
    name: str
    identity: str | None = None
    """Who this contender is; without one, a name is made that no other process has."""
    settings: LockSettings = field(default_factory=LockSettings)
    password: Callable[[], str] | None = field(default=None, repr=False)
    """Asked for every new connection; without it, the URL's password counts."""

    def timing(self, *, duration_s: float, renew_deadline_s: float, retry_period_s: float) -> Self:
        """The same lock with other times. All contenders should have the same."""
        return replace(self, settings=LockSettings(duration_s, renew_deadline_s, retry_period_s))

    def password_file(self, path: str | Path) -> Self:
        """The password is what is in this file, read for every new connection."""
        return replace(self, password=lambda: Path(path).read_text(encoding="utf-8").strip())

    def password_env(self, variable: str) -> Self:
        """The password is the value of this environment variable."""
        if variable not in os.environ:
            raise ElectionConfigError(f"the environment variable {variable} is not set")
        return replace(self, password=lambda: os.environ[variable])
