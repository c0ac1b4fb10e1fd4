"""Validation of Endpoints. The package's `__init__` finds `RULES` here."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.validation.address_checks import validate_endpoint_ip, validate_legacy_ip
from steersman.cluster.schema.validation.rules import Object, Rules, invalids
from steersman.cluster.schema.validation.values import validate_protocol
from steersman.objects.fields import FieldError, Path, required
from steersman.objects.names import is_dns1123_label, is_dns1123_subdomain, is_label_key, is_port_number

__all__ = ["RULES"]


def _create(endpoints: Object) -> list[FieldError]:
    errors = []
    for index, subset in enumerate(endpoints.get("subsets") or []):
        errors += _subset_errors(subset, Path("subsets").index(index))
    return errors


def _update(new: Object, old: Object) -> list[FieldError]:
    # What older versions let in may stay as long as it is left alone.
    return [] if new.get("subsets") == old.get("subsets") else _create(new)


def _subset_errors(subset: Object, path: Path) -> list[FieldError]:
    errors = []
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        errors.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
    for field in ("addresses", "notReadyAddresses"):
        for index, address in enumerate(subset.get(field) or []):
            errors += _address_errors(address, path.child(field).index(index))
    ports = subset.get("ports") or []
    for index, port in enumerate(ports):
        errors += _port_errors(port, len(ports) > 1, path.child("ports").index(index))
    return errors


def _address_errors(address: Object, path: Path) -> list[FieldError]:
    text, host, node = address.get("ip", ""), address.get("hostname", ""), address.get("nodeName")
    errors = validate_legacy_ip(path.child("ip"), text)
    if host:
        errors += invalids(path.child("hostname"), host, is_dns1123_label(host))
    if node is not None:
        errors += invalids(path.child("nodeName"), node, is_dns1123_subdomain(node))
    return errors + validate_endpoint_ip(text, path.child("ip"))


def _port_errors(port: Object, name_needed: bool, path: Path) -> list[FieldError]:
    name, number, application = port.get("name", ""), port.get("port", 0), port.get("appProtocol")
    errors = []
    if name:
        errors += invalids(path.child("name"), name, is_dns1123_label(name))
    elif name_needed:
        errors.append(required(path.child("name")))
    errors += invalids(path.child("port"), number, is_port_number(number))
    errors += validate_protocol(port.get("protocol", ""), path.child("protocol"))
    if application is not None:
        errors += invalids(path.child("appProtocol"), application, is_label_key(application))
    return errors


RULES: Final = {("", "Endpoints"): Rules(create=_create, update=_update)}
