"""The address ranges of a cluster, distinct for all clusters of one machine.

Ranges are locked by names in the abstract namespace of Unix sockets: they exist once per network namespace,
as addresses do, every user may take them, and the kernel frees them when their process ends however it ends.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from steersman.cluster.machine.errors import RangeTaken

__all__ = ["LOOPBACK", "MOST_NODES", "ROUTED", "RangeLock", "Ranges", "pods_with", "take_first_free"]

_LOOPBACK: Final = IPv4Network("127.0.0.0/8")
#: Nodes have addresses from the last part of the pods' range, which so many do not get for their own pods.
MOST_NODES: Final = 250
_PART: Final = 256


@dataclass(frozen=True, slots=True)
class Ranges:
    """The ranges of a cluster: Services, pods, load balancers."""

    services: IPv4Network
    pods: IPv4Network
    #: For services of type LoadBalancer: loopback addresses, whatever the others are.
    load_balancers: IPv4Network

    @classmethod
    def with_services(cls, services: str) -> Ranges:
        """The ranges that usually go with one for services. Raises `ValueError`."""
        network = IPv4Network(services)
        known = next((one for one in (*ROUTED, *LOOPBACK) if one.services.overlaps(network)), ROUTED[0])
        return cls(network, known.pods, known.load_balancers)

    def __iter__(self) -> Iterator[IPv4Network]:
        return iter((self.services, self.pods, self.load_balancers))

    def node(self, number: int) -> IPv4Address:
        """The address of a node, counted from 1."""
        return self.pods[self.pods.num_addresses - _PART + number]

    @property
    def on_loopback(self) -> bool:
        """Whether all of them are there without adding anything."""
        return all(network.subnet_of(_LOOPBACK) for network in self)

    @property
    def added(self) -> list[IPv4Network]:
        """Those whose addresses must be added to the machine."""
        return [network for network in self if not network.subnet_of(_LOOPBACK)]


def _numbered(first: int, services: int, pods: int, load_balancers: int) -> Ranges:
    return Ranges(
        IPv4Network(f"{first}.{services}.0.0/16"),
        IPv4Network(f"{first}.{pods}.0.0/16"),
        IPv4Network(f"127.{load_balancers}.0.0/16"),
    )


def _more(first: int) -> Iterator[Ranges]:
    """For machines on which many clusters run: builds and tests of several people at once."""
    for number in range(20):
        yield _numbered(first, 120 + number, 148 + number, 176 + number)


#: In the order they are tried; kubeadm's and flannel's first.
ROUTED: Final = (
    *(_numbered(10, 96 + number, 244 + number, 100 + number) for number in range(11)),
    *_more(10),
)
#: For those who may not add addresses. What load balancers may have is left out.
LOOPBACK: Final = (
    *(
        _numbered(127, services, 244 + number, 100 + number)
        for number, services in enumerate((96, 97, 98, 99, *range(112, 120)))
    ),
    *_more(127),
)


def pods_with(services: str) -> str:
    """The range for pods that usually goes with one for services, of either family."""
    return str(ROUTED[0].pods if ":" in services else Ranges.with_services(services).pods)


class RangeLock:
    """Ranges locked against other clusters until closed."""

    def __init__(self, ranges: Ranges) -> None:
        """Raises `RangeTaken`."""
        self.ranges: Final = ranges
        self._names: list[socket.socket] = []
        try:
            for network in ranges:
                self._names.append(_take_name(network))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        while self._names:
            self._names.pop().close()


def take_first_free(
    candidates: Iterable[Ranges], used: Collection[IPv4Network], busy: Collection[IPv4Network] = ()
) -> RangeLock:
    """The first ranges that no other cluster has, none of the networks in `used` has a part in unless it is
    on loopback, and none of those in `busy`."""
    tried = []
    for ranges in candidates:
        tried.append(str(ranges.services))
        if _overlap(ranges.added, used) or _overlap(ranges, busy):
            continue
        try:
            return RangeLock(ranges)
        except RangeTaken:
            continue
    raise RangeTaken(f"all address ranges for services are in use: {tried[0]}, … {tried[-1]}")


def _overlap(networks: Iterable[IPv4Network], others: Collection[IPv4Network]) -> bool:
    return any(network.overlaps(other) for network in networks for other in others)


def _take_name(network: IPv4Network) -> socket.socket:
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0steersman/{network}")
    except OSError as error:
        name.close()
        if error.errno == errno.EADDRINUSE:
            raise RangeTaken(f"{network} is used by another cluster on this machine") from error
        raise
    return name
