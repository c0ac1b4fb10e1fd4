"""Whom this machine talks to is found in the kernel's tables and in resolv.conf."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from steersman.cluster.machine import addresses_in_use as module
from steersman.cluster.machine.addresses_in_use import listeners, neighbours
from steersman.cluster.machine.ranges import Ranges, take_first_free

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 020200C0:B0F2 0907F60A:0035 01 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:B0F2 0100007F:0035 01 00000000:00000000 00:00000000 00000000     0        0 1 1
   2: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   3: 020200C0:B0F4 0908F60A:0035 06 00000000:00000000 00:00000000 00000000     0        0 1 1
   4: 0200F40A:B0F4 0300F40A:0035 01 00000000:00000000 00:00000000 00000000     0        0 1 1
   5: 0400F40A:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   6: 0500F40A:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 1
"""


def test_name_servers_and_peers_are_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolvers, connections = tmp_path / "resolv.conf", tmp_path / "tcp"
    resolvers.write_text("# a comment\nnameserver 10.245.0.53\nnameserver ::1\nnameserver\noptions ndots:5\n")
    connections.write_text(TABLE)
    monkeypatch.setattr(module, "_RESOLVERS", resolvers)
    monkeypatch.setattr(module, "_CONNECTIONS", (connections, tmp_path / "nothing"))
    found = neighbours({IPv4Address("10.244.0.3")})
    assert found == [IPv4Network("10.245.0.53"), IPv4Network("10.246.7.9")]


def test_who_waits_for_others_is_a_listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connections = tmp_path / "tcp"
    connections.write_text(TABLE)
    monkeypatch.setattr(module, "_CONNECTIONS", (connections,))
    assert listeners() == [IPv4Network(one) for one in ("0.0.0.0", "10.244.0.4", "10.244.0.5")]


def _ranges(first: str, number: int) -> Ranges:
    services, pods, balancers = (f"{first}.{18 + number}.{part}.0/24" for part in range(3))
    return Ranges(IPv4Network(services), IPv4Network(pods), IPv4Network(balancers))


def test_a_range_with_a_neighbour_is_not_taken() -> None:
    # A part of the documentation's networks that no cluster takes.
    first, second = (_ranges("198", number) for number in range(2))
    neighbour = IPv4Network((first.pods[5], 32))
    taken = take_first_free([first, second], [neighbour])
    taken.close()
    assert taken.ranges == second


@pytest.mark.parametrize("where", ["198", "127"])
def test_a_range_in_which_somebody_listens_is_not_taken(where: str) -> None:
    """Pods may have outlived who held it."""
    first, second = (_ranges(where, number) for number in range(2))
    taken = take_first_free([first, second], [], [IPv4Network((first.pods[5], 32))])
    taken.close()
    assert taken.ranges == second
