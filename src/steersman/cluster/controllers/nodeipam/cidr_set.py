"""The CIDR set of the node IPAM controller: subnets of one cluster CIDR, each allocated to one node. Pure."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

__all__ = ["CIDRSet", "cluster_ranges"]

_IPV6_MASK: Final = 64


def cluster_ranges(cidrs: str, node_mask: int) -> list[CIDRSet]:
    """One for each network of a list with commas. `node_mask` is that of IPv4; IPv6 nodes get a /64."""
    networks = [ip_network(cidr.strip()) for cidr in cidrs.split(",") if cidr.strip()]
    return [
        CIDRSet(network, node_mask if network.version == 4 else max(_IPV6_MASK, network.prefixlen))
        for network in networks
    ]


class CIDRSet:
    """The subnets of a cluster CIDR and which of them are allocated."""

    def __init__(self, network: IPv4Network | IPv6Network, mask: int) -> None:
        """Raises ValueError if the parts would be larger than the whole."""
        if not network.prefixlen <= mask <= network.max_prefixlen:
            raise ValueError(f"{network} has no parts of size /{mask}")
        self._network = network
        self._mask = mask
        self._count = 1 << (mask - network.prefixlen)
        self._taken: set[int] = set()
        #: Parts are given in turn, so that one that was freed is not used again at once.
        self._next = 0

    def take(self) -> str | None:
        """A free part; None if there is none."""
        if len(self._taken) >= self._count:
            return None
        while self._next in self._taken:
            self._next = (self._next + 1) % self._count
        number = self._next
        self._taken.add(number)
        self._next = (number + 1) % self._count
        return self._part(number)

    def keep(self, cidr: str) -> None:
        """A part, or whatever parts a network overlaps, is taken. Other networks are ignored."""
        self._taken.update(self._numbers(cidr))

    def free(self, cidr: str) -> None:
        self._taken.difference_update(self._numbers(cidr))

    def _part(self, number: int) -> str:
        first = int(self._network.network_address) + (number << (self._network.max_prefixlen - self._mask))
        return str(type(self._network)((first, self._mask)))

    def _numbers(self, cidr: str) -> range:
        try:
            other = ip_network(cidr)
        except ValueError:
            return range(0)
        if type(other) is not type(self._network) or not other.overlaps(self._network):
            return range(0)
        shift = self._network.max_prefixlen - self._mask
        base = int(self._network.network_address)
        first = max(int(other.network_address) - base, 0) >> shift
        last = min(int(other.broadcast_address) - base, self._network.num_addresses - 1) >> shift
        return range(first, last + 1)
