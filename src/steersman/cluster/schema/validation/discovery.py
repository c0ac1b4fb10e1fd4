"""Validation of EndpointSlices. The package's `__init__` finds `RULES` here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.cluster.schema.validation.address_checks import validate_endpoint_ip, validate_legacy_ip
from steersman.cluster.schema.validation.rules import Object, Rules, invalids
from steersman.cluster.schema.validation.values import PROTOCOLS
from steersman.objects.addresses import ip_family, is_ip
from steersman.objects.fields import (
    FieldError,
    Path,
    duplicate,
    internal,
    invalid,
    not_supported,
    required,
    too_many,
)
from steersman.objects.metadata import validate_labels
from steersman.objects.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_fully_qualified_domain_name,
    is_label_key,
    is_label_value,
)

__all__ = ["RULES"]

_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_MAX_ENDPOINTS: Final = 1000
_MAX_PORTS: Final = 20000
_MAX_ADDRESSES: Final = 100
_MAX_TOPOLOGY_LABELS: Final = 16
_MAX_HINTS: Final = 8
_ZONE_LABEL: Final = "topology.kubernetes.io/zone"


def _create(endpoint_slice: Object) -> list[FieldError]:
    return _port_errors(endpoint_slice) + _endpoints_errors(endpoint_slice)


def _update(new: Object, old: Object) -> list[FieldError]:
    kind = new.get("addressType", "")
    errors = []
    if kind != old.get("addressType", "") and kind and kind not in _ADDRESS_TYPES:
        errors.append(not_supported(Path("addressType"), kind, _ADDRESS_TYPES))
    errors += _port_errors(new)
    # What older versions let in may stay as long as it is left alone.
    if new.get("endpoints") != old.get("endpoints"):
        errors += _endpoints_errors(new)
    return errors


def _late(new: Object, old: Object | None) -> list[FieldError]:
    kind = new.get("addressType", "")
    path = Path("addressType")
    errors = []
    if old is None or kind != old.get("addressType", ""):
        if not kind:
            errors.append(required(path))
        if old is not None:
            errors.append(invalid(path, None, "field is immutable"))
        elif kind and kind not in _ADDRESS_TYPES:
            errors.append(not_supported(path, kind, _ADDRESS_TYPES))
    if old is not None and new.get("endpoints") == old.get("endpoints"):
        return errors
    for index, endpoint in enumerate(new.get("endpoints") or []):
        path = Path("endpoints").index(index).child("addresses")
        count = len(endpoint.get("addresses") or [])
        if not count:
            errors.append(required(path))
        elif count > _MAX_ADDRESSES:
            errors.append(too_many(path, count, _MAX_ADDRESSES))
    return errors


def _port_errors(endpoint_slice: Object) -> list[FieldError]:
    ports = endpoint_slice.get("ports") or []
    if len(ports) > _MAX_PORTS:
        return [too_many(Path("ports"), len(ports), _MAX_PORTS)]
    errors = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        path = Path("ports").index(index)
        name, protocol, application = (port.get(field) for field in ("name", "protocol", "appProtocol"))
        name = name or ""
        if name:
            errors += invalids(path.child("name"), name, is_dns1123_label(name))
        if name in names:
            errors.append(duplicate(path.child("name"), name))
        names.add(name)
        if protocol is None:
            errors.append(required(path.child("protocol")))
        elif protocol not in PROTOCOLS:
            errors.append(not_supported(path.child("protocol"), protocol, PROTOCOLS))
        if application is not None:
            errors += invalids(path.child("appProtocol"), application, is_label_key(application))
    return errors


def _endpoints_errors(endpoint_slice: Object) -> list[FieldError]:
    endpoints = endpoint_slice.get("endpoints") or []
    path = Path("endpoints")
    if len(endpoints) > _MAX_ENDPOINTS:
        return [too_many(path, len(endpoints), _MAX_ENDPOINTS)]
    kind = endpoint_slice.get("addressType", "")
    errors = []
    for index, endpoint in enumerate(endpoints):
        errors += _endpoint_errors(endpoint, kind, path.index(index))
    return errors


def _endpoint_errors(endpoint: Object, kind: str, path: Path) -> list[FieldError]:
    errors = []
    for index, address in enumerate(endpoint.get("addresses") or []):
        errors += _address_errors(address, kind, path.child("addresses"), index)
    node = endpoint.get("nodeName")
    if node is not None:
        errors += invalids(path.child("nodeName"), node, is_dns1123_subdomain(node))
    topology, topology_path = endpoint.get("deprecatedTopology") or {}, path.child("deprecatedTopology")
    if len(topology) > _MAX_TOPOLOGY_LABELS:
        errors.append(too_many(topology_path, len(topology), _MAX_TOPOLOGY_LABELS))
    errors += validate_labels(topology, topology_path)
    if _ZONE_LABEL in topology:
        errors.append(internal(topology_path.key(_ZONE_LABEL), "reserved key was not removed in conversion"))
    host = endpoint.get("hostname")
    if host is not None:
        errors += invalids(path.child("hostname"), host, is_dns1123_label(host))
    hints = endpoint.get("hints")
    return errors if hints is None else errors + _hints_errors(hints, path.child("hints"))


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


def _hints_errors(hints: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    rules: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
        ("forZones", is_label_value),
        ("forNodes", is_dns1123_subdomain),
    )
    for field, rule in rules:
        entries = hints.get(field) or []
        if len(entries) > _MAX_HINTS:
            return [*errors, too_many(path.child(field), len(entries), _MAX_HINTS)]
        names: set[str] = set()
        for index, entry in enumerate(entries):
            name = entry.get("name", "")
            here = path.child(field).index(index).child("name")
            if name in names:
                errors.append(duplicate(here, name))
            names.add(name)
            errors += invalids(here, name, rule(name))
    return errors


RULES: Final = {
    ("discovery.k8s.io", "EndpointSlice"): Rules(create=_create, update=_update, late=_late),
}
