"""Machines with a cable between them, on one machine: network namespaces on a switch of their own.

A cable can be cut in one direction between two of them: the sender writes to an address that nobody has, so
that packets vanish as they do in a broken network, and nobody is told.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from types import TracebackType
from typing import Self

__all__ = ["Namespaces", "namespaces_allowed"]

_NOBODY = "02:00:00:00:00:00"


def _ip(*arguments: str, check: bool = True) -> int:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=30)
    assert not check or done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"
    return done.returncode


def namespaces_allowed() -> bool:
    """Whether this process may make them."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"steer-{uuid.uuid4().hex[:8]}"
    if _ip("netns", "add", name, check=False) != 0:
        return False
    try:
        return _ip("-n", name, "link", "add", "br0", "type", "bridge", check=False) == 0
    finally:
        _ip("netns", "delete", name)


class Namespaces:
    """So many machines, numbered from 0, and a switch. Their addresses are seen by nobody else."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._name = f"steer-{uuid.uuid4().hex[:8]}"

    def __enter__(self) -> Self:
        try:
            self._make()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _make(self) -> None:
        switch = f"{self._name}-switch"
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "br0", "type", "bridge")
        _ip("-n", switch, "link", "set", "br0", "up")
        for number in range(self.count):
            machine, port = self._machine(number), f"port{number}"
            _ip("netns", "add", machine)
            _ip("-n", switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", machine)
            _ip("-n", switch, "link", "set", port, "master", "br0", "up")
            _ip("-n", machine, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                _ip("-n", machine, "link", "set", link, "up")

    def _remove(self) -> None:
        for name in (*map(self._machine, range(self.count)), f"{self._name}-switch"):
            _ip("netns", "delete", name, check=False)

    def _machine(self, number: int) -> str:
        return f"{self._name}-{number}"

    def address(self, number: int) -> str:
        return f"10.0.0.{number + 1}"

    def command(self, number: int) -> list[str]:
        """What to put in front of a program to have it run there."""
        return ["ip", "netns", "exec", self._machine(number)]

    def cut(self, sender: int, receiver: int) -> None:
        """Nothing that `sender` sends arrives at `receiver`."""
        address = self.address(receiver)
        _ip("-n", self._machine(sender), "neigh", "replace", address, "lladdr", _NOBODY,
            "nud", "permanent", "dev", "eth0")  # fmt: skip

    def separate(self, some: set[int], others: set[int]) -> None:
        """No packet goes from one side to the other."""
        for one in some:
            for other in others:
                self.cut(one, other)
                self.cut(other, one)

    def heal(self) -> None:
        for number in range(self.count):
            _ip("-n", self._machine(number), "neigh", "flush", "nud", "permanent", "dev", "eth0")
