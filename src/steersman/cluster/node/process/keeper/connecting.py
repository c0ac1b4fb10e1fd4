"""Sockets of containers, connected by the keeper as the kernel would: who waits in `connect` is answered when
the connection is made or refused, or when as long as its socket says (SO_SNDTIMEO) is over.

The keeper never waits itself, and each attempt is a `connect` of the kernel's: the first begins, the next
ones say how it went and leave the socket in the state in which the program's own call would have left it.
Whether a socket waits, which its container may look at, is changed for the moment of an attempt only.

A call that is interrupted by a signal is made again by its program, so several calls may wait for one socket.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, Final

from .loop import Loop

__all__ = ["Connecting"]

#: Sockets of a container that are kept open here while it waits for them. More wait as well, and are looked
#: at when one of these is done.
_MOST_WAITING: Final = 128
#: Of those, looked at before others of the keeper have their turn.
_AT_ONCE: Final = 8
#: How soon it is noticed that nobody waits any more.
_LOOK_S: Final = 1.0
_UNDECIDED: Final = (errno.EINPROGRESS, errno.EALREADY)
#: struct timeval.
_TIMEVAL: Final = struct.Struct("@ll")


class _Waiting:
    __slots__ = ("calls", "sock", "target")

    def __init__(self, sock: socket.socket, target: Any) -> None:
        self.sock = sock
        self.target = target
        #: Calls that wait, and when they are told that it takes longer.
        self.calls: dict[int, float] = {}


class Connecting:
    """The connections of one container that are being made."""

    def __init__(
        self, loop: Loop, answer: Callable[[int, int], None], is_asked: Callable[[int], bool]
    ) -> None:  # fmt: skip
        """`answer` takes a call and its error, 0 for none; `is_asked` says whether a call still waits."""
        self._loop = loop
        self._answer = answer
        self._is_asked = is_asked
        #: By the number of the socket's inode, whichever descriptors it has.
        self._waiting: dict[int, _Waiting] = {}
        #: What begins calls again for which there was no room, by their threads: each makes one at a time.
        self._held_back: dict[int, Callable[[], None]] = {}
        self._look_due = 0.0

    def connect(
        self, call: int, thread: int, sock: socket.socket, target: Any, again: Callable[[], None]
    ) -> None:  # fmt: skip
        """Connect a socket, which is closed here afterwards, and answer the thread's call. `again` begins it
        anew, if there is no room for it now."""
        code = _attempt(sock, target)
        if code not in _UNDECIDED or _is_impatient(sock):
            sock.close()
            self._answer(call, code)
            return
        identity = os.fstat(sock.fileno()).st_ino
        waiting = self._waiting.get(identity)
        if waiting is None and len(self._waiting) >= _MOST_WAITING:
            sock.close()
            self._held_back[thread] = again
            return
        patience_s = _patience_s(sock)
        if waiting is None:
            waiting = self._waiting[identity] = _Waiting(sock, target)
            self._loop.on_writable(sock.fileno(), partial(self._decided, identity))
        else:
            sock.close()
        now = time.monotonic()
        waiting.calls[call] = now + patience_s
        self._look_within(min(patience_s, _LOOK_S), now)

    def close(self) -> None:
        """There is nobody left to answer."""
        self._held_back.clear()
        for identity in list(self._waiting):
            self._drop(identity)

    def _decided(self, identity: int) -> None:
        waiting = self._waiting[identity]
        code = _attempt(waiting.sock, waiting.target)
        if code in _UNDECIDED:
            return
        self._drop(identity)
        for call in waiting.calls:
            self._answer(call, code)
        if self._held_back:
            self._look_within(0.0, time.monotonic())

    def _drop(self, identity: int) -> None:
        waiting = self._waiting.pop(identity)
        self._loop.forget(waiting.sock.fileno())
        waiting.sock.close()

    def _look_within(self, delay_s: float, now: float) -> None:
        if not now < self._look_due <= now + delay_s:
            self._look_due = now + delay_s
            self._loop.after(delay_s, self._look)

    def _look(self) -> None:
        """See who waits no longer (killed, interrupted, out of patience), and who has room instead."""
        now = time.monotonic()
        if now < self._look_due:
            return
        for identity, waiting in list(self._waiting.items()):
            for call, until in list(waiting.calls.items()):
                if until <= now:
                    self._answer(call, errno.EINPROGRESS)
                if until <= now or not self._is_asked(call):
                    del waiting.calls[call]
            if not waiting.calls:
                self._drop(identity)
        room = min(_AT_ONCE, _MOST_WAITING - len(self._waiting))
        for thread in list(islice(self._held_back, room)):
            self._held_back.pop(thread)()
        if self._held_back and len(self._waiting) < _MOST_WAITING:
            self._look_within(0.0, now)
        elif self._waiting:
            ends = (until for waiting in self._waiting.values() for until in waiting.calls.values())
            self._look_within(min(max(min(ends) - now, 0.0), _LOOK_S), now)


def _attempt(sock: socket.socket, target: Any) -> int:
    flags = fcntl.fcntl(sock, fcntl.F_GETFL)
    if flags & os.O_NONBLOCK:
        return sock.connect_ex(target)
    fcntl.fcntl(sock, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    try:
        return sock.connect_ex(target)
    finally:
        fcntl.fcntl(sock, fcntl.F_SETFL, flags)


def _is_impatient(sock: socket.socket) -> bool:
    return bool(fcntl.fcntl(sock, fcntl.F_GETFL) & os.O_NONBLOCK)


def _patience_s(sock: socket.socket) -> float:
    """For how long a socket's `connect` waits."""
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIMEVAL.size)
    seconds, microseconds = _TIMEVAL.unpack(raw)
    return float(seconds + microseconds / 1e6) or float("inf")
