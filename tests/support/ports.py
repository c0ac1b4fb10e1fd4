"""Ports for servers that must be told one.

A port at which nobody listened a moment ago may be taken when the server comes to it: the system gives it to
whoever asks for any, every outgoing connection among them, and another process of the tests to a server of its
own. Therefore these lie below what the system gives away, and each is claimed until this process ends.
"""

from __future__ import annotations

import random
import socket

__all__ = ["free_port", "free_ports"]

#: Above what programs are known for, below node ports and what the system gives away.
_PORTS = range(10_240, 30_000)

#: Hypothesis makes every process draw the same numbers otherwise.
_random = random.SystemRandom()


def free_port() -> int:
    """At which nobody listens, at no address, neither by TCP nor by UDP; nobody else is told the same."""
    while True:
        port = _random.choice(_PORTS)
        if _claim(port) and all(_unused(port, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)):
            return port


def free_ports(count: int) -> list[int]:
    return [free_port() for _ in range(count)]


def _claim(port: int) -> bool:
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0steersman-tests/port/{port}")
    except OSError:
        claim.close()
        return False
    claim.detach()  # the system frees the name when this process ends, however it does
    return True


def _unused(port: int, kind: socket.SocketKind) -> bool:
    with socket.socket(type=kind) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True
