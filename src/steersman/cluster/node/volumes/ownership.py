"""The owner and group of a volume's files: fsGroup and runAsUser."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from steersman.objects.kinds.types.core_v1 import Pod

__all__ = ["fs_group_of", "fs_user_of", "give_to_group", "missing_groups"]

_READ_WRITE: Final = 0o660
_READ: Final = 0o440
_SEARCH: Final = 0o110


def fs_group_of(pod: Pod) -> int | None:
    """The group that volumes have to belong to, where this process can see to it."""
    group: int | None = (pod["spec"].get("securityContext") or {}).get("fsGroup")
    return None if group is None or missing_groups((group,)) else group


def fs_user_of(pod: Pod) -> int | None:
    """Whom files belong to that are for the pod only: the user of all of its containers, if it is one."""
    spec = pod["spec"]
    own = _user(spec)
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    users = {own if (user := _user(one)) is None else user for one in containers}
    user = users.pop() if len(users) == 1 else None
    return user if os.geteuid() in (0, user) else None


def _user(whose: Mapping[str, Any]) -> int | None:
    user: int | None = (whose.get("securityContext") or {}).get("runAsUser")
    return user


def missing_groups(groups: Iterable[int]) -> list[int]:
    """Those that this process can neither give files to nor have its pods be in."""
    if os.geteuid() == 0:
        return []
    own = {os.getegid(), *os.getgroups()}
    return [group for group in groups if group not in own]


def give_to_group(folder: Path, group: int, *, readonly: bool, lazily: bool = False) -> None:
    """Change everything in the folder, and the folder last; `lazily`: only if the folder itself is not
    right."""
    if lazily and _is_right(folder, group, readonly=readonly):
        return
    for where, _, names in os.walk(folder, topdown=False):
        for name in names:
            _change(os.path.join(where, name), group, readonly=readonly)
        _change(where, group, readonly=readonly)


def _bits(*, readonly: bool, folder: bool) -> int:
    bits = _READ if readonly else _READ_WRITE
    return bits | _SEARCH | stat.S_ISGID if folder else bits


def _is_right(folder: Path, group: int, *, readonly: bool) -> bool:
    found = folder.stat()
    bits = _bits(readonly=readonly, folder=True)
    return found.st_gid == group and found.st_mode & bits == bits


def _change(path: str, group: int, *, readonly: bool) -> None:
    found = os.lstat(path)
    os.lchown(path, -1, group)
    if stat.S_ISLNK(found.st_mode):
        # The mode of a link is that of what it leads to, which has its own turn.
        return
    is_folder = stat.S_ISDIR(found.st_mode)
    os.chmod(path, stat.S_IMODE(found.st_mode) | _bits(readonly=readonly, folder=is_folder))
