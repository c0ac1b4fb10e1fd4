"""The root file system and hostname of a container, set up between fork and exec in new namespaces.

| kind      | needs            | the container sees                                                       |
|-----------|------------------|--------------------------------------------------------------------------|
| `overlay` | root             | its image over the machine's `/`; what it writes is its own              |
| `mirror`  | user namespaces  | the machine's `/`, with mounts at their places; it writes to the machine |
| `links`   | nothing          | the machine itself; the agent's `plans` points it to its mounts          |

An image that is the root of a system stands in the place of the machine's `/`, but with `links`.

All mounts are private to the namespace and vanish with its last process. Nothing here runs in the keeper
itself, only in its children.
"""

from __future__ import annotations

import os
import re
import select
import socket
import stat
from typing import TYPE_CHECKING

from . import system_calls as sys_

if TYPE_CHECKING:
    from .messages import RootPlan

__all__ = ["KINDS", "MOUNTS", "enter", "join", "probe"]

KINDS = ("overlay", "mirror")
#: File systems with files of people, which get an upper layer; others are shown as they are.
_LAYERED = frozenset(("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "tmpfs", "ramfs", "overlay"))
#: In the paths of other pods' volumes, which are no part of the machine.
_POD_VOLUMES = "/kubernetes.io~empty-dir/"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")
_DEVICE_FOLDERS = ("pts", "shm", "mqueue")
_DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
#: Where the machine's own root is while a container's is made, and stays for `mirror`.
_OLD = "/.steersman-host"


def enter(plan: RootPlan) -> None:
    """Make the container's root and be in it. `plan` has

    `kind`, `folder` (of the container, for its upper layers), `image` (a folder or nothing), `own_root`
    (whether nothing of the machine is beneath it), `mounts` (source, path, read-only), `readonly`, `hostname`
    and `sysctls`. The keeper has refreshed `MOUNTS` before.
    """
    _own_namespace(plan["kind"])
    if plan.get("sysctls"):
        sys_.unshare(sys_.CLONE_NEWIPC)
        _set(plan["sysctls"])
    if plan.get("hostname"):
        sys_.unshare(sys_.CLONE_NEWUTS)
        socket.sethostname(plan["hostname"])
    sys_.mount("", "/", flags=sys_.MS_REC | sys_.MS_PRIVATE)
    target, image = f"{plan['folder']}/root", plan.get("image") or ""
    os.makedirs(target, exist_ok=True)
    mounts = [(os.path.realpath(source), path, readonly) for source, path, readonly in plan["mounts"]]
    own_root = bool(plan.get("own_root"))
    if plan["kind"] == "mirror":
        paths = [path for _, path, _ in mounts]
        _mirror(target, paths, os.path.realpath(image) if image else "", own_root=own_root)
    else:
        if own_root:
            _own_layer(target, plan["folder"], image)
        else:
            _overlay(target, plan["folder"], image)
        os.makedirs(target + _OLD, exist_ok=True)
    if own_root:
        _kernel_folders(target)
    _devices(f"{target}/dev")
    sys_.pivot_root(target, target + _OLD)
    os.chdir("/")
    for source, path, readonly in mounts:
        _bind(_OLD + source, path, readonly=readonly)
    if plan["kind"] == "overlay":
        sys_.unmount(_OLD, sys_.MNT_DETACH)
        os.rmdir(_OLD)
    if plan.get("readonly"):
        sys_.mount("", "/", flags=sys_.MS_REMOUNT | sys_.MS_BIND | sys_.MS_RDONLY)


def _set(sysctls: dict[str, str]) -> None:
    """Settings of the namespaces that this process is in."""
    for name, value in sysctls.items():
        with open(f"/proc/sys/{name.replace('.', '/')}", "w", encoding="utf-8") as file:
            file.write(value)


def join(pid: int) -> None:
    """Be where the container is whose first process this is."""
    kinds = {
        "user": sys_.CLONE_NEWUSER,
        "uts": sys_.CLONE_NEWUTS,
        "ipc": sys_.CLONE_NEWIPC,
        "mnt": sys_.CLONE_NEWNS,
    }
    fds = {
        kind: os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
        for name, kind in kinds.items()
        # Nobody can join where they are.
        if os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}")
    }
    for kind, fd in fds.items():
        sys_.set_namespace(fd, kind)
        os.close(fd)


def probe(folder: str, kinds: tuple[str, ...] = KINDS) -> str:
    """The first of these kinds that works on this machine, found by trying; `links` if none does."""
    MOUNTS.refresh()
    source = os.path.join(folder, "source")
    os.makedirs(source, exist_ok=True)
    for kind in kinds:
        plan: RootPlan = {
            "kind": kind,
            "folder": os.path.join(folder, kind),
            "hostname": "probe",
            "mounts": [(source, "/etc/steersman-probe/a", True)],
        }
        os.makedirs(plan["folder"], exist_ok=True)
        pid = os.fork()
        if pid == 0:
            try:
                enter(plan)
                os._exit(0 if os.path.isdir("/etc/steersman-probe/a") and os.path.isdir("/proc/self") else 1)
            except BaseException:  # noqa: BLE001 - whatever it is, this kind does not work
                os._exit(1)
        if os.waitpid(pid, 0)[1] == 0:
            return kind
    return "links"


class MountTable:
    """The mounts of this machine. The keeper reads it when it has changed; its children inherit it."""

    def __init__(self) -> None:
        self._fd = -1
        self._poll = select.poll()
        #: Mount points with their file systems and whether they can be written, outer ones first.
        self.found: list[tuple[str, str, bool]] = []

    def refresh(self) -> None:
        """Know what is mounted now. To be called in the keeper, not in a child."""
        if self._fd < 0:
            self._fd = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
            self._poll.register(self._fd, select.POLLERR | select.POLLPRI)
            self._read()
        elif self._poll.poll(0):
            self._read()

    def _read(self) -> None:
        os.lseek(self._fd, 0, os.SEEK_SET)
        text = b""
        while piece := os.read(self._fd, 1 << 16):
            text += piece
        found: dict[str, tuple[str, str, bool]] = {}
        for line in text.decode(errors="surrogateescape").splitlines():
            head, _, rest = line.partition(" - ")
            fields, (kind, _, options) = head.split(" "), rest.split(" ", 2)
            path = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4])
            if _POD_VOLUMES in path:
                continue
            writable = "ro" not in (*fields[5].split(","), *options.split(","))
            found[path] = (path, kind, writable)
        self.found = sorted(found.values())


