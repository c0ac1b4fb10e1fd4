"""What a command that stays makes of its process: an event loop, and memory set up for a long life."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from collections.abc import Coroutine
from importlib.util import find_spec

from steersman.cli.failure import CommandFailed

__all__ = ["require_cluster_packages", "run_loop"]

#: glibc's name for "how many heaps" (malloc.h).
_M_ARENA_MAX = -8


def run_loop(main: Coroutine[object, object, None]) -> None:
    """Run `main` to its end, as what this process is for."""
    import uvloop

    _use_one_heap()
    # Objects at rest are bytes, which the collector does not look at; the many small objects that make up
    # the code and its tables are here to stay, so nothing is gained by visiting them again and again.
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)
    uvloop.run(main)


def require_cluster_packages() -> None:
    if find_spec("jsonschema_rs") is None:
        raise CommandFailed("a cluster needs more packages: pip install 'steersman[cluster]'")


def _use_one_heap() -> None:
    """Let all threads share one malloc heap. Values are made on the loop and freed after the store's thread
    has written them; with a heap per thread (glibc's default) the pages freed in one are not used by the
    other, and memory creeps up under churn."""
    with contextlib.suppress(OSError, AttributeError):  # not glibc: nothing to tune
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
