"""The IP and CIDR libraries: `ip('10.0.0.1')`, `cidr('10.0.0.0/8').containsIP('10.1.2.3')`."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.functions import Function, function, member, overload
from steersman.cluster.cel.library import costs
from steersman.cluster.cel.types import BOOL, INT, STRING, opaque
from steersman.cluster.cel.values import Frame

__all__ = ["CIDR", "FUNCTIONS", "IP", "CidrValue", "IpValue"]

IP: Final = opaque("net.IP")
CIDR: Final = opaque("net.CIDR")
_NETWORK_ERROR: Final = "network address parse error during conversion from string: "

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class IpValue:
    """An IP address."""

    cel_type: ClassVar[str] = "net.IP"
    address: _Address

    @property
    def cel_size(self) -> int:
        return self.address.max_prefixlen // 8


@dataclass(frozen=True, slots=True)
class CidrValue:
    """An IP address with a prefix length; host bits may be set."""

    cel_type: ClassVar[str] = "net.CIDR"
    address: _Address
    bits: int

    @property
    def cel_size(self) -> int:
        return (self.bits + 7) // 8

    def masked(self) -> CidrValue:
        return CidrValue(self._network().network_address, self.bits)

    def contains(self, address: _Address) -> bool:
        return address.version == self.address.version and address in self._network()

    def _network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        return ipaddress.ip_network(f"{self.address}/{self.bits}", strict=False)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


def _address(text: str) -> _Address:
    """Read an address; ValueError says, in Go's words, why it is none."""
    if len(text) > 64:
        raise ValueError(f"ParseAddr({json.dumps(text)}): unable to parse IP")
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(_unparsable(text)) from None
    return found


def _unparsable(text: str) -> str:
    called = f"ParseAddr({json.dumps(text)}): "
    if "." in text and ":" not in text:
        parts = text.split(".")
        if any(not part.isdecimal() and part for part in parts):
            odd = next(part for part in parts if part and not part.isdecimal())
            bad = next(char for char in odd if not char.isdecimal())
            at = json.dumps(text[text.index(bad) :])
            return called + f"unexpected character (at {at})"
        if any(part == "" for part in parts):
            return called + 'IPv4 field must have at least one digit (at "' + text[text.find("..") :] + '")'
        if any(len(part) > 1 and part[0] == "0" for part in parts):
            return called + "IPv4 field has octet with leading zero"
        if any(int(part[:4]) > 255 for part in parts):
            return called + "IPv4 field has value >255"
        return called + ("IPv4 address too short" if len(parts) < 4 else "IPv4 address too long")
    if ":::" in text:
        rest = json.dumps(text[text.index(":::") + 2 :])
        return called + f"each colon-separated field must have at least one digit (at {rest})"
    if ":" in text and len(text.split(":")) < 8 and "::" not in text:
        return called + "address string too short"
    return called + "unable to parse IP"


def _read_address(text: str) -> IpValue:
    try:
        found = _address(text)
    except ValueError as error:
        raise EvaluationError(
            f"IP Address {json.dumps(text)} parse error during conversion from string: {error}"
        ) from error
    if isinstance(found, ipaddress.IPv6Address):
        if found.scope_id:
            raise EvaluationError(f"IP address {json.dumps(text)} with zone value is not allowed")
        if found.ipv4_mapped is not None:
            raise EvaluationError(f"IPv4-mapped IPv6 address {json.dumps(text)} is not allowed")
    return IpValue(found)


def _read_network(text: str) -> CidrValue:
    # kube-apiserver says it twice.
    shown = _NETWORK_ERROR * 2 + f"netip.ParsePrefix({json.dumps(text)}): "
    head, slash, bits = text.rpartition("/")
    if not slash:
        raise EvaluationError(shown + "no '/'")
    try:
        found = _address(head)
    except ValueError as error:
        raise EvaluationError(shown + str(error)) from error
    if isinstance(found, ipaddress.IPv6Address) and found.scope_id:
        raise EvaluationError(shown + "IPv6 zones cannot be present in a prefix")
    if not bits.isdecimal() or not bits.isascii() or (len(bits) > 1 and bits[0] in "0+-"):
        raise EvaluationError(shown + f"bad bits after slash: {json.dumps(bits)}")
    if len(bits) > 3 or int(bits) > found.max_prefixlen:
        raise EvaluationError(shown + "prefix length out of range")
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        raise EvaluationError(f"{_NETWORK_ERROR}IPv4-mapped IPv6 address {json.dumps(text)} is not allowed")
    return CidrValue(found, int(bits))


