"""One TCP connection forwarded to a backend.

    connecting ──connected──▶ open ──both directions ended──▶ closed
        │ refused, too late: the next backend                    ▲
        └──no backend is left──▶ reset ──────────────────────────┘

Bytes never come into this process: they are spliced through a pipe, which a direction holds only while it has
bytes that the receiver does not take yet. Meanwhile nothing more is read from the sender, so that a slow
receiver slows its sender down. The end of each direction is passed on by itself, a reset as a reset.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from fcntl import F_SETPIPE_SZ, fcntl
from typing import Final, NamedTuple

from steersman.cluster.proxy.balancing import Balancer
from steersman.cluster.proxy.events import IN, OUT, EventLoop
from steersman.cluster.proxy.frontends import Backend

__all__ = ["Pipes", "Relay"]

#: How long a backend may take to accept while there are others.
_CONNECT_S: Final = 5.0
#: Of one stream on two CPUs, 0.53 of a direct connection's bytes went through pipes of 64 KiB (what they hold
#: unless told otherwise), 0.60 through 128 KiB, 0.65 to 0.81 through 256 KiB, about 0.7 through more.
_CHUNK: Final = 1 << 18
#: Chunks carried in one direction before others have their turn.
_TURNS: Final = 4
#: A user without privileges may have 64 MiB of them, on all of a machine.
_WIDE_PIPES: Final = 64
_FLAGS: Final = os.SPLICE_F_NONBLOCK | os.SPLICE_F_MOVE
_RESET: Final = struct.pack("ii", 1, 0)


class Pipe(NamedTuple):
    """The two ends of a kernel pipe."""

    reader: int
    writer: int
    is_wide: bool


class Pipes:
    """A pool of large, empty kernel pipes."""

    def __init__(self) -> None:
        self._spare: list[Pipe] = []
        self._wide = 0

    def take(self) -> Pipe:
        if self._spare:
            return self._spare.pop()
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        is_wide = self._wide < _WIDE_PIPES
        if is_wide:
            self._wide += 1
            with suppress(OSError):  # others of this user have all the room there is: it works as it is
                fcntl(writer, F_SETPIPE_SZ, _CHUNK)
        return Pipe(reader, writer, is_wide)

    def give(self, pipe: Pipe) -> None:
        """Only if it is empty."""
        if pipe.is_wide:
            self._spare.append(pipe)
        else:
            self.discard(pipe)

    def discard(self, pipe: Pipe) -> None:
        """Whatever is in it."""
        os.close(pipe.reader)
        os.close(pipe.writer)
        self._wide -= pipe.is_wide

    def close(self) -> None:
        while self._spare:
            self.discard(self._spare.pop())


class _End:
    """One of the two sockets of a connection, and the data on its way to the other."""

    __slots__ = ("ended", "mask", "pending", "pipe", "sock")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.mask = 0
        self.pipe: Pipe | None = None
        #: Bytes in the pipe that the other end has not taken.
        self.pending = 0
        #: It sends nothing more, and the other end was told.
        self.ended = False


class Relay:
    """One forwarded connection."""

    __slots__ = (
        "_balancer",
        "_candidates",
        "_client",
        "_client_address",
        "_events",
        "_pipes",
        "_relays",
        "_server",
        "at",
        "backend",
        "deadline",
    )

    def __init__(
        self,
        client: socket.socket,
        at: str,
        address: str,
        balancer: Balancer,
        events: EventLoop,
        pipes: Pipes,
        relays: set[Relay],
    ) -> None:
        """`client` connected to our address `at` from `address`. `relays` has this one until it is closed."""
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client = _End(client)
        self._client_address = address
        self._server: _End | None = None
        self._balancer = balancer
        self._candidates: Iterator[Backend] = balancer.candidates(address)
        self._events = events
        self._pipes = pipes
        self._relays = relays
        self.at = at
        self.backend: Backend | None = None
        #: When connecting has taken too long; 0 if that is over.
        self.deadline = 0.0
        relays.add(self)
        self._connect_next()

    # --- connecting

    def _connect_next(self) -> None:
        self._drop_server()
        for backend in self._candidates:
            family = socket.AF_INET6 if ":" in backend.address else socket.AF_INET
            try:
                sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            except OSError:
                break  # no descriptors: another backend would need one too
            code = sock.connect_ex(backend)
            if code not in (0, errno.EINPROGRESS):
                sock.close()
                continue
            self._server = _End(sock)
            self.backend = backend
            self.deadline = time.monotonic() + _CONNECT_S
            # On one machine that is often done by now.
            if not self._is_connected(self._server):
                self._watch(self._server, OUT)
            return
        self.reset()

    def expire(self, now: float) -> None:
        """Give a backend up that does not accept."""
        if 0 < self.deadline < now:
            self._connect_next()

    def _drop_server(self) -> None:
        self.deadline = 0.0
        if self._server is not None:
            self._watch(self._server, 0)
            self._server.sock.close()
            self._server = None

    def _on_connecting(self, server: _End) -> None:
        if server.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._connect_next()
        else:
            self._is_connected(server)

    def _is_connected(self, server: _End) -> bool:
        """Whether the backend has accepted; then carrying begins."""
        try:
            server.sock.getpeername()
        except OSError:
            return False
        server.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.deadline = 0.0
        assert self.backend is not None
        self._balancer.chosen(self._client_address, self.backend)
        self._watch(server, IN)
        self._watch(self._client, IN)
        return True

    # --- carrying

    def _on_client(self, mask: int) -> None:
        if self._server is not None:
            self._on_event(self._client, self._server)

    def _on_server(self, mask: int) -> None:
        server = self._server
        if server is None:
            return
        if self.deadline:
            self._on_connecting(server)
        else:
            self._on_event(server, self._client)

    def _on_event(self, here: _End, there: _End) -> None:
        """Something can be done at one end: read from it, or write to it."""
        try:
            if there.pending:
                self._carry(there, here)
            if not here.ended and not here.pending:
                self._carry(here, there)
        except OSError:
            self.reset()
            return
        if here.ended and there.ended:
            self.close()
            return
        for end, other in ((here, there), (there, here)):
            self._watch(end, (0 if end.ended or end.pending else IN) | (OUT if other.pending else 0))

    def _carry(self, source: _End, target: _End) -> None:
        """Move what can be moved without waiting."""
        reading, writing = source.sock.fileno(), target.sock.fileno()
        count = _CHUNK
        for _ in range(_TURNS):
            pipe = source.pipe
            if pipe is None:
                pipe = source.pipe = self._pipes.take()
            if not source.pending:
                try:
                    count = os.splice(reading, pipe.writer, _CHUNK, flags=_FLAGS)
                except BlockingIOError:
                    break
                if not count:
                    source.ended = True
                    target.sock.shutdown(socket.SHUT_WR)
                    break
                source.pending = count
            try:
                source.pending -= os.splice(pipe.reader, writing, source.pending, flags=_FLAGS)
            except BlockingIOError:
                return
            if source.pending:
                return
            if count < _CHUNK:
                break
        if source.pipe is not None and not source.pending:
            self._pipes.give(source.pipe)
            source.pipe = None

    def _watch(self, end: _End, mask: int) -> None:
        if mask == end.mask:
            return
        descriptor = end.sock.fileno()
        if not mask:
            # Even then hang-ups would be told, again and again.
            self._events.remove(descriptor)
        elif not end.mask:
            handler = self._on_client if end is self._client else self._on_server
            self._events.add(descriptor, mask, handler)
        else:
            self._events.modify(descriptor, mask)
        end.mask = mask

    # --- ending

    def reset(self) -> None:
        """End both sides at once, and have them know that it was not in order."""
        for end in (self._client, self._server):
            if end is not None:
                end.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.close()

    def close(self) -> None:
        self._relays.discard(self)
        self._drop_server_pipe()
        self._drop_server()
        self._watch(self._client, 0)
        self._drop_pipe(self._client)
        self._client.sock.close()

    def _drop_server_pipe(self) -> None:
        if self._server is not None:
            self._drop_pipe(self._server)

    def _drop_pipe(self, end: _End) -> None:
        if end.pipe is not None:
            # It may have bytes in it.
            self._pipes.discard(end.pipe)
            end.pipe = None
