"""IP addresses and CIDR blocks as Kubernetes takes them."""

from __future__ import annotations

import pytest

from steersman.objects import addresses

NOT_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


@pytest.mark.parametrize(
    ("text", "legacy", "strict"),
    [
        ("10.0.0.1", [], []),
        ("2001:db8::1", [], []),
        ("FE80:0:0:0:0:0:0:0abc", [], ['must be in canonical form ("fe80::abc")']),
        ("010.002.003.004", ["must not have leading 0s"], ["must not have leading 0s"]),
        (
            "::ffff:1.2.3.4",
            ["must not be an IPv4-mapped IPv6 address"],
            ["must not be an IPv4-mapped IPv6 address"],
        ),
        ("1.2.3", [NOT_IP], [NOT_IP]),
        ("1.2.3.4 ", [NOT_IP], [NOT_IP]),
        ("1.2.3.", [NOT_IP], [NOT_IP]),
        ("fe80::1%eth0", [NOT_IP], [NOT_IP]),
        ("", [NOT_IP], [NOT_IP]),
    ],
)
def test_ip(text: str, legacy: list[str], strict: list[str]) -> None:
    assert addresses.is_legacy_ip(text) == legacy
    assert addresses.is_ip(text) == strict


def test_sloppy_spellings_are_taken_where_they_always_were() -> None:
    assert addresses.is_legacy_ip("010.2.3.4", strict=False) == []
    assert addresses.canonical_ip("010.2.3.4") == "10.2.3.4"
    assert addresses.canonical_ip("::ffff:1.2.3.4") == "1.2.3.4"
    assert addresses.is_legacy_cidr("10.0.0.5/08", strict=False) == []
    with pytest.raises(ValueError, match="not an IP address"):
        addresses.canonical_ip("x")
    with pytest.raises(ValueError, match="not a CIDR block"):
        addresses.canonical_cidr("x")


@pytest.mark.parametrize(
    ("text", "family"), [("10.0.0.1", "IPv4"), ("::1", "IPv6"), ("::ffff:1.2.3.4", "IPv4"), ("x", "")]
)
def test_family(text: str, family: str) -> None:
    assert addresses.ip_family(text) == family


@pytest.mark.parametrize(
    ("text", "legacy", "strict"),
    [
        ("10.0.0.0/8", [], []),
        ("2001:db8::/64", [], []),
        ("2001:DB8::/64", [], ['must be in canonical form ("2001:db8::/64")']),
        ("10.0.0.1/8", *[["must not have bits set beyond the prefix length"]] * 2),
        ("010.0.0.0/8", *[["must not have leading 0s in IP or prefix length"]] * 2),
        ("10.0.0.0/08", *[["must not have leading 0s in IP or prefix length"]] * 2),
        ("::ffff:1.2.3.0/120", *[["must not have an IPv4-mapped IPv6 address"]] * 2),
        ("10.0.0.0/33", [NOT_CIDR], [NOT_CIDR]),
        ("10.0.0.0", [NOT_CIDR], [NOT_CIDR]),
        ("10.0.0.0/-1", [NOT_CIDR], [NOT_CIDR]),
    ],
)
def test_cidr(text: str, legacy: list[str], strict: list[str]) -> None:
    assert addresses.is_legacy_cidr(text) == legacy
    assert addresses.is_cidr(text) == strict


def test_interface_address_keeps_its_host_bits() -> None:
    assert addresses.is_interface_address("192.168.1.5/24") == []
    assert addresses.is_interface_address("::ffff:192.168.0.1/120") == [
        'must be in canonical form ("192.168.0.1/24")'
    ]
    assert addresses.is_interface_address("1.2.3.4") == [
        "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
    ]


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("10.0.0.1", []),
        ("010.0.0.1", ['f: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"']),
        ("::FFFF:1.2.3.4", ['f: non-standard IP address "::FFFF:1.2.3.4" is invalid: use "1.2.3.4"']),
        (
            "2001:DB8::1",
            ['f: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'],
        ),
        ("x", []),
    ],
)
def test_ip_warnings(text: str, warnings: list[str]) -> None:
    assert addresses.ip_warnings("f", text) == warnings


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("10.0.0.0/8", []),
        (
            "10.1.2.3/8",
            [
                'f: CIDR value "10.1.2.3/8" is ambiguous in this context '
                '(should be "10.0.0.0/8" or "10.1.2.3/32"?)'
            ],
        ),
        ("10.0.0.0/08", ['f: non-standard CIDR value "10.0.0.0/08" is invalid: use "10.0.0.0/8"']),
        (
            "2001:DB8::/64",
            ['f: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")'],
        ),
        ("x", []),
    ],
)
def test_cidr_warnings(text: str, warnings: list[str]) -> None:
    assert addresses.cidr_warnings("f", text) == warnings
