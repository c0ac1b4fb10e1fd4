"""Redirects connections of containers from low Service ports to the ports that the proxy really listens on
(seccomp notification of connect).

Without root no process may listen on a Service's port 80; the proxy listens on another port such as 8080 and
writes down which. Programs in pods know nothing of that: they connect to `https://kubernetes.default.svc` and
`http://web`. So the kernel hands every `connect` of such a container to the keeper (a seccomp filter with a
listener), which lets it go on as it is unless it goes to an address and port of that list; then it begins to
connect the container's own socket to the stand-in.

| the socket                   | what its program is answered                                                |
|------------------------------|-----------------------------------------------------------------------------|
| has no connection, and waits | its own call goes on: the kernel waits for the end of what has begun,       |
|                              | whatever the address, as long as the socket says or until there is a signal |
| has none, and does not wait  | EINPROGRESS, as by the kernel; after a signal that came first, once more    |
| has or is getting one        | its own call goes on, and the kernel says so                                |
| is of datagrams              | how it went                                                                 |

So nothing is waited for and kept here, however many wait there.

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
import traceback
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
#: A struct sockaddr_in6, a struct sockaddr_in, a struct sockaddr_storage.
_ADDRESS_BYTES, _SHORTEST_BYTES, _LONGEST_BYTES = 28, 16, 128
#: Of a process, as a file's offset.
_LAST_ADDRESS: Final = (1 << 63) - 1
_IPPROTO_MPTCP: Final = 262
_MAPPED: Final = bytes(10) + b"\xff\xff"
#: Multipath TCP comes to servers of TCP, too.
_PROTOCOLS: Final = {socket.IPPROTO_TCP: "TCP", _IPPROTO_MPTCP: "TCP", socket.IPPROTO_UDP: "UDP"}
#: The first byte of struct tcp_info of a socket that is getting a connection, and of one that has none.
_TCP_SYN_SENT, _TCP_CLOSE = 2, 7
#: What is remembered of threads that have perhaps ended.
_MOST_UNHEARD: Final = 256
#: Calls answered before others of the keeper have their turn.
_AT_ONCE: Final = 8

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
    """Answers seccomp notifications of all containers of a keeper."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        #: The folders of containers' lists, by their listeners.
        self._stand_ins: dict[int, str] = {}
        #: Threads, and the sockets of which they have not heard that a connection is being made: a signal
        #: came first, and the kernel or the program asks again.
        self._unheard: dict[tuple[int, int], None] = {}
        #: Of all listeners: the kernel gives each its turn, however often the others ask.
        self._asking = select.epoll()
        loop.on_readable(self._asking.fileno(), self._answer_some)

    def adopt(self, channel: socket.socket, stand_ins: str) -> None:
        """Answer for a container that will send its listener by `channel`, by the list in the folder
        `stand_ins`; without one it sends none."""
        if not stand_ins:
            channel.close()
            return

        def receive() -> None:
            self._loop.forget(channel.fileno())
            with channel:
                try:
                    _, listeners, _, _ = socket.recv_fds(channel, 1, 1)
                except OSError:
                    return
            for listener in listeners:
                self._stand_ins[listener] = stand_ins
                self._asking.register(listener, select.EPOLLIN)

        self._loop.on_readable(channel.fileno(), receive)

    def _answer_some(self) -> None:
        for listener, events in self._asking.poll(0, _AT_ONCE):
            # To receive where nobody asks may take for ever.
            if events & select.EPOLLIN:
                try:
                    self._on_notice(listener)
                except Exception:  # noqa: BLE001 - one call's trouble is not everybody's
                    traceback.print_exc()
            else:
                # The last process of the container has ended.
                self._asking.unregister(listener)
                del self._stand_ins[listener]
                os.close(listener)

    def _on_notice(self, listener: int) -> None:
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, notice)
        except OSError as error:
            if error.errno == errno.ENOENT:  # who asked has been interrupted
                return
            raise
        call, thread, _, _, fd, address, length = _NOTICE.unpack(notice)
        code: int | None = None
        asked: tuple[int, int] | None = None
        try:
            sock, target = _redirected(thread, fd, address, length, self._stand_ins[listener])
            with sock:
                # Or what was looked at is of another process, which has got the number of the one that asked.
                fcntl.ioctl(listener, _IS_VALID, struct.pack("=Q", call))
                asked = thread, os.fstat(sock.fileno()).st_ino
                code = _connected(sock, target, is_repeated=asked in self._unheard)
        except (OSError, LookupError):
            pass  # It is the program's own matter.
        finally:
            is_heard = _answer(listener, call, code)
        if asked is not None:
            self._unheard.pop(asked, None)
            if code == errno.EINPROGRESS and not is_heard:
                self._unheard[asked] = None
                if len(self._unheard) > _MOST_UNHEARD:
                    del self._unheard[next(iter(self._unheard))]


