"""Addresses of this machine's connections and listening sockets: a cluster must not take a range that
contains one.

Routes do not show remote addresses: whatever is behind the default route is reached by it. Listening sockets
may belong to pods that have outlived the process that held their range.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final

__all__ = ["listeners", "neighbours"]

_RESOLVERS: Final = Path("/etc/resolv.conf")
_CONNECTIONS: Final = (Path("/proc/net/tcp"), Path("/proc/net/udp"))
_ESTABLISHED: Final = "01"
#: Of datagrams: open without a peer.
_UNCONNECTED: Final = "07"
_LISTENS: Final = "0A"


def neighbours(own: Collection[IPv4Address]) -> list[IPv4Network]:
    """The machine's name servers, and whom it has connections with now; its own addresses are nobody."""
    found = {*_name_servers(), *_peers()}.difference(own)
    return [IPv4Network(address) for address in sorted(found) if not address.is_loopback]


def listeners() -> list[IPv4Network]:
    """The addresses at which somebody on this machine waits for others."""
    found = {own for own, _, state in _sockets() if state in (_LISTENS, _UNCONNECTED)}
    return [IPv4Network(address) for address in sorted(found)]


def _name_servers() -> Iterator[IPv4Address]:
    for line in _lines(_RESOLVERS):
        words = line.split()
        if len(words) > 1 and words[0] == "nameserver" and ":" not in words[1]:
            try:
                yield IPv4Address(words[1])
            except ValueError:
                continue


def _peers() -> Iterator[IPv4Address]:
    for _, peer, state in _sockets():
        if state == _ESTABLISHED:
            yield peer


def _sockets() -> Iterator[tuple[IPv4Address, IPv4Address, str]]:
    """The addresses of both sides, and the state."""
    for path in _CONNECTIONS:
        for line in _lines(path)[1:]:
            _, own, peer, state, *_ = line.split()
            yield _address(own), _address(peer), state


def _address(text: str) -> IPv4Address:
    return IPv4Address(int(text.partition(":")[0], 16).to_bytes(4, sys.byteorder))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
