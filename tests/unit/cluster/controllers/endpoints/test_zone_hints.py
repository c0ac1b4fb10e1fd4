"""Which zone should use which endpoint."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from steersman.cluster.controllers.endpoints.zone_hints import (
    Hinting,
    NodeShare,
    asks_for_hints,
    node_share,
    zone_ratios,
)

EVEN = {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}


def endpoint(zone: str, *, ready: bool = True) -> dict[str, Any]:
    return {"conditions": {"ready": ready}, **({"zone": zone} if zone else {})}


def hinted(ratios: dict[str, float], endpoints: list[dict[str, Any]]) -> list[str] | str:
    """The zones for endpoints, or why there are none."""
    hinting = Hinting(ratios)
    hinting.give("IPv4", endpoints)
    if problem := hinting.problems["IPv4"]:
        assert not any("hints" in one for one in endpoints)
        return problem
    return [one["hints"]["forZones"][0]["name"] if "hints" in one else "" for one in endpoints]


@pytest.mark.parametrize(
    ("annotations", "asks"),
    [
        ({}, False),
        ({"service.kubernetes.io/topology-mode": "Auto"}, True),
        ({"service.kubernetes.io/topology-mode": "auto"}, True),
        ({"service.kubernetes.io/topology-mode": "Other"}, False),
        (
            {
                "service.kubernetes.io/topology-aware-hints": "Disabled",
                "service.kubernetes.io/topology-mode": "Auto",
            },
            False,
        ),
    ],
)
def test_a_service_asks_by_annotation(annotations: dict[str, str], asks: bool) -> None:
    assert asks_for_hints(annotations) is asks


@pytest.mark.parametrize(
    ("ratios", "zones", "found"),
    [
        pytest.param(EVEN, "aabbcc", list("aabbcc"), id="each its own"),
        pytest.param({"a": 0.5, "b": 0.5}, "aaab", list("baab"), id="one is given away"),
        pytest.param(
            {},
            "ab",
            "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes",
            id="nodes are not known",
        ),
        pytest.param(
            EVEN, "ab", "Insufficient number of endpoints (2 endpoints, 3 zones)", id="too few endpoints"
        ),
        pytest.param(
            EVEN,
            "abcab",
            "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold"
            " (5 endpoints, 3 zones)",
            id="too uneven",
        ),
        pytest.param(
            EVEN,
            "abc-",
            "Unable to allocate minimum required endpoints to each zone without exceeding "
            "overload threshold (4 endpoints, 3 zones)",
            id="four of three",
        ),
        pytest.param(
            {"a": 0.5, "b": 0.5},
            "ab--",
            "One or more endpoints do not have a zone specified",
            id="without zone",
        ),
    ],
)
def test_hints(ratios: dict[str, float], zones: str, found: list[str] | str) -> None:
    assert hinted(ratios, [endpoint(zone.strip("-")) for zone in zones]) == found


def test_only_ready_endpoints_count() -> None:
    endpoints = [endpoint("a"), endpoint("b"), endpoint("b", ready=False)]
    assert hinted({"a": 0.5, "b": 0.5}, endpoints) == ["a", "b", ""]


@pytest.mark.parametrize(
    ("shares", "ratios"),
    [
        ([NodeShare("a", 1000), NodeShare("b", 2000), NodeShare("a", 1000)], {"a": 0.5, "b": 0.5}),
        ([NodeShare("a", 1000)], {}),
        ([NodeShare("a", 1000), NodeShare("b", 1000), NodeShare("", 1000)], {}),
        ([NodeShare("a", 1000), NodeShare("b", 0)], {}),
        ([], {}),
    ],
)
def test_zones_have_parts_of_the_cpu(shares: list[NodeShare], ratios: dict[str, float]) -> None:
    assert zone_ratios(shares) == ratios


def node(ready: str = "True", **labels: str) -> bytes:
    status = {"conditions": [{"type": "Ready", "status": ready}], "allocatable": {"cpu": "1500m"}}
    return orjson.dumps({"metadata": {"labels": labels}, "status": status})


def test_only_ready_workers_count() -> None:
    assert node_share(node(**{"topology.kubernetes.io/zone": "a"})) == NodeShare("a", 1500)
    assert node_share(node("False")) is None
    assert node_share(node(**{"node-role.kubernetes.io/control-plane": ""})) is None
