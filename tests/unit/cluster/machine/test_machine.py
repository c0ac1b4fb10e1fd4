"""Ranges no two clusters share, and addresses that are gone when they are not needed."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from steersman.cluster.machine import Machine, MachineError, Ranges, RangeTaken, open_machine
from steersman.cluster.machine.netlink import Netlink
from steersman.cluster.machine.ranges import LOOPBACK, ROUTED, RangeLock, take_first_free


def _may_add_addresses() -> bool:
    netlink = Netlink()
    try:
        netlink.delete_blackhole(IPv4Network("240.0.0.0/32"))  # nobody has it
    except OSError:
        return False
    finally:
        netlink.close()
    return True


def own_ranges(first: int) -> Ranges:
    """Ranges that no other run of these tests has on this machine."""
    part = os.getpid() % 250
    services, pods = IPv4Network(f"{first}.200.{part}.0/24"), IPv4Network(f"{first}.201.{part}.0/24")
    return Ranges(services, pods, IPv4Network(f"127.202.{part}.0/24"))


as_root = pytest.mark.skipif(not _may_add_addresses(), reason="needs rights to add addresses")


def on_machine(ranges: Ranges) -> set[str]:
    """What is there of a cluster's ranges."""
    netlink = Netlink()
    try:
        addresses = {str(each) for each in netlink.addresses() if any(each in own for own in ranges)}
        return addresses | {str(each) for each in netlink.blackholes() if each in ranges.added}
    finally:
        netlink.close()


def test_candidates_overlap_with_nothing_of_their_own() -> None:
    for candidates in (ROUTED, LOOPBACK):
        for ranges in candidates:
            networks = list(ranges)
            assert not any(
                one.overlaps(other) for one in networks for other in networks if one is not other
            ), ranges
        services = [ranges.services for ranges in candidates]
        assert len(set(services)) == len(services)
    balancers = {ranges.load_balancers for ranges in ROUTED}
    assert not balancers & {ranges.services for ranges in LOOPBACK}


def test_ranges_are_held_by_one_cluster() -> None:
    ranges = own_ranges(127)
    guard = RangeLock(ranges)
    with pytest.raises(RangeTaken):
        RangeLock(ranges)
    other = take_first_free((ranges, *LOOPBACK), ())
    assert not set(other.ranges) & set(ranges)
    guard.close()
    RangeLock(ranges).close()
    other.close()


def test_ranges_that_are_routed_are_left_out() -> None:
    first = take_first_free(ROUTED, ())
    first.close()
    other = take_first_free(ROUTED, [first.ranges.pods.supernet(1)])
    other.close()
    assert not first.ranges.pods.supernet(1).overlaps(other.ranges.pods)


def test_nothing_free_is_an_error() -> None:
    with pytest.raises(RangeTaken, match="are in use"):
        take_first_free(ROUTED, [IPv4Network("10.0.0.0/8")])


def test_without_rights_everything_is_on_loopback() -> None:
    async def body() -> None:
        machine = await open_machine(as_root=False)
        try:
            assert machine.ranges.on_loopback
            assert machine.dns_address == str(machine.ranges.services[10])
            await machine.add(str(machine.ranges.pods[5]))
            await machine.remove(str(machine.ranges.pods[5]))
            with pytest.raises(MachineError, match="not an address of this cluster"):
                await machine.add("192.0.2.1")
            assert machine.lends("127.0.0.1")
            assert not machine.lends("192.0.2.1")
            assert not machine.lends("not an address")
        finally:
            await machine.close()

    asyncio.run(body())


def test_folder_remembers_its_ranges(tmp_path: Path) -> None:
    async def body() -> None:
        ranges = own_ranges(127)
        machine = await open_machine(tmp_path, ranges=ranges, as_root=False)
        with pytest.raises(RangeTaken, match="used by another cluster"):
            await open_machine(tmp_path, as_root=False)
        await machine.close()
        again = await open_machine(tmp_path, as_root=False)
        await again.close()
        assert again.ranges == ranges
        (tmp_path / "ranges.json").write_text("nonsense")
        with pytest.raises(MachineError, match=r"ranges\.json"):
            await open_machine(tmp_path, as_root=False)

    asyncio.run(body())


