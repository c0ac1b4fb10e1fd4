"""The addresses of this machine that a cluster uses.

| the cluster's user       | ranges                | an address that is needed       | an unused one       |
|--------------------------|-----------------------|---------------------------------|---------------------|
| root (may add addresses) | 10.96/16, 10.244/16   | is added to the loopback device | leads nowhere       |
| any other user           | 127.96/16, 127.244/16 | is there already                | refuses connections |

`close` takes back everything that was added. What a killed process left is taken away by the next cluster
that gets the same ranges: the kernel shows which addresses and routes are ours (see `netlink`), and a range
is only ever cleaned by the one who holds it. A cluster with a folder keeps its ranges for good, since the
addresses of its services are stored; and all addresses until `sweep`, since pods and the process that carries
connections may have outlived the one that started them.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Container
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final

from steersman.cluster.machine.addresses_in_use import listeners, neighbours
from steersman.cluster.machine.errors import MachineError, RangeTaken
from steersman.cluster.machine.netlink import Netlink
from steersman.cluster.machine.ranges import LOOPBACK, ROUTED, RangeLock, Ranges, take_first_free

__all__ = ["Machine", "open_machine"]

_log = logging.getLogger(__name__)

_FILE: Final = "ranges.json"
#: Which of the services' addresses is the cluster's DNS server, as everywhere.
_DNS: Final = 10


class Machine:
    """Addresses of the cluster's ranges. Made by `open_machine`."""

    def __init__(self, guard: RangeLock, netlink: Netlink | None) -> None:
        self._guard = guard
        self._netlink = netlink
        #: Who needs an address that was added.
        self._owners: defaultdict[IPv4Address, set[str]] = defaultdict(set)

    @property
    def ranges(self) -> Ranges:
        return self._guard.ranges

    @property
    def dns_address(self) -> str:
        return str(self.ranges.services[_DNS])

    def lends(self, address: str) -> bool:
        """Whether an address is one of this machine's, or could be by `add`."""
        number = _parsed(address)
        if number is None:
            return False
        return number.is_loopback or any(number in network for network in self.ranges)

    async def add(self, address: str, owner: str = "") -> None:
        """Have an address on this machine; any number of owners may. Raises `MachineError`."""
        number = _parsed(address)
        if number is None or not self.lends(address):
            raise MachineError(f"{address} is not an address of this cluster")
        if number.is_loopback:
            return
        if not self._owners[number]:
            self._ask(number, "add")
        self._owners[number].add(owner)

    async def remove(self, address: str, owner: str = "") -> None:
        """The owner does not need the address any more."""
        number = _parsed(address)
        if number is None or number not in self._owners:
            return
        self._owners[number].discard(owner)
        if not self._owners[number]:
            del self._owners[number]
            self._ask(number, "delete")

    def _ask(self, address: IPv4Address, what: str) -> None:
        netlink = self._netlink
        if netlink is None:
            raise MachineError(f"{address} needs rights to change this machine's network")
        try:
            netlink.add_address(address) if what == "add" else netlink.delete_address(address)
        except OSError as error:
            raise MachineError(f"cannot {what} {address}: {error.strerror}") from error

    def sweep(self) -> None:
        """All who have addresses have said so: take away the rest."""
        if self._netlink is not None:
            try:
                _clean_addresses(self._netlink, self.ranges, self._owners)
            except OSError as error:
                _log.warning("addresses of stopped clusters remain: %s", error)

    async def close(self, *, leave_owned: bool = False) -> None:
        """Leave nothing on the machine, but what is owned by those that live on, and let others have the
        ranges."""
        left = list(self._owners) if leave_owned else []
        self._owners.clear()
        if self._netlink is not None:
            try:
                _clean(self._netlink, self.ranges, left)
            finally:
                self._netlink.close()
                self._netlink = None
        self._guard.close()


