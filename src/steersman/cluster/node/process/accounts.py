"""Users and groups by name and number: those of this machine, or those of an image's passwd and group
files.
"""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

__all__ = ["Accounts", "ImageAccounts", "MachineAccounts", "UserAccount"]

_USERS: Final = "etc/passwd"
_GROUPS: Final = "etc/group"


class UserAccount(NamedTuple):
    """A user: name, uid, gid and home directory."""

    name: str
    uid: int
    gid: int
    home: str


class Accounts(Protocol):
    """Looks up users and groups."""

    def user(self, who: str | int) -> UserAccount | None:
        """By name or by number."""
        ...

    def group(self, name: str) -> int | None: ...

    def groups(self, account: UserAccount, gid: int) -> list[int]:
        """All that the user is in, the first of them `gid`."""
        ...


class MachineAccounts:
    """The users and groups of this machine."""

    def user(self, who: str | int) -> UserAccount | None:
        try:
            found = pwd.getpwnam(who) if isinstance(who, str) else pwd.getpwuid(who)
        except KeyError:
            return None
        return UserAccount(found.pw_name, found.pw_uid, found.pw_gid, found.pw_dir)

    def group(self, name: str) -> int | None:
        try:
            return grp.getgrnam(name).gr_gid
        except KeyError:
            return None

    def groups(self, account: UserAccount, gid: int) -> list[int]:
        return os.getgrouplist(account.name, gid)


class ImageAccounts:
    """The passwd and group files in an image's folder; malformed lines are skipped."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    @property
    def exist(self) -> bool:
        return (self._folder / _USERS).is_file()

    def user(self, who: str | int) -> UserAccount | None:
        for name, _, uid, gid, _, home, *_ in self._lines(_USERS, 7):
            if uid.isdecimal() and gid.isdecimal() and who in (name, int(uid)):
                return UserAccount(name, int(uid), int(gid), home)
        return None

    def group(self, name: str) -> int | None:
        return next((gid for known, gid, _ in self._groups() if known == name), None)

    def groups(self, account: UserAccount, gid: int) -> list[int]:
        return [gid, *(other for _, other, members in self._groups() if account.name in members)]

    def _groups(self) -> Iterator[tuple[str, int, list[str]]]:
        for name, _, gid, members, *_ in self._lines(_GROUPS, 4):
            if gid.isdecimal():
                yield name, int(gid), members.split(",")

    def _lines(self, path: str, fields: int) -> Iterator[list[str]]:
        try:
            text = (self._folder / path).read_text(errors="replace")
        except OSError:
            return
        for line in text.splitlines():
            if len(found := line.split(":")) >= fields:
                yield found
