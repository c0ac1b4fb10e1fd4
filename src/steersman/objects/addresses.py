"""IP addresses and CIDR blocks as Kubernetes accepts and words them: `is_<rule>(text) -> list[str]`.

"Legacy" rules are those of fields older than strict checking (pod and service IPs, network policies):
any spelling of a valid address, but no leading zeros and no IPv4-mapped IPv6. New fields must also be
in canonical form. Called by the validation of built-in types; knows nothing of objects.
"""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network

from steersman.objects.fields import quote

__all__ = [
    "canonical_cidr",
    "canonical_ip",
    "cidr_warnings",
    "ip_family",
    "ip_warnings",
    "is_cidr",
    "is_interface_address",
    "is_ip",
    "is_legacy_cidr",
    "is_legacy_ip",
]

_Address = IPv4Address | IPv6Address


def is_ip(text: str) -> list[str]:
    """A valid address in canonical form."""
    errors = is_legacy_ip(text)
    if errors:
        return errors
    wanted = canonical_ip(text)
    return [] if text == wanted else [f"must be in canonical form ({quote(wanted)})"]


def is_legacy_ip(text: str, *, strict: bool = True) -> list[str]:
    address = _parse(text)
    if address is None:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if not strict:
        return []
    if _has_leading_zeros(text):
        return ["must not have leading 0s"]
    if _is_mapped(address):
        return ["must not be an IPv4-mapped IPv6 address"]
    return []


def ip_family(text: str) -> str:
    """ "IPv4" or "IPv6" (IPv4-mapped counts as IPv4), empty when this is no address."""
    address = _parse(text)
    return "" if address is None else f"IPv{_unmapped(address).version}"


def canonical_ip(text: str) -> str:
    """The one right spelling of an address that `is_legacy_ip(strict=False)` accepts."""
    address = _parse(text)
    if address is None:
        raise ValueError(f"not an IP address: {text}")
    return str(_unmapped(address))


def ip_warnings(path: object, text: str) -> list[str]:
    """What a client is warned of when a legacy field's address is fine but oddly spelled."""
    address = _parse(text)
    if address is None:
        return []
    wanted = str(_unmapped(address))
    if _has_leading_zeros(text) or _is_mapped(address):
        return [f"{path}: non-standard IP address {quote(text)} is invalid: use {quote(wanted)}"]
    if address.version == 6 and wanted != text:
        return [
            f"{path}: IPv6 address {quote(text)} should be in RFC 5952 canonical format ({quote(wanted)})"
        ]
    return []


def is_cidr(text: str) -> list[str]:
    """A valid block in canonical form, no bits set after the prefix."""
    errors = is_legacy_cidr(text)
    if errors:
        return errors
    wanted = canonical_cidr(text)
    return [] if text == wanted else [f"must be in canonical form ({quote(wanted)})"]


def is_legacy_cidr(text: str, *, strict: bool = True) -> list[str]:
    parsed = _parse_cidr(text)
    if parsed is None:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    if not strict:
        return []
    address, length = parsed
    ip_text, _, length_text = text.partition("/")
    if _has_leading_zeros(ip_text) or length_text != str(length):
        return ["must not have leading 0s in IP or prefix length"]
    if _is_mapped(address):
        return ["must not have an IPv4-mapped IPv6 address"]
    if _network(address, length).network_address != address:
        return ["must not have bits set beyond the prefix length"]
    return []


def canonical_cidr(text: str) -> str:
    """The one right spelling of a block that `is_legacy_cidr(strict=False)` accepts."""
    parsed = _parse_cidr(text)
    if parsed is None:
        raise ValueError(f"not a CIDR block: {text}")
    return str(_network(*_unmapped_cidr(*parsed)))


def cidr_warnings(path: object, text: str) -> list[str]:
    parsed = _parse_cidr(text)
    if parsed is None:
        return []
    address, length = parsed
    wanted = canonical_cidr(text)
    warnings = []
    if _network(address, length).network_address != address:
        single = f"{_unmapped(address)}/{address.max_prefixlen}"
        warnings.append(
            f"{path}: CIDR value {quote(text)} is ambiguous in this context "
            f"(should be {quote(wanted)} or {quote(single)}?)"
        )
    ip_text, _, length_text = text.partition("/")
    if _has_leading_zeros(ip_text) or length_text != str(length) or _is_mapped(address):
        warnings.append(f"{path}: non-standard CIDR value {quote(text)} is invalid: use {quote(wanted)}")
    if not warnings and address.version == 6 and wanted != text:
        warnings.append(
            f"{path}: IPv6 CIDR value {quote(text)} should be in RFC 5952 canonical format ({quote(wanted)})"
        )
    return warnings


def is_interface_address(text: str) -> list[str]:
    """An address with its subnet's length, as `ip addr` shows them."""
    parsed = _parse_cidr(text)
    if parsed is None:
        return ["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"]
    address, length = _unmapped_cidr(*parsed)
    wanted = f"{address}/{length}"
    return [] if text == wanted else [f"must be in canonical form ({quote(wanted)})"]


def _parse(text: str) -> _Address | None:
    """Any spelling Kubernetes ever took: leading zeros in IPv4 octets are decimal, zones are refused."""
    if "%" in text or not text.isascii():
        return None
    try:
        if ":" not in text:
            return IPv4Address(_without_leading_zeros(text))
        head, colon, tail = text.rpartition(":")
        return IPv6Address(head + colon + _without_leading_zeros(tail) if "." in tail else text)
    except AddressValueError:
        return None


def _without_leading_zeros(dotted: str) -> str:
    return ".".join(part.lstrip("0") or part[:1] for part in dotted.split("."))


def _has_leading_zeros(text: str) -> bool:
    dotted = text.rpartition(":")[2]
    return "." in dotted and _without_leading_zeros(dotted) != dotted


def _is_mapped(address: _Address) -> bool:
    return address.version == 6 and address.ipv4_mapped is not None


def _unmapped(address: _Address) -> _Address:
    if address.version == 6 and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _unmapped_cidr(address: _Address, length: int) -> tuple[_Address, int]:
    return (_unmapped(address), length - 96) if _is_mapped(address) and length >= 96 else (address, length)


def _parse_cidr(text: str) -> tuple[_Address, int] | None:
    ip_text, slash, length_text = text.partition("/")
    if not slash or not (length_text.isascii() and length_text.isdigit()):
        return None
    address = _parse(ip_text)
    if address is None or int(length_text) > address.max_prefixlen:
        return None
    return address, int(length_text)


def _network(address: _Address, length: int) -> IPv4Network | IPv6Network:
    kind = IPv4Network if address.version == 4 else IPv6Network
    return kind((int(address), length), strict=False)
