"""The user and groups of a container's processes: securityContext of container and pod, then the image's
user. Pure but for lookups of users and groups.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from steersman.cluster.node.errors import RuntimeFailed, StartFailed
from steersman.cluster.node.process.accounts import Accounts
from steersman.objects.fields import quote

__all__ = ["ProcessIdentity", "identity_of"]


class ProcessIdentity(NamedTuple):
    """The uid, gid and groups of a process. None: those of the node agent."""

    uid: int | None = None
    gid: int | None = None
    groups: tuple[int, ...] | None = None
    home: str = ""


def identity_of(
    container: Mapping[str, Any], pod: Mapping[str, Any], image_user: str, accounts: Accounts, *, about: str
) -> ProcessIdentity:
    """`container` and `pod` are security contexts; `about` is the pod as messages name it.

    Raises `StartFailed` when it must not run as root and would, `RuntimeFailed` when it has to run as
    somebody that this process may not become.
    """
    uid: int | None = _either(container, pod, "runAsUser")
    gid: int | None = _either(container, pod, "runAsGroup")
    if uid is None and image_user:
        uid, image_gid = _parsed(image_user, accounts)
        gid = image_gid if gid is None else gid
    if _either(container, pod, "runAsNonRoot") and (os.geteuid() if uid is None else uid) == 0:
        words = (
            "container has runAsNonRoot and image will run as root"
            if uid is None
            else "container's runAsUser breaks non-root policy"
        )
        raise StartFailed("CreateContainerConfigError", f"{words} ({about})")
    groups = [*(pod.get("supplementalGroups") or ())]
    if pod.get("fsGroup") is not None:
        groups.append(pod["fsGroup"])
    if uid is None and gid is None and not groups:
        return ProcessIdentity()
    if os.geteuid() != 0:
        return _unprivileged(uid, gid)
    entry = accounts.user(os.geteuid() if uid is None else uid)
    if gid is None:
        gid = entry.gid if entry is not None and uid is not None else 0
    if entry is not None and pod.get("supplementalGroupsPolicy") != "Strict":
        groups += accounts.groups(entry, gid)
    home = "/" if entry is None else entry.home
    return ProcessIdentity(0 if uid is None else uid, gid, tuple(dict.fromkeys((gid, *groups))), home)


def _unprivileged(uid: int | None, gid: int | None) -> ProcessIdentity:
    """Somebody who may become nobody else. Further groups give access to volumes, which are its own."""
    for wanted, own, what in ((uid, os.geteuid(), "user"), (gid, os.getegid(), "group")):
        if wanted is not None and wanted != own:
            raise RuntimeFailed(
                f"cannot run as {what} {wanted}: this node runs as {what} {own} and may not change it"
            )
    return ProcessIdentity()


def _either(container: Mapping[str, Any], pod: Mapping[str, Any], field: str) -> Any:
    own = container.get(field)
    return pod.get(field) if own is None else own


def _parsed(user: str, accounts: Accounts) -> tuple[int, int | None]:
    """Somebody's number and, if it is said, their group's."""
    name, _, group = user.partition(":")
    if name.isdecimal():
        uid = int(name)
    elif (entry := accounts.user(name)) is not None:
        uid = entry.uid
    else:
        raise RuntimeFailed(f"unable to find user {quote(name)}: no matching entries in passwd file")
    if not group:
        return uid, None
    gid = int(group) if group.isdecimal() else accounts.group(group)
    if gid is None:
        raise RuntimeFailed(f"unable to find group {quote(group)}: no matching entries in group file")
    return uid, gid
