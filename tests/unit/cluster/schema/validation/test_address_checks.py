"""Addresses that no endpoint can have."""

from __future__ import annotations

import pytest

from steersman.cluster.schema.validation.address_checks import validate_endpoint_ip
from steersman.objects.fields import Path

LINK_LOCAL = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
MULTICAST = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
LOOPBACK = "may not be in the loopback range (127.0.0.0/8, ::1/128)"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("10.0.0.1", ""),
        ("2001:db8::1", ""),
        ("x", "must be a valid IP address"),
        ("0.0.0.0", "may not be unspecified (0.0.0.0)"),
        ("::", "may not be unspecified (::)"),
        ("127.0.0.9", LOOPBACK),
        ("::1", LOOPBACK),
        ("169.254.1.1", LINK_LOCAL),
        ("fe80::1", LINK_LOCAL),
        ("224.0.0.9", MULTICAST),
        ("224.0.1.9", ""),
        ("ff02::1", MULTICAST),
        ("ff12::1", MULTICAST),
        ("ff05::1", ""),
        ("fd02::1", ""),
    ],
)
def test_an_endpoints_address(address: str, expected: str) -> None:
    errors = [str(error) for error in validate_endpoint_ip(address, Path("ip"))]
    assert errors == ([f'ip: Invalid value: "{address}": {expected}'] if expected else [])
