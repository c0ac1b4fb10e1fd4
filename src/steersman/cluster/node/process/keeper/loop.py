"""The keeper's event loop: file descriptors, signals (children) and timers, in one thread."""

from __future__ import annotations

import heapq
import itertools
import os
import selectors
import signal
import time
import traceback
from collections.abc import Callable

__all__ = ["Loop"]

Call = Callable[[], None]


class Loop:
    """The event loop."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Call]] = []
        self._numbers = itertools.count()
        self._signals: dict[int, Call] = {}
        self._woken, self._wake = os.pipe()
        for fd in (self._woken, self._wake):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self.on_readable(self._woken, self._heard)
        self.running = True

    def on_readable(self, fd: int, call: Call) -> None:
        self._selector.register(fd, selectors.EVENT_READ, call)

    def on_writable(self, fd: int, call: Call) -> None:
        self._selector.register(fd, selectors.EVENT_WRITE, call)

    def watch(self, fd: int, call: Call, *, write: bool) -> None:
        """Change what a descriptor that is read from is waited for: to be written as well, or not."""
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if write else 0)
        self._selector.modify(fd, wanted, call)

    def forget(self, fd: int) -> None:
        """Wait for it no longer; nothing happens if nobody did."""
        try:
            self._selector.unregister(fd)
        except KeyError:
            return

    def after(self, delay_s: float, call: Call) -> None:
        heapq.heappush(self._timers, (time.monotonic() + delay_s, next(self._numbers), call))

    def on_signal(self, number: int, call: Call) -> None:
        self._signals[number] = call
        signal.signal(number, lambda *_: None)

    def run(self) -> None:
        while self.running:
            wait_s = max(self._timers[0][0] - time.monotonic(), 0) if self._timers else None
            for key, _ in self._selector.select(wait_s):
                if self._is_current(key) and not _call(key.data) and self._is_current(key):
                    # It would fail again at once, and for ever.
                    self.forget(key.fd)
            now = time.monotonic()
            while self._timers and self._timers[0][0] <= now:
                _call(heapq.heappop(self._timers)[2])

    def _is_current(self, key: selectors.SelectorKey) -> bool:
        """Whether a descriptor is still the one that became ready: an earlier call of the same round may have
        closed it, and opened another that has its number."""
        return self._selector.get_map().get(key.fd) is key

    def close(self) -> None:
        self._selector.close()
        for fd in (self._woken, self._wake):
            os.close(fd)

    def _heard(self) -> None:
        try:
            numbers = set(os.read(self._woken, 4096))
        except BlockingIOError:
            return
        for number in numbers:
            if number in self._signals:
                _call(self._signals[number])


def _call(call: Call) -> bool:
    """Whether it went well. What goes wrong is told: all containers would end with the keeper."""
    try:
        call()
    except Exception:  # noqa: BLE001 - see above
        traceback.print_exc()
        return False
    return True
