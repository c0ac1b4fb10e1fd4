"""The guardian process: kills what a killed keeper leaves behind.

A container's first process ends with its keeper by itself (PR_SET_PDEATHSIG), its children do not. So a
second process waits for the keeper's end. It holds the folder's lock as well, so that no other keeper starts
anything before the cleanup.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from .system_calls import set_process_name

__all__ = ["guard"]

#: What `ps` and /proc/PID/comm show.
_NAME = "keeper-guardian"
_MOST_DESCRIPTORS = 1 << 16


def guard(sweep: Callable[[], None], lock: int) -> int:
    """Have `sweep` called when this process ends, unless something is written to the descriptor returned.

    To be called before this process adopts its descendants (`become_subreaper`): the guardian is nobody's.
    """
    read, write = os.pipe()
    first = os.fork()
    if first:
        os.close(read)
        os.waitpid(first, 0)
        return write
    if os.fork():
        os._exit(0)
    try:
        set_process_name(_NAME)
        _close_all_but(2, lock, read)
        if not os.read(read, 1):
            sweep()
    finally:
        os._exit(0)


def _close_all_but(*kept: int) -> None:
    last = -1
    for descriptor in (*sorted(kept), _MOST_DESCRIPTORS):
        os.closerange(last + 1, descriptor)
        last = descriptor
