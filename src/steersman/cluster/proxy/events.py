"""A minimal event loop (epoll) for the forwarder: file descriptors and one periodic tick.

Level-triggered. An event only says that trying is worth while: within one round a descriptor may have been
closed and its number reused, so a callback must accept that there is nothing to do.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Final

__all__ = ["IN", "OUT", "EventLoop"]

IN: Final = select.EPOLLIN
OUT: Final = select.EPOLLOUT
_MOST_AT_ONCE: Final = 256


class EventLoop:
    """The event loop."""

    def __init__(self, tick_s: float = 1.0) -> None:
        #: Descriptors that were removed since the last poll.
        self._removed: set[int] = set()
        self._epoll = select.epoll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._tick_s = tick_s
        self._ticking: list[Callable[[float], None]] = []
        self._stopped = False

    def add(self, descriptor: int, mask: int, handler: Callable[[int], None]) -> None:
        self._epoll.register(descriptor, mask)
        self._handlers[descriptor] = handler

    def modify(self, descriptor: int, mask: int) -> None:
        self._epoll.modify(descriptor, mask)

    def remove(self, descriptor: int) -> None:
        """Before it is closed."""
        if self._handlers.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)
            self._removed.add(descriptor)

    def every_tick(self, call: Callable[[float], None]) -> None:
        """Call with the monotonic time, about once a second."""
        self._ticking.append(call)

    def stop(self) -> None:
        self._stopped = True

    def run(self) -> None:
        """Until stopped."""
        handlers, removed = self._handlers, self._removed
        next_tick = time.monotonic() + self._tick_s
        while not self._stopped:
            removed.clear()
            for descriptor, mask in self._epoll.poll(max(0.0, next_tick - time.monotonic()), _MOST_AT_ONCE):
                # One that was closed in this round may have given its number to a new one.
                if descriptor not in removed and (handler := handlers.get(descriptor)) is not None:
                    handler(mask)
            now = time.monotonic()
            if now >= next_tick:
                next_tick = now + self._tick_s
                for call in self._ticking:
                    call(now)

    def close(self) -> None:
        self._epoll.close()
