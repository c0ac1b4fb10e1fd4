"""Sockets of containers, connected by the keeper as the kernel would: who waits in `connect` is answered when
the connection is made or refused, or when as long as its socket says (SO_SNDTIMEO) is over.

The keeper never waits itself, and each attempt is a `connect` of the kernel's: the first begins, the next
ones say how it went and leave the socket in the state in which the program's own call would have left it.
Whether a socket waits, which its container may look at, is changed for the moment of an attempt only.

A signal interrupts a call at any moment, and the kernel or the program makes it again: several calls may wait
for one socket, and what one was not told any more is told to the next.
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
from typing import Any, Final, NamedTuple

from .loop import Loop

__all__ = ["Call", "Connecting"]

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


#: Threads that are known to have missed their answer; they may have ended.
_MOST_UNTOLD: Final = 256


class Call(NamedTuple):
    number: int
    thread: int


class _Waiting:
    __slots__ = ("calls", "sock", "target")

    def __init__(self, sock: socket.socket, target: Any) -> None:
        self.sock = sock
        self.target = target
        #: Calls that wait, and when they are told that it takes longer.
        self.calls: dict[Call, float] = {}


class Connecting:
    """The connections of one container that are being made."""

    def __init__(
        self, loop: Loop, answer: Callable[[Call, int], bool], is_asked: Callable[[Call], bool]
    ) -> None:  # fmt: skip
        """`answer` takes a call and its error, 0 for none, and says whether it was heard; `is_asked` says
        whether a call still waits."""
        self._loop = loop
        self._answer = answer
        self._is_asked = is_asked
        #: By the number of the socket's inode, whichever descriptors it has.
        self._waiting: dict[int, _Waiting] = {}
        #: What begins calls again for which there was no room, by their threads: each makes one at a time.
        self._held_back: dict[int, Callable[[], None]] = {}
        #: By thread: of which socket it was not told what, since a signal came first.
        self._untold: dict[int, tuple[int, int]] = {}
        self._look_due = 0.0

    def connect(self, call: Call, sock: socket.socket, target: Any, again: Callable[[], None]) -> None:
        """Connect a socket, which is closed here afterwards, and answer the call. `again` begins it anew, if
        there is no room for it now."""
        code, identity = _attempt(sock, target), os.fstat(sock.fileno()).st_ino
        if code not in _UNDECIDED or _is_impatient(sock):
            sock.close()
            self._tell(call, identity, code)
            return
        waiting = self._waiting.get(identity)
        if waiting is None and len(self._waiting) >= _MOST_WAITING:
            sock.close()
            self._held_back[call.thread] = again
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
            self._tell(call, identity, code)
        if self._held_back:
            self._look_within(0.0, time.monotonic())

    def _tell(self, call: Call, identity: int, code: int) -> None:
        untold = self._untold.pop(call.thread, None)
        if untold is not None and (untold, code) in (
            ((identity, 0), errno.EISCONN),
            ((identity, errno.EINPROGRESS), errno.EALREADY),
        ):
            code = untold[1]
        if not self._answer(call, code):
            if len(self._untold) >= _MOST_UNTOLD:
                del self._untold[next(iter(self._untold))]
            self._untold[call.thread] = identity, code

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
