"""Who users and groups are by name and number: as this machine knows them, or as an image's own lists say."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

__all__ = ["Account", "Accounts", "ImageAccounts", "MachineAccounts"]

_USERS: Final = "etc/passwd"
_GROUPS: Final = "etc/group"


class Account(NamedTuple):
    name: str
    uid: int
    gid: int
    home: str


class Accounts(Protocol):
    def user(self, who: str | int) -> Account | None:
        """By name or by number."""
        ...

    def group(self, name: str) -> int | None: ...

    def groups(self, account: Account, gid: int) -> list[int]:
        """All that the user is in, the first of them `gid`."""
        ...


class MachineAccounts:
    def user(self, who: str | int) -> Account | None:
        try:
            found = pwd.getpwnam(who) if isinstance(who, str) else pwd.getpwuid(who)
        except KeyError:
            return None
        return Account(found.pw_name, found.pw_uid, found.pw_gid, found.pw_dir)

    def group(self, name: str) -> int | None:
        try:
            return grp.getgrnam(name).gr_gid
        except KeyError:
            return None

    def groups(self, account: Account, gid: int) -> list[int]:
        return os.getgrouplist(account.name, gid)


class ImageAccounts:
    """The lists in an image's folder; lines that are none are passed over."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    @property
    def exist(self) -> bool:
        return (self._folder / _USERS).is_file()

    def user(self, who: str | int) -> Account | None:
        for name, _, uid, gid, _, home, *_ in self._lines(_USERS, 7):
            if uid.isdecimal() and gid.isdecimal() and who in (name, int(uid)):
                return Account(name, int(uid), int(gid), home)
        return None

    def group(self, name: str) -> int | None:
        return next((gid for known, gid, _ in self._groups() if known == name), None)

    def groups(self, account: Account, gid: int) -> list[int]:
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
