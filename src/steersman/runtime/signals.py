"""SIGTERM and SIGINT for a program: the first ends it gracefully, the second at once.

For the top of a program (`Operator.run`, `steer run`); nothing below installs signal handlers.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["stopping_on_signals"]

_log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stopping_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Inside, the first signal calls `stop`; a second one ends the process without further ado."""
    loop = asyncio.get_running_loop()
    asked = False

    def received(number: signal.Signals) -> None:
        nonlocal asked
        if asked:
            os._exit(128 + number)
        asked = True
        _log.info("%s: stopping; once more ends at once", number.name)
        stop()

    for number in _SIGNALS:
        loop.add_signal_handler(number, received, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
