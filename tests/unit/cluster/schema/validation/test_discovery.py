"""EndpointSlices."""

from __future__ import annotations

from typing import Any

import pytest

METADATA = {"name": "web", "namespace": "default", "resourceVersion": "1"}
SLICE: dict[str, Any] = {
    "metadata": METADATA,
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["10.1.0.1"], "conditions": {}}],
    "ports": [{"name": "", "port": 80, "protocol": "TCP"}],
}


def endpoint(**fields: Any) -> dict[str, Any]:
    return {"endpoints": [{"addresses": ["10.1.0.1"], "conditions": {}, **fields}]}


SLICES = {
    "valid": ({}, []),
    "no type": ({"addressType": ""}, ["addressType: Required value"]),
    "unknown type comes last": (
        {"addressType": "MAC", **endpoint(hostname="A.b")},
        [
            'endpoints[0].hostname: Invalid value: "A.b": a lowercase RFC 1123 label must consist of '
            "lower case alphanumeric characters or '-', and must start and end with an alphanumeric "
            "character "
            "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            'addressType: Unsupported value: "MAC": supported values: "FQDN", "IPv4", "IPv6"',
        ],
    ),
    "no address": (endpoint(addresses=[]), ["endpoints[0].addresses: Required value"]),
    "too many addresses": (
        endpoint(addresses=[f"10.1.0.{number}" for number in range(101)]),
        ["endpoints[0].addresses: Too many: 101: must have at most 100 items"],
    ),
    "other family": (
        endpoint(addresses=["fd00::1"]),
        ['endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address'],
    ),
    "IPv6 must be canonical": (
        {"addressType": "IPv6", **endpoint(addresses=["FD00::1"])},
        ['endpoints[0].addresses[0]: Invalid value: "FD00::1": must be in canonical form ("fd00::1")'],
    ),
    "short name": (
        {"addressType": "FQDN", **endpoint(addresses=["web"])},
        [
            'endpoints[0].addresses[0]: Invalid value: "web": '
            "should be a domain with at least two segments separated by dots"
        ],
    ),
    "names": ({"addressType": "FQDN", **endpoint(addresses=["web.example.com", "a.b."])}, []),
    "name of a wrong form": (
        {"addressType": "FQDN", **endpoint(addresses=["web_.example.com"])},
        [
            'endpoints[0].addresses[0]: Invalid value: "web_.example.com": a lowercase RFC '
            "1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character (e.g. 'example.com', regex "
            "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\."
            "[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ],
    ),
    "name of a long part": (
        {"addressType": "FQDN", **endpoint(addresses=["a." + "x" * 64])},
        [
            "endpoints[0].addresses[0]: Invalid value: "
            '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be no '
            "more than 63 characters",
        ],
    ),
    "empty name": (
        {"addressType": "FQDN", **endpoint(addresses=[""])},
        [
            "endpoints[0].addresses[0]: Required value",
        ],
    ),
    "repeated port names": (
        {"ports": [{"name": ""}, {"name": "", "protocol": "HTTP"}]},
        [
            "ports[0].protocol: Required value",
            'ports[1].name: Duplicate value: ""',
            'ports[1].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
        ],
    ),
    "repeated hints": (
        endpoint(hints={"forZones": [{"name": "a"}, {"name": "a"}]}),
        ['endpoints[0].hints.forZones[1].name: Duplicate value: "a"'],
    ),
    "too many hints": (
        endpoint(hints={"forNodes": [{"name": f"n{number}"} for number in range(9)]}),
        ["endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items"],
    ),
}


@pytest.mark.parametrize("patch, expected", SLICES.values(), ids=SLICES)
def test_slice_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created("discovery.k8s.io", "EndpointSlice", SLICE, patch) == expected


def test_address_type_stays(updated: Any) -> None:
    patch = {"addressType": "FQDN", "endpoints": None}
    assert updated("discovery.k8s.io", "EndpointSlice", SLICE, patch) == [
        "addressType: Invalid value: null: field is immutable"
    ]


def test_endpoints_that_are_left_alone_are_not_judged_again(updated: Any) -> None:
    for wrong in (endpoint(addresses=["fd00::1"]), endpoint(addresses=[])):
        assert len(updated("discovery.k8s.io", "EndpointSlice", SLICE, wrong)) == 1
        old = {**SLICE, **wrong}
        assert updated("discovery.k8s.io", "EndpointSlice", old, {"metadata": {"labels": {"a": "b"}}}) == []
