"""Connections of containers to low ports of services, led to where those answer.

Without root nobody may listen at a service's port 80; the proxy listens at a stand-in such as 8080 and writes
down which. Programs in pods know nothing of that: they connect to `https://kubernetes.default.svc` and
`http://web`. So the kernel hands every `connect` of such a container to the keeper (a seccomp filter with a
listener), which lets it go on as it is unless it goes to an address and port of that list; then it connects
the container's own socket to the stand-in, and says how that went.

A convenience, not a guard: where the kernel or the container does not allow it, `connect` does what it would
have done without. Datagrams of sockets that are not connected go where they are sent.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import socket
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from .loop import Loop
from .system_calls import CONNECT, descriptor_of, filter_system_calls, refuse_new_privileges

__all__ = ["Redirection", "hand_over_connects"]

#: struct seccomp_notif: id, process, then call, architecture, and the first three arguments.
_NOTICE: Final = struct.Struct("=QI4xiI8xQQQ24x")
#: struct seccomp_notif_resp: id, value, error, flags.
_ANSWER: Final = struct.Struct("=QqiI")
_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_GO_ON: Final = 1
#: A struct sockaddr_in6; one for IPv4 is shorter.
_ADDRESS_BYTES: Final = 28
_MAPPED: Final = bytes(10) + b"\xff\xff"
#: Who has a port above needs no rights for it.
_LOW_PORTS: Final = 1024
_PROTOCOLS: Final = {int(socket.SOCK_STREAM): "TCP", int(socket.SOCK_DGRAM): "UDP"}
#: Connections that wait to be made; more are told to try again.
_MOST_WAITING: Final = 256
#: As long as the kernel tries.
_GIVE_UP_S: Final = 130.0

#: struct sock_filter: code, steps to skip if true and if not, value.
_STEP: Final = struct.Struct("=HBBI")
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NOTIFY, _ALLOW = 0x7FC00000, 0x7FFF0000
_NUMBER_AT, _ARCHITECTURE_AT, _LENGTH_AT = 0, 4, 32
#: Of the address of a Unix socket as C programs give it; it is never a service's.
_UNIX_ADDRESS_BYTES: Final = 110


# --- in the container, before its program


def hand_over_connects(channel: int) -> None:
    """Have the keeper decide what this process and its children connect to. `channel` is where it reads."""
    if CONNECT is None:
        return
    architecture, number = CONNECT
    program = b"".join(
        _STEP.pack(*step)
        for step in (
            (_LOAD, 0, 0, _ARCHITECTURE_AT),
            (_IF_EQUAL, 0, 4, architecture),
            (_LOAD, 0, 0, _NUMBER_AT),
            (_IF_EQUAL, 0, 2, number),
            (_LOAD, 0, 0, _LENGTH_AT),
            (_IF_EQUAL, 0, 1, _UNIX_ADDRESS_BYTES),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _NOTIFY),
        )
    )
    try:
        try:
            listener = filter_system_calls(program)
        except PermissionError:
            # Who has no rights over a namespace of its own must promise not to get any by a program.
            refuse_new_privileges()
            listener = filter_system_calls(program)
    except OSError:
        return
    with socket.socket(fileno=os.dup(channel)) as sock:
        socket.send_fds(sock, [b"\0"], [listener])
    os.close(listener)


# --- in the keeper


class Redirection:
    """Answers for all containers of a keeper."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._lists: dict[str, _StandIns] = {}
        self._waiting = 0

    def adopt(self, channel: socket.socket, path: str) -> None:
        """Answer for a container that will send its listener by `channel`, by the list in `path`; without
        one it sends none."""
        if not path:
            channel.close()
            return
        stand_ins = self._lists.setdefault(path, _StandIns(path))

        def receive() -> None:
            self._loop.forget(channel.fileno())
            with channel:
                try:
                    _, listeners, _, _ = socket.recv_fds(channel, 1, 1)
                except OSError:
                    return
            for listener in listeners:
                self._loop.on_readable(listener, partial(self._on_notice, listener, stand_ins))

        self._loop.on_readable(channel.fileno(), receive)

    def _on_notice(self, listener: int, stand_ins: _StandIns) -> None:
        if not _asks(listener):
            # The last process of the container has ended.
            self._loop.forget(listener)
            os.close(listener)
            return
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, notice)
        except OSError as error:
            if error.errno == errno.ENOENT:  # who asked has been interrupted
                return
            raise
        call, process, _, _, fd, address, length = _NOTICE.unpack(notice)
        try:
            sock, target = _redirected(process, fd, address, length, stand_ins)
            fcntl.ioctl(listener, _IS_VALID, struct.pack("=Q", call))
        except (OSError, LookupError):
            _send(listener, call, flags=_GO_ON)
        else:
            self._connect(sock, target, lambda code: _send(listener, call, -code))

    def _connect(self, sock: socket.socket, target: Any, answer: Callable[[int], None]) -> None:
        """Connect a socket of a container without waiting, whether or not it would wait itself."""
        flags = fcntl.fcntl(sock, fcntl.F_GETFL)
        waits = not flags & os.O_NONBLOCK
        if waits:
            if self._waiting >= _MOST_WAITING:
                sock.close()
                answer(errno.EAGAIN)
                return
            fcntl.fcntl(sock, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        code = sock.connect_ex(target)

        def finish(code: int) -> None:
            with sock:
                if waits:
                    fcntl.fcntl(sock, fcntl.F_SETFL, flags)
                answer(code)

        if waits and code in (errno.EINPROGRESS, errno.EALREADY):
            self._wait(sock, finish)
        else:
            finish(code)

    def _wait(self, sock: socket.socket, finish: Callable[[int], None]) -> None:
        self._waiting += 1
        number = sock.fileno()

        def done() -> None:
            if sock.fileno() < 0:
                return
            self._waiting -= 1
            self._loop.forget(number)
            finish(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))

        def give_up() -> None:
            if sock.fileno() >= 0:
                self._waiting -= 1
                self._loop.forget(number)
                finish(errno.ETIMEDOUT)

        self._loop.on_writable(number, done)
        self._loop.after(_GIVE_UP_S, give_up)


