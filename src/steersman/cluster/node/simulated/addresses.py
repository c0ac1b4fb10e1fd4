"""Addresses of simulated nodes and pods. Nothing listens on them; they are only well-formed and unique."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network
from typing import Final

__all__ = ["SimulatedPodAddresses", "node_address", "own_range"]

_NODES: Final = IPv4Network("172.18.0.0/15")
#: For nodes that were given no range.
_PODS: Final = IPv4Network("10.128.0.0/9")
_OWN_SIZE: Final = 256


def node_address(number: int) -> str:
    return str(_NODES[number + 2])


def own_range(number: int) -> str:
    """The range of pod addresses of a node that got none."""
    return f"{_PODS[number * _OWN_SIZE % _PODS.num_addresses]}/24"


class SimulatedPodAddresses:
    """Allocates addresses of one node's pod CIDR, the longest unused first."""

    def __init__(self, cidr: str) -> None:
        self._network = ip_network(cidr)
        #: Address → how many have it: after a restart, one that has ended and one that got it afterwards.
        self._taken: Counter[str] = Counter()
        self._next = self._cycle()

    def _cycle(self) -> Iterator[str]:
        # The first address is the network's, the second its gateway's, the last for broadcasts.
        last = max(self._network.num_addresses - 1, 3)
        return (str(self._network[number]) for number in itertools.cycle(range(2, last)))

    def take(self) -> str:
        """A free address; empty if there is none."""
        for address in itertools.islice(self._next, self._network.num_addresses):
            if address not in self._taken:
                self._taken[address] = 1
                return address
        return ""

    def keep(self, address: str) -> None:
        """This one is taken already."""
        self._taken[address] += 1

    def free(self, address: str) -> None:
        """One of those that have it has it no more."""
        self._taken[address] -= 1
        if self._taken[address] <= 0:
            del self._taken[address]
