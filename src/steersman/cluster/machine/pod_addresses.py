"""Allocation of pod addresses out of a node's pod CIDR.

A container runtime takes one for each sandbox and frees it when the sandbox is gone. After a restart it
reports the addresses its pods still have. Addresses are allocated round robin, so that one just freed is not
reused at once.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Protocol

from steersman.cluster.machine.errors import AddressesUsedUp, MachineError

__all__ = ["AddressSource", "PodAddresses"]


class AddressSource(Protocol):
    """The part of `Machine` that allocation needs."""

    async def add(self, address: str, owner: str = "") -> None: ...

    async def remove(self, address: str, owner: str = "") -> None: ...


class PodAddresses:
    """The pool of a node's addresses (spec.podCIDR)."""

    def __init__(self, machine: AddressSource, pod_cidr: str) -> None:
        self._machine = machine
        self._network = IPv4Network(pod_cidr)
        #: Of what is given: to whom.
        self._owners: dict[str, str] = {}
        self._last = -1

    def __len__(self) -> int:
        return len(self._owners)

    async def take(self, owner: str) -> str:
        """An address for a pod (its uid): another one each time it is asked for. Raises
        `AddressesUsedUp`."""
        address = self._next()
        await self._claim(address, owner)
        return address

    async def keep(self, address: str, owner: str = "") -> None:
        """A pod has this address already. Raises `MachineError` if another has, or it is none of these."""
        if IPv4Address(address) not in self._network:
            raise MachineError(f"{address} is not in {self._network}")
        if (taken := self._owners.get(address, owner)) != owner:
            raise MachineError(f"{address} belongs to {taken}")
        await self._claim(address, owner)

    async def free(self, address: str) -> None:
        """The pod is gone. Without effect on what nobody has."""
        if (owner := self._owners.pop(address, None)) is not None:
            await self._machine.remove(address, _claimant(owner))

    async def _claim(self, address: str, owner: str) -> None:
        # Before the machine is asked: nobody else may choose it meanwhile.
        self._owners[address] = owner
        try:
            await self._machine.add(address, _claimant(owner))
        except BaseException:
            self._owners.pop(address, None)
            raise

    def _next(self) -> str:
        # The first is the network's own, the second the gateway's where there is one, the last for all.
        size = self._network.num_addresses - 3
        for step in range(1, size + 1):
            number = (self._last + step) % size
            address = str(self._network[number + 2])
            if address not in self._owners:
                self._last = number
                return address
        raise AddressesUsedUp(f"all addresses of {self._network} are given to pods")


def _claimant(owner: str) -> str:
    return f"pod {owner}"
