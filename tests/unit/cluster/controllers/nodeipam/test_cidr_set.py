"""CIDRSet of addresses, each given to one node."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from steersman.cluster.controllers.nodeipam.cidr_set import CIDRSet, cluster_ranges


def ranges(cidr: str = "10.0.0.0/22", mask: int = 24) -> CIDRSet:
    return CIDRSet(ip_network(cidr), mask)


def test_ranges_are_given_in_turn_until_none_is_left() -> None:
    some = ranges()
    assert [some.take() for _ in range(5)] == [
        "10.0.0.0/24",
        "10.0.1.0/24",
        "10.0.2.0/24",
        "10.0.3.0/24",
        None,
    ]


def test_a_freed_range_is_used_again_last() -> None:
    some = ranges()
    first = some.take()
    assert first is not None
    some.free(first)
    assert [some.take() for _ in range(4)] == ["10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24", "10.0.0.0/24"]


@pytest.mark.parametrize(
    ("taken", "next_one"),
    [
        pytest.param("10.0.0.0/24", "10.0.1.0/24", id="one range"),
        pytest.param("10.0.0.0/23", "10.0.2.0/24", id="two ranges"),
        pytest.param("10.0.0.128/25", "10.0.1.0/24", id="part of one"),
        pytest.param("192.168.0.0/16", "10.0.0.0/24", id="another network"),
        pytest.param("fd00::/64", "10.0.0.0/24", id="another family"),
        pytest.param("nonsense", "10.0.0.0/24", id="no network"),
    ],
)
def test_what_is_taken_is_not_given(taken: str, next_one: str) -> None:
    some = ranges()
    some.keep(taken)
    assert some.take() == next_one


def test_a_network_that_is_all_taken_has_none() -> None:
    some = ranges()
    some.keep("10.0.0.0/8")
    assert some.take() is None


def test_clusters_with_both_families_have_ranges_of_both() -> None:
    both = cluster_ranges("10.0.0.0/16, fd00:1::/56", 24)
    assert [each.take() for each in both] == ["10.0.0.0/24", "fd00:1::/64"]
    assert cluster_ranges("", 24) == []


def test_parts_larger_than_the_whole_are_refused() -> None:
    with pytest.raises(ValueError, match="no parts of size /16"):
        ranges("10.0.0.0/24", 16)