MOUNTS = MountTable()


# --- layers


def _overlay(target: str, folder: str, image: str) -> None:
    """The image over the machine's root, and every other file system of it that has files of people."""
    machine = "/"
    if image:
        # Layers must not contain each other, and the machine's root contains everything, unless it is shown
        # by a layer of its own.
        machine = f"{folder}/machine"
        os.makedirs(machine, exist_ok=True)
        _layer(machine, ["/"], f"{machine}.upper", f"{machine}.work")
    _layer(target, [image, machine] if image else [machine], f"{folder}/upper", f"{folder}/work")
    shown: list[str] = ["/dev"]
    for number, (path, kind, writable) in enumerate(MOUNTS.found):
        if path == "/" or any(path == one or path.startswith(f"{one}/") for one in shown):
            continue
        if not os.path.isdir(target + path):
            continue
        if kind in _LAYERED and writable:
            try:
                _layer(target + path, [path], f"{folder}/upper.{number}", f"{folder}/work.{number}")
                continue
            except OSError:
                pass
        sys_.mount(path, target + path, flags=sys_.MS_BIND | sys_.MS_REC)
        shown.append(path)


def _own_layer(target: str, folder: str, image: str) -> None:
    """The image alone. Whatever folder it was unpacked to, anybody may look into `/`."""
    _layer(target, [image], f"{folder}/upper", f"{folder}/work")
    os.chmod(target, 0o755)  # noqa: S103 - as the root of any system


def _layer(target: str, lower: list[str], upper: str, work: str) -> None:
    for made in (upper, work):
        os.makedirs(made, exist_ok=True)
    # The top of the upper layer is what the container sees of the lowest: its owner and mode.
    top = os.stat(lower[-1])
    os.chown(upper, top.st_uid, top.st_gid)
    os.chmod(upper, stat.S_IMODE(top.st_mode))
    layers = ":".join(_escaped(one) for one in lower)
    options = f"lowerdir={layers},upperdir={_escaped(upper)},workdir={_escaped(work)}"
    sys_.mount("overlay", target, "overlay", data=options)


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


# --- a mirror