async def open_machine(
    folder: Path | None = None,
    *,
    ranges: Ranges | None = None,
    preferred: Ranges | None = None,
    as_root: bool | None = None,
) -> Machine:
    """Take ranges: those given, those that `folder` remembers, those preferred, or the first that are free.

    `as_root` says whether addresses may be added; None finds out. Raises `MachineError`.
    """
    netlink = _open_netlink() if as_root is not False else None
    if as_root and netlink is None:
        raise MachineError("this process may not change the machine's network")
    try:
        remembered = _remembered(folder)
        wanted = ranges or remembered
        guard = _take(netlink, wanted, preferred, known=wanted is not None and wanted == remembered)
        if netlink is not None and not guard.ranges.added:
            netlink.close()
            netlink = None
    except BaseException:
        if netlink is not None:
            netlink.close()
        raise
    machine = Machine(guard, netlink)
    try:
        if netlink is not None:
            # There is no moment in which what goes to these ranges could leave the machine.
            if folder is None:
                _clean_addresses(netlink, guard.ranges, ())
            for network in guard.ranges.added:
                netlink.add_blackhole(network)
        if folder is not None:
            _remember(folder, guard.ranges)
    except BaseException as error:
        await machine.close()
        if isinstance(error, OSError):
            raise MachineError(f"cannot prepare {guard.ranges.services}: {error}") from error
        raise
    return machine


def _take(
    netlink: Netlink | None, ranges: Ranges | None, preferred: Ranges | None, *, known: bool
) -> RangeLock:
    """`known` are ranges that were the cluster's before: who has connections into them has them to it."""
    used = [] if netlink is None else netlink.networks()
    if netlink is not None and not known:
        used += neighbours(netlink.addresses())
    if ranges is None:
        usual = LOOPBACK if netlink is None else ROUTED
        first = [preferred] if preferred is not None and (netlink or preferred.on_loopback) else []
        return take_first_free([*first, *usual], used, listeners())
    if ranges.added and netlink is None:
        raise MachineError(f"addresses of {ranges.added[0]} can only be had by root")
    for network in ranges.added:
        if taken := [other for other in used if network.overlaps(other)]:
            raise RangeTaken(f"this machine needs {taken[0]}, which is in {network}; choose another range")
    return RangeLock(ranges)


def _open_netlink() -> Netlink | None:
    """None if this process may not change the network, which only trying shows."""
    try:
        netlink = Netlink()
    except OSError as error:
        _log.debug("cannot use netlink: %s", error)
        return None
    try:
        # No interface can have this address, so nothing is deleted by asking.
        netlink.delete_address(IPv4Address("240.0.0.1"))
    except OSError as error:
        _log.debug("no permission to change the network: %s", error)
        netlink.close()
        return None
    return netlink


def _clean(netlink: Netlink, ranges: Ranges, kept: Container[IPv4Address] = ()) -> None:
    """Take away what was made for these ranges, by whomever."""
    _clean_addresses(netlink, ranges, kept)
    for network in netlink.blackholes():
        if network in ranges.added:
            netlink.delete_blackhole(network)


def _clean_addresses(netlink: Netlink, ranges: Ranges, kept: Container[IPv4Address]) -> None:
    for address in netlink.addresses():
        if address not in kept and any(address in network for network in ranges):
            netlink.delete_address(address)


def _remembered(folder: Path | None) -> Ranges | None:
    if folder is None or not (file := folder / _FILE).exists():
        return None
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        return Ranges(*(IPv4Network(kept[name]) for name in ("services", "pods", "loadBalancers")))
    except (ValueError, KeyError, TypeError) as error:
        raise MachineError(f"{file} cannot be read: {error}") from error


def _remember(folder: Path, ranges: Ranges) -> None:
    services, pods, load_balancers = map(str, ranges)
    text = json.dumps({"services": services, "pods": pods, "loadBalancers": load_balancers})
    (folder / _FILE).write_text(text + "\n", encoding="utf-8")


def _parsed(address: str) -> IPv4Address | None:
    try:
        return IPv4Address(address)
    except ValueError:
        return None
