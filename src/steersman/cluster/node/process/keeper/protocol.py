"""The wire protocol of node agent and keeper: JSON in length-prefixed frames, with file descriptors
(SCM_RIGHTS).

A request has `op` and `seq`; its answer has the same `seq` and either `error` or results. Messages without
`seq` are events of the keeper: `exit` of a container, `exec_exit` of a command run beside one.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from collections import deque
from collections.abc import Mapping
from typing import Any

__all__ = ["LOCK", "MAX_FDS", "SOCKET", "FrameReader", "FrameWriter", "receive"]

Message = dict[str, Any]

#: In the node's folder: where the keeper is talked to, and what it has locked while it lives.
SOCKET = "keeper.sock"
LOCK = "keeper.lock"
_HEAD = struct.Struct("!IH")
#: More than this is not a message but a mistake.
_MAX_BYTES = 64 << 20
MAX_FDS = 8


class FrameReader:
    """Assembles frames from received data."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._fds: deque[int] = deque()

    def feed(self, data: bytes, fds: list[int]) -> list[tuple[Message, list[int]]]:
        self._buffer += data
        self._fds += fds
        found: list[tuple[Message, list[int]]] = []
        while len(self._buffer) >= _HEAD.size:
            length, count = _HEAD.unpack_from(self._buffer)
            if length > _MAX_BYTES or count > MAX_FDS:
                raise ValueError(f"a frame of {length} bytes and {count} descriptors")
            end = _HEAD.size + length
            if len(self._buffer) < end:
                break
            message = json.loads(bytes(self._buffer[_HEAD.size : end]))
            del self._buffer[:end]
            found.append((message, [self._fds.popleft() for _ in range(count)]))
        return found

    def close(self) -> None:
        for fd in self._fds:
            os.close(fd)
        self._fds.clear()


class FrameWriter:
    """Frames to be sent. File descriptors given to it are its own: they are closed once sent."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._parts: deque[tuple[memoryview, list[int]]] = deque()

    def __bool__(self) -> bool:
        return bool(self._parts)

    def add(self, message: Mapping[str, Any], fds: list[int] | None = None) -> None:
        body = json.dumps(message, separators=(",", ":")).encode()
        frame = _HEAD.pack(len(body), len(fds or ())) + body
        self._parts.append((memoryview(frame), fds or []))

    def flush(self) -> bool:
        """Send what the socket takes; whether all is sent. Raises `OSError` when nobody listens."""
        while self._parts:
            frame, fds = self._parts[0]
            try:
                if fds:
                    sent = socket.send_fds(self._sock, [frame], fds)
                else:
                    sent = self._sock.send(frame)
            except BlockingIOError:
                return False
            for fd in fds:
                os.close(fd)
            if sent == len(frame):
                self._parts.popleft()
            else:
                self._parts[0] = (frame[sent:], [])
        return True

    def close(self) -> None:
        for _, fds in self._parts:
            for fd in fds:
                os.close(fd)
        self._parts.clear()


def receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    """What has arrived; nothing at all at the end. Descriptors are not inherited by programs."""
    fds = array.array("i")
    space = socket.CMSG_LEN(4 * MAX_FDS * fds.itemsize)
    data, ancillary, _, _ = sock.recvmsg(1 << 16, space, socket.MSG_CMSG_CLOEXEC)
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    return data, list(fds)
