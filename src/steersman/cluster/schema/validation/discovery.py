"""Validation of EndpointSlices: what rules.txt cannot say about them."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.address_checks import validate_endpoint_ip, validate_legacy_ip
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.addresses import ip_family, is_ip
from steersman.objects.fields import FieldError, Path, internal, invalid, required
from steersman.objects.kinds import Object
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain, is_fully_qualified_domain_name

__all__ = ["validate_addresses", "validate_zone_is_elsewhere"]

_ZONE_LABEL: Final = "topology.kubernetes.io/zone"


def validate_addresses(addresses: list[str], path: Path, endpoint_slice: Object) -> list[FieldError]:
    """The slice says of which type its addresses are."""
    kind = endpoint_slice.get("addressType", "")
    return [
        error
        for index, address in enumerate(addresses)
        for error in _address_errors(address, kind, path, index)
    ]


def validate_zone_is_elsewhere(topology: Object, path: Path) -> list[FieldError]:
    """The zone has a field of its own."""
    if _ZONE_LABEL not in topology:
        return []
    return [internal(path.key(_ZONE_LABEL), "reserved key was not removed in conversion")]


def _address_errors(address: str, kind: str, path: Path, index: int) -> list[FieldError]:
    """Unknown types of addresses are not looked into: they are refused as such."""
    here = path.index(index)
    if kind == "FQDN":
        return _domain_name_errors(address, here)
    if kind not in ("IPv4", "IPv6"):
        return []
    wrong = validate_legacy_ip(here, address) if kind == "IPv4" else invalids(here, address, is_ip(address))
    if wrong:
        return wrong
    errors = []
    if ip_family(address) != kind:
        errors.append(invalid(path, address, f"must be an {kind} address"))
    return errors + validate_endpoint_ip(address, here)


def _domain_name_errors(name: str, path: Path) -> list[FieldError]:
    if not name:
        return [required(path)]
    found = is_fully_qualified_domain_name(name)
    if not found:
        return []
    shown = name.removesuffix(".")
    # Only labels that are too long are found one by one, and then shown alone.
    if "." in shown and not is_dns1123_subdomain(shown):
        shown = next(label for label in shown.split(".") if is_dns1123_label(label))
    return invalids(path, shown, found)
