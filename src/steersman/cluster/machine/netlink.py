"""Addresses of the loopback interface and blackhole routes, through rtnetlink.

Only what `machine` needs: add, delete and list. What this module creates carries a mark (a label on
addresses, a protocol number on routes), and it lists and deletes nothing without it; so the kernel itself
records what is ours, also of a process that was killed. IPv4.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import Final

__all__ = ["Netlink"]

# include/uapi/linux/{netlink,rtnetlink,if_addr}.h
_NEWADDR, _DELADDR, _GETADDR = 20, 21, 22
_NEWROUTE, _DELROUTE, _GETROUTE = 24, 25, 26
_REQUEST, _ACK, _DUMP, _CREATE, _EXCLUSIVE = 0x1, 0x4, 0x300, 0x400, 0x200
_ERROR, _DONE = 2, 3
_IFA_ADDRESS, _IFA_LOCAL, _IFA_LABEL = 1, 2, 3
_RTA_DST, _RTA_TABLE = 1, 15
_MAIN_TABLE, _LOCAL_TABLE = 254, 255
_BLACKHOLE: Final = 6
_SCOPE_UNIVERSE, _SCOPE_HOST = 0, 254

_HEADER: Final = struct.Struct("=IHHII")
_ATTRIBUTE: Final = struct.Struct("=HH")
_ADDRESS_MESSAGE: Final = struct.Struct("=BBBBI")
_ROUTE_MESSAGE: Final = struct.Struct("=BBBBBBBBI")

#: The mark of our addresses (a label begins with the interface's name) and of our routes.
_LABEL: Final = b"lo:steersman"
_PROTOCOL: Final = 83
_BUFFER: Final = 1 << 16

#: What a request is answered with when things are as they should be already.
_ALREADY: Final = {
    _NEWADDR: (errno.EEXIST,),
    _DELADDR: (errno.EADDRNOTAVAIL,),
    _NEWROUTE: (errno.EEXIST,),
    _DELROUTE: (errno.ESRCH,),
}


class Netlink:
    """A netlink socket. Calls are answered at once; raises OSError for errors."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))
        self._sequence = 0
        self._interface = socket.if_nametoindex("lo")

    def close(self) -> None:
        self._socket.close()

    # --- addresses

    def add_address(self, address: IPv4Address) -> None:
        self._change(_NEWADDR, _CREATE | _EXCLUSIVE, self._address_message(address))

    def delete_address(self, address: IPv4Address) -> None:
        self._change(_DELADDR, 0, self._address_message(address))

    def addresses(self) -> list[IPv4Address]:
        """Ours."""
        found = []
        for body in self._dump(_GETADDR, _ADDRESS_MESSAGE.pack(socket.AF_INET, 0, 0, 0, 0)):
            attributes = dict(_attributes(body[_ADDRESS_MESSAGE.size :]))
            if attributes.get(_IFA_LABEL, b"").rstrip(b"\0") == _LABEL:
                found.append(IPv4Address(attributes[_IFA_LOCAL]))
        return found

    def _address_message(self, address: IPv4Address) -> bytes:
        head = _ADDRESS_MESSAGE.pack(socket.AF_INET, 32, 0, _SCOPE_HOST, self._interface)
        packed = address.packed
        return (
            head
            + _attribute(_IFA_LOCAL, packed)
            + _attribute(_IFA_ADDRESS, packed)
            + _attribute(_IFA_LABEL, _LABEL + b"\0")
        )

    # --- routes

    def add_blackhole(self, network: IPv4Network) -> None:
        """What has no address of its own in this network leads nowhere, not to the default route."""
        self._change(_NEWROUTE, _CREATE | _EXCLUSIVE, _route_message(network))

    def delete_blackhole(self, network: IPv4Network) -> None:
        self._change(_DELROUTE, 0, _route_message(network))

    def networks(self) -> list[IPv4Network]:
        """Where routes of others lead to, the default route left out."""
        return [network for network, is_ours in self._routes() if not is_ours and network.prefixlen]

    def blackholes(self) -> list[IPv4Network]:
        """Ours."""
        return [network for network, is_ours in self._routes() if is_ours]

    def _routes(self) -> Iterator[tuple[IPv4Network, bool]]:
        ours = set(self.addresses())
        empty = _ROUTE_MESSAGE.pack(socket.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0)
        for body in self._dump(_GETROUTE, empty):
            _, length, _, _, table, protocol, _, kind, _ = _ROUTE_MESSAGE.unpack_from(body)
            attributes = dict(_attributes(body[_ROUTE_MESSAGE.size :]))
            if (wide := attributes.get(_RTA_TABLE)) is not None:
                table = int.from_bytes(wide, "little")
            network = IPv4Network((attributes.get(_RTA_DST, bytes(4)), length), strict=False)
            if table == _LOCAL_TABLE and network.network_address in ours:
                continue
            yield network, protocol == _PROTOCOL and kind == _BLACKHOLE

    # --- messages

    def _change(self, kind: int, flags: int, body: bytes) -> None:
        self._send(kind, flags | _REQUEST | _ACK, body)
        for answer, content in self._answers():
            if answer == _ERROR:
                code = -int.from_bytes(content[:4], "little", signed=True)
                if code and code not in _ALREADY[kind]:
                    raise OSError(code, os.strerror(code))
                return

    def _dump(self, kind: int, body: bytes) -> Iterator[bytes]:
        self._send(kind, _REQUEST | _DUMP, body)
        while True:
            for answer, content in self._answers():
                if answer == _DONE:
                    return
                if answer == _ERROR:
                    code = -int.from_bytes(content[:4], "little", signed=True)
                    raise OSError(code, os.strerror(code))
                yield content

    def _send(self, kind: int, flags: int, body: bytes) -> None:
        self._sequence += 1
        self._socket.send(_HEADER.pack(_HEADER.size + len(body), kind, flags, self._sequence, 0) + body)

    def _answers(self) -> Iterator[tuple[int, bytes]]:
        """The messages of one datagram that answer the last request."""
        data = self._socket.recv(_BUFFER)
        while len(data) >= _HEADER.size:
            length, kind, _, sequence, _ = _HEADER.unpack_from(data)
            if sequence == self._sequence:
                yield kind, data[_HEADER.size : length]
            data = data[_aligned(length) :]


def _route_message(network: IPv4Network) -> bytes:
    head = _ROUTE_MESSAGE.pack(
        socket.AF_INET, network.prefixlen, 0, 0, _MAIN_TABLE, _PROTOCOL, _SCOPE_UNIVERSE, _BLACKHOLE, 0
    )
    return head + _attribute(_RTA_DST, network.network_address.packed)


def _attribute(kind: int, value: bytes) -> bytes:
    length = _ATTRIBUTE.size + len(value)
    return (_ATTRIBUTE.pack(length, kind) + value).ljust(_aligned(length), b"\0")


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        yield kind, data[_ATTRIBUTE.size : length]
        data = data[_aligned(length) :]


def _aligned(length: int) -> int:
    return (length + 3) & ~3