def _own_namespace(kind: str) -> None:
    """A mount namespace, within a user namespace where that is needed: one in which this user may mount, and
    is still itself."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        sys_.unshare(sys_.CLONE_NEWNS)
        return
    except PermissionError:
        if kind != "mirror":
            raise
    sys_.unshare(sys_.CLONE_NEWUSER | sys_.CLONE_NEWNS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def _mirror(target: str, paths: list[str], image: str, *, own_root: bool) -> None:
    """The image and, unless that is a root of its own, the machine's root, in a fresh file system where there
    has to be something else at `paths`."""
    sys_.mount("tmpfs", target, "tmpfs", data="mode=755")
    # Folders that get something of their own, and those that lead to them.
    made: set[str] = {"/", "/dev"}
    for path in paths:
        while (path := os.path.dirname(path)) not in made:
            made.add(path)
    for parent, names, _ in os.walk(image) if image and not own_root else ():
        # Folders that only one of both has are shown whole.
        folder = parent[len(image) :] or "/"
        names[:] = [name for name in names if os.path.isdir(os.path.join(folder, name))]
        made.update(os.path.join(folder, name) for name in names)
    for folder in sorted(made - {"/dev"}):
        os.makedirs(target + folder, exist_ok=True)
        if image:
            _show(target, folder, image, made, whole=own_root)
        if not own_root:
            _show(target, folder, "", made, whole=True)
    os.makedirs(target + _OLD, exist_ok=True)


def _show(target: str, folder: str, origin: str, made: set[str], *, whole: bool) -> None:
    """What the machine, or an image, has in a folder, where nothing is yet. With `whole`, folders of its root
    are those themselves, not links to them."""
    try:
        entries = list(os.scandir(origin + folder))
    except OSError:
        return
    for entry in entries:
        path = os.path.join(folder, entry.name)
        place = target + path
        if os.path.lexists(place):
            continue
        if path in made:
            os.makedirs(place)
        elif entry.is_symlink():
            os.symlink(os.readlink(entry.path), place)
        elif entry.is_dir() and folder == "/" and whole:
            os.makedirs(place)
            sys_.mount(entry.path, place, flags=sys_.MS_BIND | sys_.MS_REC)
        else:
            os.symlink(_OLD + entry.path, place)


# --- devices and mounts


def _kernel_folders(target: str) -> None:
    """What the kernel shows, in a root that is not the machine's."""
    for name in ("proc", "sys"):
        os.makedirs(f"{target}/{name}", exist_ok=True)
        sys_.mount(f"/{name}", f"{target}/{name}", flags=sys_.MS_BIND | sys_.MS_REC)


def _devices(target: str) -> None:
    """A /dev of its own with the machine's harmless devices, so that files can be put there."""
    os.makedirs(target, exist_ok=True)
    sys_.mount("tmpfs", target, "tmpfs", sys_.MS_NOSUID, "mode=755,size=65536k")
    for name in _DEVICES:
        if os.path.exists(f"/dev/{name}"):
            os.close(os.open(f"{target}/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
            sys_.mount(f"/dev/{name}", f"{target}/{name}", flags=sys_.MS_BIND)
    for name in _DEVICE_FOLDERS:
        if os.path.isdir(f"/dev/{name}"):
            os.mkdir(f"{target}/{name}")
            sys_.mount(f"/dev/{name}", f"{target}/{name}", flags=sys_.MS_BIND | sys_.MS_REC)
    for name, pointed in _DEVICE_LINKS.items():
        os.symlink(pointed, f"{target}/{name}")


def _bind(source: str, path: str, *, readonly: bool) -> None:
    """Show a file or folder at a path of the container."""
    if os.path.islink(path) and not os.path.exists(path):
        os.unlink(path)
    if os.path.isdir(source):
        os.makedirs(path, exist_ok=True)
    elif not os.path.exists(path):
        os.makedirs(os.path.dirname(path) or "/", exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    sys_.mount(source, path, flags=sys_.MS_BIND | sys_.MS_REC)
    if readonly:
        # A remount may not drop what the file system is mounted with already.
        kept = os.statvfs(path).f_flag & (sys_.MS_NOSUID | sys_.MS_NODEV | sys_.MS_NOEXEC)
        sys_.mount("", path, flags=sys_.MS_REMOUNT | sys_.MS_BIND | sys_.MS_RDONLY | kept)
