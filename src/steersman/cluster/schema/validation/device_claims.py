"""Validation of resource claims, their templates and device classes: what rules.txt cannot say about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.cluster.schema.validation.compiled import compiled_check
from steersman.cluster.schema.validation.device_parts import (
    validate_different,
    validate_different_names,
    validate_fully_qualified_name,
    validate_opaque,
    validate_pool_name,
    validate_selectors,
)
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, forbidden, invalid, too_many
from steersman.objects.kinds import Object
from steersman.objects.lifetime import is_deleting
from steersman.objects.names import is_dns1123_label, is_qualified_name

__all__ = [
    "request_references",
    "request_references_of_template",
    "validate_allocation_change",
    "validate_alternatives",
    "validate_different_names",
    "validate_extended_resource",
    "validate_first_allocation",
    "validate_fully_qualified_name",
    "validate_opaque",
    "validate_pool_name",
    "validate_reference",
    "validate_reservation",
    "validate_reserved_once",
    "validate_selectors",
]

#: The check of a reference to a request.
_Reference = Callable[[str, Path], list[FieldError]]

_MOST_CONSUMERS: Final = 256
_UNKNOWN_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_validate_alternatives = compiled_check("resource.v1.DeviceRequest alternatives")
_validate_allocation = compiled_check("resource.v1.AllocationResult")
_validate_declared_allocation = compiled_check("resource.v1.AllocationResult declared")


def validate_extended_resource(name: str, path: Path) -> list[FieldError]:
    """The name under which pods ask for devices of the class as for any other resource."""
    errors = []
    if "/" not in name:
        text = "a name must be a domain-prefixed path, such as 'example.com/my-prop'"
        errors.append(invalid(path, name, text))
    elif "kubernetes.io/" in name:
        errors.append(invalid(path, name, 'must not have "kubernetes.io/" domain'))
    if name.startswith("requests."):
        errors.append(invalid(path, name, 'must not have "requests." prefix'))
    return errors + invalids(path, name, is_qualified_name(f"requests.{name}"))


# --- Requests for devices


def request_references(new: Object, old: Object | None) -> _Reference:
    return _reference_check(((new.get("spec") or {}).get("devices") or {}).get("requests") or [])


def request_references_of_template(new: Object, old: Object | None) -> _Reference:
    return request_references(new.get("spec") or {}, None)


def _reference_check(requests: list[Object]) -> _Reference:
    """The check of a reference to a request, or to an alternative of one."""
    known = {request.get("name", "") for request in requests}
    known |= {
        f"{request.get('name', '')}/{alternative.get('name', '')}"
        for request in requests
        for alternative in request.get("firstAvailable") or ()
    }

    def check(name: str, path: Path) -> list[FieldError]:
        segments = name.split("/")
        if len(segments) > 2:
            return [invalid(path, name, _UNKNOWN_REQUEST)]
        errors = [error for part in segments for error in invalids(path, part, is_dns1123_label(part))]
        return errors if name in known else [*errors, invalid(path, name, _UNKNOWN_REQUEST)]

    return check


def validate_reference(name: str, path: Path, refers: _Reference) -> list[FieldError]:
    return refers(name, path)


def validate_alternatives(request: Object, path: Path) -> list[FieldError]:
    return _validate_alternatives(request, path)


# --- Status


def validate_reservation(claim: Object, path: Path, old: Object) -> list[FieldError]:
    status, before = claim.get("status") or {}, old.get("status") or {}
    consumers, path = status.get("reservedFor") or [], path.child("status", "reservedFor")
    errors: list[FieldError] = []
    if consumers and status.get("allocation") is None:
        errors.append(forbidden(path, "may not be specified when `allocated` is not set"))
    added = any(consumer not in (before.get("reservedFor") or ()) for consumer in consumers)
    deleted = is_deleting(claim)
    if added and status.get("allocation") is not None and deleted:
        text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(forbidden(path, text))
    return errors


def validate_first_allocation(claim: Object, path: Path, old: Object) -> list[FieldError]:
    allocation, before = ((each.get("status") or {}).get("allocation") for each in (claim, old))
    if allocation is None or before is not None:
        return []
    return _validate_allocation(
        allocation, path.child("status", "allocation"), request_references(claim, None)
    )


def validate_allocation_change(claim: Object, path: Path, old: Object | None) -> list[FieldError]:
    if old is None:
        return []
    allocation, before = ((each.get("status") or {}).get("allocation") for each in (claim, old))
    path = path.child("status", "allocation")
    if allocation is None:
        return []
    if before is None:
        return _validate_declared_allocation(allocation, path)
    return [] if allocation == before else [invalid(path, None, "field cannot be modified once set")]


def validate_reserved_once(consumers: list[Object], path: Path) -> list[FieldError]:
    if len(consumers) > _MOST_CONSUMERS:
        return [too_many(path, len(consumers), _MOST_CONSUMERS)]
    return validate_different(consumers, path, "uid")
