"""Endpoints: subsets in their one form."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.endpoints.backends import PodEndpoint
from steersman.cluster.controllers.endpoints.subsets import (
    MOST_ADDRESSES,
    repacked,
    service_subsets,
    truncated,
    without_versions,
)
from tests.unit.cluster.controllers.endpoints.endpoint_objects import pod, service

HTTP, METRICS = {"name": "http", "port": 80, "protocol": "TCP"}, {"name": "m", "port": 90, "protocol": "TCP"}


def address(ip: str, name: str = "") -> dict[str, Any]:
    return {"ip": ip, "targetRef": {"uid": name}} if name else {"ip": ip}


def test_addresses_with_the_same_ports_are_together_and_sorted() -> None:
    packed = repacked(
        [
            {"addresses": [address("10.0.0.2")], "ports": [HTTP]},
            {"addresses": [address("10.0.0.1")], "ports": [METRICS, HTTP]},
            {"addresses": [address("10.0.0.2")], "ports": [METRICS]},
        ]
    )
    assert packed == [{"addresses": [address("10.0.0.1"), address("10.0.0.2")], "ports": [METRICS, HTTP]}]


def test_not_ready_counts_more_than_ready() -> None:
    packed = repacked(
        [
            {"addresses": [address("10.0.0.1")], "ports": [HTTP]},
            {"notReadyAddresses": [address("10.0.0.1")], "ports": [HTTP]},
        ]
    )
    assert packed == [{"notReadyAddresses": [address("10.0.0.1")], "ports": [HTTP]}]


def test_the_same_address_of_two_pods_stays_two() -> None:
    two = [address("10.0.0.1", "a"), address("10.0.0.1", "b")]
    assert repacked([{"addresses": [two[1]], "ports": [HTTP]}, {"addresses": [two[0]], "ports": [HTTP]}]) == [
        {"addresses": two, "ports": [HTTP]}
    ]


def test_repacking_twice_changes_nothing() -> None:
    once = repacked(
        [
            {"addresses": [address("10.0.0.3")]},
            {"addresses": [address("10.0.0.2")], "notReadyAddresses": [address("10.0.0.4")], "ports": [HTTP]},
            {"addresses": [address("10.0.0.1")], "ports": [METRICS]},
        ]
    )
    assert len(once) == 3
    assert repacked(once) == once


@pytest.mark.parametrize(
    ("of", "published", "field"),
    [
        pytest.param(pod("p", "10.1.0.1"), False, "addresses", id="ready"),
        pytest.param(pod("p", "10.1.0.1", ready=False), False, "notReadyAddresses", id="not ready"),
        pytest.param(pod("p", "10.1.0.1", ready=False), True, "addresses", id="published"),
        pytest.param(pod("p", "10.1.0.1", deleting=True), False, None, id="going"),
        pytest.param(pod("p", "10.1.0.1", deleting=True), True, "addresses", id="going but published"),
        pytest.param(pod("p", "fd00::1"), False, None, id="of another family"),
        pytest.param(pod("p"), True, None, id="without an address"),
    ],
)
def test_where_a_pod_is_told_of(of: PodEndpoint, published: bool, field: str | None) -> None:
    subsets = service_subsets(service(publishNotReadyAddresses=published), [of])
    assert [name for subset in subsets for name in subset if name != "ports"] == ([field] if field else [])


def test_an_address_says_whose_it_is() -> None:
    [subset] = service_subsets(service(), [pod("p", "10.1.0.1", hostname="h", subdomain="web")])
    assert subset == {
        "addresses": [
            {
                "ip": "10.1.0.1",
                "hostname": "h",
                "nodeName": "n1",
                "targetRef": {"kind": "Pod", "namespace": "ns", "name": "p", "uid": "uid-p"},
            }
        ],
        "ports": [{"port": 8080, "protocol": "TCP"}],
    }


def test_headless_services_without_ports_have_addresses() -> None:
    [subset] = service_subsets(service(clusterIP="None", ports=[]), [pod("p", "10.1.0.1")])
    assert "ports" not in subset
    assert len(subset["addresses"]) == 1


def test_versions_of_pods_do_not_count() -> None:
    plain = {"addresses": [{"ip": "1", "targetRef": {"uid": "u"}}]}
    told = {"addresses": [{"ip": "1", "targetRef": {"uid": "u", "resourceVersion": "5"}}]}
    assert without_versions([told]) == [plain]


@pytest.mark.parametrize(
    ("ready", "not_ready", "kept"),
    [
        pytest.param(600, 400, None, id="just enough"),
        pytest.param(600, 600, (600, 400), id="some of those that are not ready"),
        pytest.param(1500, 10, (1000, 0), id="some of those that are ready"),
    ],
)
def test_too_many_addresses_are_cut(ready: int, not_ready: int, kept: tuple[int, int] | None) -> None:
    subset = {
        "addresses": [address(f"a{number}") for number in range(ready)],
        "notReadyAddresses": [address(f"b{number}") for number in range(not_ready)],
    }
    cut = truncated([subset])
    if kept is None:
        assert cut is None
        return
    assert cut is not None
    assert (len(cut[0].get("addresses", ())), len(cut[0].get("notReadyAddresses", ()))) == kept
    assert sum(kept) == MOST_ADDRESSES