class _StandIns:
    """A list that the proxy writes, read again when it has changed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._read: tuple[int, int] | None = None
        self._ports: dict[tuple[str, str, int], int] = {}

    def port(self, address: str, protocol: str, port: int) -> int:
        """Raises `LookupError` if the port has none, `OSError` if there is no list."""
        with open(self._path, "rb") as file:
            status = os.fstat(file.fileno())
            seen = status.st_ino, status.st_mtime_ns
            if seen != self._read:
                self._ports = _entries(file.read())
                self._read = seen
        return self._ports[address, protocol, port]


def _entries(text: bytes) -> dict[tuple[str, str, int], int]:
    """What a list says; nothing if it is none."""
    try:
        return {
            (address, protocol, int(port)): int(other)
            for address, protocols in json.loads(text).items()
            for protocol, ports in protocols.items()
            for port, other in ports.items()
            if 0 < int(other) < 1 << 16
        }
    except (ValueError, AttributeError, TypeError):
        return {}


def _redirected(
    process: int, fd: int, address: int, length: int, stand_ins: _StandIns
) -> tuple[socket.socket, Any]:
    """A process' socket, and where to connect it. Raises `LookupError` or `OSError` where it goes is its own
    matter."""
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        raw = os.pread(memory.fileno(), min(length & 0xFFFFFFFF, _ADDRESS_BYTES), address)
    host, port, is_mapped = _parsed(raw)
    if port >= _LOW_PORTS:
        raise LookupError(port)
    sock = _socket(descriptor_of(process, fd))
    try:
        if sock.family != (socket.AF_INET6 if is_mapped else socket.AF_INET):
            raise LookupError(sock.family)
        number = stand_ins.port(host, _PROTOCOLS[sock.type], port)
    except BaseException:
        sock.close()
        raise
    return sock, (f"::ffff:{host}", number) if is_mapped else (host, number)


def _socket(fd: int) -> socket.socket:
    """Of a descriptor that may be anything, and is closed if it is no socket."""
    try:
        return socket.socket(fileno=fd)
    except BaseException:
        os.close(fd)
        raise


def _parsed(raw: bytes) -> tuple[str, int, bool]:
    """Host, port, and whether it is an IPv4 address in an IPv6 one. Raises `LookupError` for all others."""
    if len(raw) >= 8:
        family, port = int.from_bytes(raw[:2], "little"), int.from_bytes(raw[2:4], "big")
        if family == socket.AF_INET:
            return socket.inet_ntoa(raw[4:8]), port, False
        if family == socket.AF_INET6 and raw[8:20] == _MAPPED and len(raw) >= 24:
            return socket.inet_ntoa(raw[20:24]), port, True
    raise LookupError("no address of a service")


def _asks(listener: int) -> bool:
    """Whether a process waits for an answer. To receive where none does may take for ever."""
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    return any(events & select.POLLIN for _, events in poll.poll(0))


def _send(listener: int, call: int, error: int = 0, flags: int = 0) -> None:
    try:
        fcntl.ioctl(listener, _SEND, _ANSWER.pack(call, 0, error, flags))
    except OSError as failure:
        # Who asked has been interrupted or killed, or the last process has ended and with it the listener.
        if failure.errno not in (errno.ENOENT, errno.EBADF, errno.EINPROGRESS):
            raise
