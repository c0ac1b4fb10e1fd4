"""Each pod has an address of its own."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from steersman.cluster.machine import AddressesUsedUp, MachineError, PodAddresses


class Lent:
    """A machine that counts."""

    def __init__(self) -> None:
        self.added: Counter[str] = Counter()
        self.failing = False

    async def add(self, address: str, owner: str = "") -> None:
        if self.failing:
            raise MachineError("no")
        self.added[address] += 1

    async def remove(self, address: str, owner: str = "") -> None:
        self.added[address] -= 1


def test_addresses_differ_and_are_added() -> None:
    async def body() -> None:
        machine = Lent()
        pool = PodAddresses(machine, "10.244.3.0/24")
        taken = [await pool.take(f"pod-{number}") for number in range(253)]
        assert taken[0] == "10.244.3.2"
        assert len(set(taken)) == len(pool) == 253
        assert "10.244.3.255" not in taken
        assert set(machine.added.values()) == {1}
        with pytest.raises(AddressesUsedUp):
            await pool.take("one too many")
        await pool.free("10.244.3.7")
        assert machine.added["10.244.3.7"] == 0
        assert await pool.take("another") == "10.244.3.7"

    asyncio.run(body())


def test_freed_address_is_not_given_at_once() -> None:
    async def body() -> None:
        pool = PodAddresses(Lent(), "10.244.3.0/24")
        first = await pool.take("a")
        await pool.free(first)
        await pool.free(first)
        assert await pool.take("b") != first

    asyncio.run(body())


def test_kept_address_is_nobody_elses() -> None:
    async def body() -> None:
        machine = Lent()
        pool = PodAddresses(machine, "10.244.3.0/24")
        await pool.keep("10.244.3.2", "a")
        await pool.keep("10.244.3.2", "a")
        assert await pool.take("b") == "10.244.3.3"
        with pytest.raises(MachineError, match="belongs to a"):
            await pool.keep("10.244.3.2", "c")
        with pytest.raises(MachineError, match="not in"):
            await pool.keep("10.244.4.2", "c")

    asyncio.run(body())


def test_address_that_cannot_be_added_is_not_given() -> None:
    async def body() -> None:
        machine = Lent()
        pool = PodAddresses(machine, "10.244.3.0/24")
        machine.failing = True
        with pytest.raises(MachineError):
            await pool.take("a")
        assert len(pool) == 0

    asyncio.run(body())
