"""Endpoints of the core group."""

from __future__ import annotations

from typing import Any

import pytest

METADATA = {"name": "web", "namespace": "default", "resourceVersion": "1"}
BAD_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def subset(**fields: Any) -> dict[str, Any]:
    whole = {"addresses": [{"ip": "10.1.0.1"}], "ports": [{"port": 80, "protocol": "TCP"}]}
    return {"subsets": [whole | fields]}


ENDPOINTS = {
    "valid": (subset(), []),
    "no address": (
        subset(addresses=[]),
        ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"],
    ),
    "not an address": (
        subset(addresses=[{"ip": "x", "hostname": "A", "nodeName": "n_1"}]),
        [
            f'subsets[0].addresses[0].ip: Invalid value: "x": {BAD_IP}',
            'subsets[0].addresses[0].hostname: Invalid value: "A": a lowercase RFC 1123 label '
            "must consist of "
            "lower case alphanumeric characters or '-', and must start and end with an alphanumeric "
            "character "
            "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            'subsets[0].addresses[0].nodeName: Invalid value: "n_1": a lowercase RFC 1123 subdomain must '
            "consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'example.com', regex used for validation is "
            r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address',
        ],
    ),
    "nobody's address": (
        subset(notReadyAddresses=[{"ip": "0.0.0.0"}, {"ip": "169.254.1.1"}, {"ip": "224.0.0.1"}]),
        [
            'subsets[0].notReadyAddresses[0].ip: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
            'subsets[0].notReadyAddresses[1].ip: Invalid value: "169.254.1.1": '
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
            'subsets[0].notReadyAddresses[2].ip: Invalid value: "224.0.0.1": '
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ],
    ),
    "nameless ports": (
        subset(ports=[{"port": 1, "protocol": "TCP"}, {"port": 0, "name": "b", "protocol": ""}]),
        [
            "subsets[0].ports[0].name: Required value",
            "subsets[0].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "subsets[0].ports[1].protocol: Required value",
        ],
    ),
}


@pytest.mark.parametrize("patch, expected", ENDPOINTS.values(), ids=ENDPOINTS)
def test_endpoints_are_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created("", "Endpoints", {"metadata": METADATA}, patch) == expected


def test_what_old_endpoints_held_may_stay(updated: Any) -> None:
    old = {"metadata": METADATA, **subset(addresses=[{"ip": "010.1.0.1"}])}
    assert updated("", "Endpoints", old, {"metadata": {"labels": {"a": "b"}}}) == []
    assert updated("", "Endpoints", old, subset(addresses=[{"ip": "010.1.0.2"}])) != []
