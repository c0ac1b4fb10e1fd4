"""Addresses that this machine talks to: a cluster must not take a range from under them.

Routes do not show them: whatever lies behind the default route is reached by it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final

__all__ = ["neighbours"]

_RESOLVERS: Final = Path("/etc/resolv.conf")
_CONNECTIONS: Final = (Path("/proc/net/tcp"), Path("/proc/net/udp"))
_ESTABLISHED: Final = "01"


def neighbours(own: Collection[IPv4Address]) -> list[IPv4Network]:
    """The machine's name servers, and whom it has connections with now; its own addresses are nobody."""
    found = {*_name_servers(), *_peers()}.difference(own)
    return [IPv4Network(address) for address in sorted(found) if not address.is_loopback]


def _name_servers() -> Iterator[IPv4Address]:
    for line in _lines(_RESOLVERS):
        words = line.split()
        if len(words) > 1 and words[0] == "nameserver" and ":" not in words[1]:
            try:
                yield IPv4Address(words[1])
            except ValueError:
                continue


def _peers() -> Iterator[IPv4Address]:
    for path in _CONNECTIONS:
        for line in _lines(path)[1:]:
            _, _, peer, state, *_ = line.split()
            if state == _ESTABLISHED:
                yield IPv4Address(int(peer.partition(":")[0], 16).to_bytes(4, sys.byteorder))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
