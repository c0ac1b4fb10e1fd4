"""Processes of a container that left its process group, found by a mark in their environment."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

__all__ = ["MARK", "kill_all", "kill_marked", "marked"]

#: The variable that every process of a container inherits: `<node's tag>/<container>`.
MARK = "STEERSMAN_CONTAINER"
#: Whoever forks faster than it is killed may go on after so many.
_PASSES = 20


def marked(prefix: str) -> list[int]:
    """Processes of this node (`tag/`) or container (`tag/id`)."""
    wanted = f"{MARK}={prefix}".encode()
    found: list[int] = []
    own = os.getpid()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == own:
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                environ = file.read()
        except OSError:
            continue
        if wanted in environ and any(part.startswith(wanted) for part in environ.split(b"\0")):
            found.append(int(name))
    return found


def kill_marked(prefix: str) -> None:
    """Kill all of them, and what they start meanwhile."""
    kill_all(lambda: marked(prefix))


def kill_all(find: Callable[[], list[int]]) -> None:
    """Kill the processes that `find` returns, again and again, until it finds none."""
    for _ in range(_PASSES):
        found = find()
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