def test_ranges_of_root_are_not_for_others() -> None:
    with pytest.raises(MachineError, match="only be had by root"):
        asyncio.run(open_machine(ranges=ROUTED[-1], as_root=False))


@as_root
def test_addresses_are_there_while_somebody_needs_them() -> None:
    async def body() -> None:
        ranges = own_ranges(10)
        machine = await open_machine(ranges=ranges, as_root=True)
        try:
            holes = {str(ranges.services), str(ranges.pods)}
            assert on_machine(ranges) == holes
            address = str(ranges.services[99])
            await machine.add(address, "a")
            await machine.add(address, "a")
            await machine.add(address, "b")
            assert on_machine(ranges) == {address, *holes}
            await machine.remove(address, "a")
            assert address in on_machine(ranges)
            await machine.remove(address, "b")
            await machine.remove(address, "b")
            assert on_machine(ranges) == holes
            await machine.add(address, "a")
        finally:
            await machine.close()
        assert on_machine(ranges) == set()

    asyncio.run(body())


_KILLED = """
import asyncio, sys
from ipaddress import IPv4Network
from steersman.cluster.machine import Ranges, open_machine
async def main():
    ranges = Ranges(*map(IPv4Network, sys.argv[1:]))
    machine = await open_machine(ranges=ranges, as_root=True)
    await machine.add(str(ranges.services[5]))
    print("ready", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


@as_root
def test_what_a_killed_cluster_left_is_cleaned_by_the_next() -> None:
    ranges = own_ranges(10)
    command = [sys.executable, "-c", _KILLED, *map(str, ranges)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGKILL)
    left = on_machine(ranges)
    assert str(ranges.services[5]) in left

    async def body() -> Machine:
        machine = await open_machine(ranges=ranges, as_root=True)
        assert on_machine(ranges) == {str(ranges.services), str(ranges.pods)}
        await machine.close()
        return machine

    asyncio.run(body())
    assert on_machine(ranges) == set()


@as_root
def test_addresses_that_are_owned_are_left_to_who_opens_the_same_folder(tmp_path: Path) -> None:
    async def body() -> None:
        ranges = own_ranges(10)
        gone, kept, other = str(ranges.pods[6]), str(ranges.services[7]), str(ranges.pods[8])
        machine = await open_machine(tmp_path, ranges=ranges, as_root=True)
        for address in (gone, kept, other):
            await machine.add(address)
        await machine.remove(gone)
        await machine.close(leave_owned=True)
        assert on_machine(ranges) == {kept, other}

        machine = await open_machine(tmp_path, as_root=True)
        try:
            holes = {str(ranges.services), str(ranges.pods)}
            assert on_machine(ranges) == {kept, other, *holes}
            await machine.add(kept)
            machine.sweep()
            assert on_machine(ranges) == {kept, *holes}
        finally:
            await machine.close()
        assert on_machine(ranges) == set()

    asyncio.run(body())


@as_root
def test_connections_into_its_own_ranges_do_not_keep_a_cluster_from_them(tmp_path: Path) -> None:
    async def body() -> None:
        ranges = own_ranges(10)
        machine = await open_machine(tmp_path, ranges=ranges, as_root=True)
        address = str(ranges.services[9])
        await machine.add(address)
        with socket.create_server((address, 0)) as server:
            with socket.create_connection(server.getsockname()), server.accept()[0]:
                await machine.close()
                (tmp_path / "other").mkdir()
                with pytest.raises(RangeTaken, match=address):
                    await open_machine(tmp_path / "other", ranges=ranges, as_root=True)
                machine = await open_machine(tmp_path, as_root=True)
        await machine.close()

    asyncio.run(body())