def _stand_ins(folder: str, address: str, port: int) -> dict[str, int]:
    """Where the port answers, by protocol. Raises `OSError` or `LookupError` if it has no stand-ins, or if
    what is written there is none."""
    with open(f"{folder}/{address}", "rb") as file:
        said = file.read()
    try:
        found = ((protocol, ports.get(str(port))) for protocol, ports in json.loads(said).items())
        return {protocol: int(other) for protocol, other in found if other and 0 < int(other) < 1 << 16}
    except (ValueError, AttributeError, TypeError) as error:
        raise LookupError("no list") from error


def _redirected(
    process: int, fd: int, address: int, length: int, stand_ins: str
) -> tuple[socket.socket, Any]:
    """A process' socket, and where to connect it. Raises `LookupError` or `OSError` where it goes is its own
    matter."""
    if not _SHORTEST_BYTES <= length & 0xFFFFFFFF <= _LONGEST_BYTES or address > _LAST_ADDRESS:
        raise LookupError("what the kernel refuses, too")
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        raw = os.pread(memory.fileno(), min(length & 0xFFFFFFFF, _ADDRESS_BYTES), address)
    host, port, is_mapped = _parsed(raw)
    answering = _stand_ins(stand_ins, host, port)
    sock = _socket(descriptor_of(process, fd))
    try:
        if sock.family != (socket.AF_INET6 if is_mapped else socket.AF_INET):
            raise LookupError(sock.family)
        number = answering[_PROTOCOLS[sock.proto]]
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
    if len(raw) >= _SHORTEST_BYTES:
        family, port = int.from_bytes(raw[:2], "little"), int.from_bytes(raw[2:4], "big")
        if family == socket.AF_INET:
            return socket.inet_ntoa(raw[4:8]), port, False
        if family == socket.AF_INET6 and raw[8:20] == _MAPPED and len(raw) >= 24:
            return socket.inet_ntoa(raw[20:24]), port, True
    raise LookupError("no address of a service")


def _connected(sock: socket.socket, target: Any, *, is_repeated: bool) -> int | None:
    """How it went to connect a socket, 0 for well; None if its program's own call shall go on."""
    if sock.type == socket.SOCK_DGRAM:
        return sock.connect_ex(target)
    flags = fcntl.fcntl(sock, fcntl.F_GETFL)
    state = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    if is_repeated and state == _TCP_SYN_SENT and flags & os.O_NONBLOCK:
        return errno.EINPROGRESS
    if state != _TCP_CLOSE:
        return None
    if flags & os.O_NONBLOCK:
        return sock.connect_ex(target)
    # The keeper must not wait. Nobody has use for a socket without a connection meanwhile.
    fcntl.fcntl(sock, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    try:
        code = sock.connect_ex(target)
    finally:
        fcntl.fcntl(sock, fcntl.F_SETFL, flags)
    return None if code == errno.EINPROGRESS else code


def _answer(listener: int, call: int, code: int | None) -> bool:
    """Let a call end with an error, 0 for none, or go on if there is nothing to say. Whether it was heard."""
    answer = _ANSWER.pack(call, 0, 0, _GO_ON) if code is None else _ANSWER.pack(call, 0, -code, 0)
    try:
        fcntl.ioctl(listener, _SEND, answer)
    except OSError as failure:
        # Who asked has been interrupted or killed, or the last process has ended.
        if failure.errno not in (errno.ENOENT, errno.EBADF, errno.EINPROGRESS):
            raise
        return False
    return True
