"""Checks of IP addresses and CIDR blocks in fields: `steersman.objects.addresses` turned into field errors.

Fields older than strict checking keep accepting, on update, the values they already held. Called by the
modules of this package; the rules themselves are in `objects.addresses`.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.addresses import canonical_cidr, canonical_ip, is_legacy_cidr, is_legacy_ip
from steersman.objects.fields import FieldError, Path, invalid

__all__ = [
    "ON_LOOPBACK",
    "cidr_family",
    "parse_cidr",
    "validate_endpoint_ip",
    "validate_legacy_cidr",
    "validate_legacy_ip",
]

#: What an endpoint's address is refused with that only this machine can reach.
ON_LOOPBACK: Final = "may not be in the loopback range (127.0.0.0/8, ::1/128)"


def validate_legacy_ip(path: Path, text: str, known: Collection[str] = ()) -> list[FieldError]:
    """`known` are the addresses of the object being replaced, which stay accepted."""
    return [] if text in known else invalids(path, text, is_legacy_ip(text))


def validate_legacy_cidr(path: Path, text: str, known: Collection[str] = ()) -> list[FieldError]:
    """`known` are the blocks of the object being replaced, which stay accepted."""
    return [] if text in known else invalids(path, text, is_legacy_cidr(text))


def validate_endpoint_ip(text: str, path: Path) -> list[FieldError]:
    """Addresses that no endpoint can have: unspecified, loopback and link-local ones."""
    if is_legacy_ip(text, strict=False):
        return [invalid(path, text, "must be a valid IP address")]
    address = ip_address(canonical_ip(text))
    found = []
    if address.is_unspecified:
        found.append(f"may not be unspecified ({text})")
    if address.is_loopback:
        found.append(ON_LOOPBACK)
    if address.is_link_local:
        found.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if _is_link_local_multicast(int(address), address.version):
        found.append("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
    return invalids(path, text, found)


def _is_link_local_multicast(address: int, version: int) -> bool:
    if version == 4:
        return address >> 8 == 0xE00000
    # ff02::/16 with any flags, since the scope alone says how far it reaches.
    return address >> 120 == 0xFF and (address >> 112) & 0x0F == 0x02


def parse_cidr(text: str) -> IPv4Network | IPv6Network | None:
    """The block, whichever way it is spelled; None when it is none."""
    return None if is_legacy_cidr(text, strict=False) else ip_network(canonical_cidr(text))


def cidr_family(text: str) -> str:
    """ "IPv4" or "IPv6", empty when this is no block."""
    network = parse_cidr(text)
    return "" if network is None else f"IPv{network.version}"
