"""The main program of the keeper: daemonizes, locks its folder, serves, and cleans up.

Its first process exits when the keeper accepts connections: with 0, or with `TAKEN` if another keeper has the
folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import shutil
import signal
import socket
import sys
import time

from . import cgroups, roots
from .guardian import guard
from .protocol import LOCK, SOCKET
from .server import Keeper
from .stragglers import kill_marked
from .system_calls import become_subreaper

__all__ = ["TAKEN", "main"]

TAKEN = 3
_LOCK_TRIES = 500
_LOCK_S = 0.02
_REMOVE_TRIES = 100
_REMOVE_S = 0.02


def main() -> None:
    """`sys.argv`: the node's folder, its tag, for how many seconds to go on without an agent, how far to
    isolate containers (`best`, `mirror`, `none`)."""
    _, folder, tag, alone_s, isolation = sys.argv
    os.umask(0o077)
    lock = _lock(folder)
    read, write = os.pipe()
    if os.fork():
        os.close(write)
        # The exit status is all that is left to do here.
        os._exit(0 if os.read(read, 1) else 1)
    os.close(read)
    os.setsid()
    os.chdir("/")
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    guardian = guard(lambda: _remove(_swept(tag, isolation)), lock)
    become_subreaper()
    groups = _swept(tag, isolation)
    kinds = {"best": roots.KINDS, "mirror": ("mirror",)}.get(isolation, ())
    keeper = Keeper(folder, _listen(folder), _probe(folder, kinds), groups, float(alone_s))
    gc.collect()
    gc.freeze()
    os.write(write, b"+")
    os.close(write)
    keeper.run()
    kill_marked(f"{tag}/")
    _remove(groups)
    with contextlib.suppress(OSError):
        os.unlink(f"{folder}/{SOCKET}")
    with contextlib.suppress(OSError):
        os.write(guardian, b"+")


def _lock(folder: str) -> int:
    """Have the folder, or end. After a keeper was killed its guardian has the folder for a moment."""
    lock = os.open(f"{folder}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if _answers(folder):
                break
            time.sleep(_LOCK_S)
        else:
            return lock
    sys.exit(TAKEN)


def _answers(folder: str) -> bool:
    """Whether a keeper can be talked to."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            return sock.connect_ex(f"/proc/self/fd/{at}/{SOCKET}") == 0
    finally:
        os.close(at)


def _swept(tag: str, isolation: str) -> cgroups.NodeGroups | None:
    """The node's groups, if it can have some, with nothing left of an earlier keeper."""
    kill_marked(f"{tag}/")
    groups = cgroups.groups_of_node(tag) if isolation == "best" else None
    if groups is not None:
        groups.clear()
    return groups


def _remove(groups: cgroups.NodeGroups | None) -> None:
    """Killed processes take a moment to leave their groups."""
    for _ in range(_REMOVE_TRIES):
        if groups is None or groups.close():
            return
        time.sleep(_REMOVE_S)


def _listen(folder: str) -> socket.socket:
    """The socket in the folder, by a path that is short enough however deep the folder is."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{folder}/{SOCKET}")
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{at}/{SOCKET}")
    finally:
        os.close(at)
    os.chmod(f"{folder}/{SOCKET}", 0o600)
    listener.listen(8)
    return listener


def _probe(folder: str, kinds: tuple[str, ...]) -> str:
    scratch = f"{folder}/probe-{os.getpid()}"
    try:
        return roots.probe(scratch, kinds)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
