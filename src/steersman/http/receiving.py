"""Reading from the network into one buffer shared by all connections of a server or client.

A TLS transport that must hand out `bytes` allocates 256 KiB per read and gives most of it back,
which costs more than the decryption; reading into a buffer that stays avoids it. Sharing is safe
because a read and its `buffer_updated` happen in one go: what is to be kept is copied there.
"""

from __future__ import annotations

import asyncio
import socket

__all__ = ["Receiver", "new_buffer", "probe_when_silent"]

_BUFFER_BYTES = 64 << 10
_PROBES = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 9}


def new_buffer() -> memoryview:
    return memoryview(bytearray(_BUFFER_BYTES))


def probe_when_silent(transport: asyncio.BaseTransport) -> None:
    """Have the kernel notice a peer that vanished without a word; a watch would never."""
    sock = transport.get_extra_info("socket")
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _PROBES.items():
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


class Receiver(asyncio.BufferedProtocol):
    """A protocol that reads into a shared buffer; subclasses implement `received`."""

    __slots__ = ("_buffer",)

    def __init__(self, buffer: memoryview) -> None:
        self._buffer = buffer

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received(self._buffer[:nbytes])

    def received(self, data: memoryview) -> None:
        """Take `data`, which is only valid during the call."""
        raise NotImplementedError