def _is(read: Any) -> Any:
    def run(_frame: Frame, text: str) -> bool:
        try:
            read(text)
        except EvaluationError:
            return False
        return True

    return run


def _property(test: Any) -> Any:
    return lambda _frame, value: test(value.address)


def _link_local_multicast(address: _Address) -> bool:
    if address.version == 4:
        return address in ipaddress.ip_network("224.0.0.0/24")
    # ff02::/16, whatever the flags say.
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2


def _global_unicast(address: _Address) -> bool:
    broadcast = address.version == 4 and int(address) == 0xFFFFFFFF
    return not (
        broadcast
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def _contains_ip(_frame: Frame, network: CidrValue, address: IpValue | str) -> bool:
    if isinstance(address, str):
        address = _read_address(address)
    return network.contains(address.address)


def _contains_cidr(_frame: Frame, network: CidrValue, other: CidrValue | str) -> bool:
    if isinstance(other, str):
        other = _read_network(other)
    return network.bits <= other.bits and network.contains(other.address)


def _price(extra: int) -> Any:
    """Comparing two prefixes, and reading the other one when it is text."""

    def cost(network: CidrValue, other: Any) -> int:
        read = costs.tenth(len(other)) if isinstance(other, str) else 0
        own = network.cel_size
        return costs.tenth(2 * own) + read + (costs.tenth(own) + 1 if extra else 0)

    return cost


_SCAN: Final = costs.of_argument(0)
_PROPERTIES: Final = {
    ("isUnspecified", "ip_is_unspecified"): lambda address: address.is_unspecified,
    ("isLoopback", "ip_is_loopback"): lambda address: address.is_loopback,
    ("isLinkLocalMulticast", "ip_is_link_local_multicast"): _link_local_multicast,
    ("isLinkLocalUnicast", "ip_is_link_local_unicast"): lambda address: address.is_link_local,
    ("isGlobalUnicast", "ip_is_global_unicast"): _global_unicast,
}

FUNCTIONS: Final[list[Function]] = [
    function(
        "ip",
        overload("string_to_ip", [STRING], IP, lambda _f, text: _read_address(text), _SCAN),
        member("cidr_ip", [CIDR], IP, lambda _f, network: IpValue(network.address)),
    ),
    function("isIP", overload("is_ip", [STRING], BOOL, _is(_read_address), _SCAN)),
    function(
        "ip.isCanonical",
        overload("ip_is_canonical", [STRING], BOOL,
                 lambda _f, text: str(_read_address(text).address) == text, costs.of_argument(0, 2)),
    ),
    function("family", member("ip_family", [IP], INT, _property(lambda address: address.version))),
    *(
        function(name, member(identifier, [IP], BOOL, _property(test)))
        for (name, identifier), test in _PROPERTIES.items()
    ),
    function("cidr", overload("string_to_cidr", [STRING], CIDR, lambda _f, text: _read_network(text), _SCAN)),
    function("isCIDR", overload("is_cidr", [STRING], BOOL, _is(_read_network), _SCAN)),
    function(
        "containsIP",
        member("cidr_contains_ip_string", [CIDR, STRING], BOOL, _contains_ip, _price(0)),
        member("cidr_contains_ip_ip", [CIDR, IP], BOOL, _contains_ip, _price(0)),
    ),
    function(
        "containsCIDR",
        member("cidr_contains_cidr_string", [CIDR, STRING], BOOL, _contains_cidr, _price(1)),
        member("cidr_contains_cidr", [CIDR, CIDR], BOOL, _contains_cidr, _price(1)),
    ),
    function("prefixLength", member("cidr_prefix_length", [CIDR], INT, lambda _f, network: network.bits)),
    function("masked", member("cidr_masked", [CIDR], CIDR, lambda _f, network: network.masked())),
    function(
        "string",
        overload("ip_to_string", [IP], STRING, lambda _f, value: str(value.address)),
        overload("cidr_to_string", [CIDR], STRING, lambda _f, value: str(value)),
    ),
]  # fmt: skip
