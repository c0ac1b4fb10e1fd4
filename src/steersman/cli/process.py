"""What a command makes of its process: an event loop that a signal ends in order, and questions to people.

Before and after that, a signal ends the process at once (`entry`).
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import signal
import sys
from collections.abc import Coroutine
from importlib.util import find_spec
from typing import TypeVar

from steersman.aio.signals import STOPPING, Interrupted, interruptible
from steersman.cli.failure import CommandFailed

__all__ = ["confirmed", "require_cluster_packages", "run_briefly", "run_loop"]

T = TypeVar("T")

#: glibc's name for "how many heaps" (malloc.h).
_M_ARENA_MAX = -8


def run_loop(main: Coroutine[object, object, None]) -> None:
    """Run `main` to its end, as what this process is for. Raises `Interrupted`."""
    import uvloop

    _use_one_heap()
    # Objects at rest are bytes, which the collector does not look at; the many small objects that make up
    # the code and its tables are here to stay, so nothing is gained by visiting them again and again.
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(interruptible(main))


def run_briefly(main: Coroutine[object, object, T]) -> T:
    """What `main` comes to, for a command that asks something and ends. Raises `Interrupted`."""
    with asyncio.Runner() as runner:
        return runner.run(interruptible(main))


def confirmed(question: str, *, default: bool = False) -> bool:
    """Whether whoever sits at the terminal says yes. Nothing else goes on meanwhile, not even in a loop."""
    import typer

    def end(number: int, _: object) -> None:
        sys.stderr.write("\n")
        raise Interrupted(number)

    before = {number: signal.signal(number, end) for number in STOPPING}
    try:
        return typer.confirm(question, default=default, err=True)
    except typer.Abort:
        raise CommandFailed("there was no confirmation, so nothing was changed") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def require_cluster_packages() -> None:
    if find_spec("jsonschema_rs") is None:
        raise CommandFailed("a cluster needs more packages: pip install 'steersman[cluster]'")


def _use_one_heap() -> None:
    """Let all threads share one malloc heap. Values are made on the loop and freed after the store's thread
    has written them; with a heap per thread (glibc's default) the pages freed in one are not used by the
    other, and memory creeps up under churn."""
    with contextlib.suppress(OSError, AttributeError):  # not glibc: nothing to tune
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
