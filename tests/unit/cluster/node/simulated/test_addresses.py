"""Addresses of simulated nodes and pods."""

from __future__ import annotations

from steersman.cluster.node.simulated.addresses import SimulatedPodAddresses, node_address, own_range


def test_nodes_have_addresses_of_their_own() -> None:
    assert len({node_address(number) for number in range(5000)}) == 5000
    assert len({own_range(number) for number in range(5000)}) == 5000


def test_addresses_are_given_once_and_used_again_late() -> None:
    pool = SimulatedPodAddresses("10.0.0.0/29")
    given = [pool.take() for _ in range(6)]
    assert given == ["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", ""]
    pool.free("10.0.0.4")
    assert pool.take() == "10.0.0.4"
    pool = SimulatedPodAddresses("10.0.0.0/29")
    pool.keep("10.0.0.2")
    pool.free(pool.take())
    assert pool.take() == "10.0.0.4"


def test_an_address_is_free_when_all_that_have_it_let_go() -> None:
    pool = SimulatedPodAddresses("10.0.0.0/29")
    pool.keep("10.0.0.2")
    pool.keep("10.0.0.2")
    pool.free("10.0.0.2")
    assert "10.0.0.2" not in [pool.take() for _ in range(4)]
    pool.free("10.0.0.2")
    assert pool.take() == "10.0.0.2"
