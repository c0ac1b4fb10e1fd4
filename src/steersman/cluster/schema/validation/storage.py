"""Validation of storage.k8s.io: what rules.txt cannot say about classes, drivers and attachments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from steersman.cluster.schema.validation.internal_values import Shape, as_internal
from steersman.cluster.schema.validation.pods.volume_sources import validate_csi_driver_name
from steersman.cluster.schema.validation.rules import invalids
from steersman.cluster.schema.validation.storage_core import validate_volume_spec
from steersman.objects.fields import FieldError, Path, duplicate, invalid, required, too_long
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_label_name
from steersman.objects.names import is_qualified_name

__all__ = [
    "validate_attacher_change",
    "validate_csi_driver_name",
    "validate_drivers_change",
    "validate_inline_volume",
    "validate_metadata_size",
    "validate_parameters",
    "validate_provisioner",
    "validate_token_requests",
    "validate_topologies",
]

_MOST_PARAMETERS: Final = 512
_LARGEST_MAP: Final = 256 * 1024


def _size(entries: Mapping[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in entries.items())


# --- Storage classes and volume attributes classes


def validate_provisioner(name: str, path: Path) -> list[FieldError]:
    lower = name.lower()
    return invalids(path, lower, is_qualified_name(lower))


def validate_parameters(parameters: Mapping[str, str], path: Path) -> list[FieldError]:
    if len(parameters) > _MOST_PARAMETERS:
        return [too_long(path, _MOST_PARAMETERS)]
    errors = [invalid(path, "", "field can not be empty.")] if "" in parameters else []
    if _size(parameters) > _LARGEST_MAP:
        errors.append(too_long(path, _LARGEST_MAP))
    return errors


def validate_topologies(terms: list[Object], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    # Kubernetes starts with as many empty terms as there are terms, so that an empty one repeats each.
    seen: list[dict[str, set[str]] | None] = [None] * len(terms)
    for number, term in enumerate(terms):
        at = path.index(number).child("matchLabelExpressions")
        meaning, wrong = _topology_term(term, at)
        errors += wrong
        errors += [duplicate(at, "") for other in seen if (other or {}) == meaning]
        seen.append(meaning)
    return errors


def _topology_term(term: Object, path: Path) -> tuple[dict[str, set[str]], list[FieldError]]:
    meaning: dict[str, set[str]] = {}
    errors: list[FieldError] = []
    for number, requirement in enumerate(term.get("matchLabelExpressions") or ()):
        at = path.index(number)
        key, values = requirement.get("key", ""), requirement.get("values") or []
        if not values:
            errors.append(required(at.child("values")))
        unique: set[str] = set()
        for position, value in enumerate(values):
            if value in unique:
                errors.append(duplicate(at.child("values").index(position), value))
            unique.add(value)
        errors += validate_label_name(key, at.child("key"))
        if key in meaning:
            errors.append(duplicate(at.child("key"), key))
        meaning[key] = unique
    return meaning, errors


# --- Attachments


def validate_metadata_size(metadata: Mapping[str, str], path: Path) -> list[FieldError]:
    return [too_long(path, _LARGEST_MAP)] if _size(metadata) > _LARGEST_MAP else []


def validate_inline_volume(spec: Object, path: Path) -> list[FieldError]:
    return validate_volume_spec(spec, "", path, inline=True)


def validate_attacher_change(obj: Object, path: Path, old: Object) -> list[FieldError]:
    """The declared rules of the attacher are not asked about a spec that may not change anyway."""
    spec = obj.get("spec") or {}
    if spec == (old.get("spec") or {}):
        return []
    return validate_csi_driver_name(spec.get("attacher", ""), path.child("spec", "attacher"))


# --- Drivers and the nodes they run on


def validate_token_requests(requests: Any, path: Path) -> list[FieldError]:
    errors = []
    audiences: set[str] = set()
    for number, request in enumerate(requests):
        audience, seconds = request.get("audience", ""), request.get("expirationSeconds")
        if audience in audiences:
            errors.append(duplicate(path.index(number).child("audience"), audience))
            continue
        audiences.add(audience)
        at = path.index(number).child("expirationSeconds")
        if seconds is not None and seconds < 600:
            errors.append(invalid(at, seconds, "may not specify a duration less than 10 minutes"))
        if seconds is not None and seconds > 1 << 32:
            errors.append(invalid(at, seconds, "may not specify a duration larger than 2^32 seconds"))
    return errors


_NODE_DRIVER_SHAPE: Final[Shape] = (
    ("name", "Name", ""),
    ("nodeID", "NodeID", ""),
    ("topologyKeys", "TopologyKeys", None),
    ("-", "Allocatable", None),
)


def validate_drivers_change(obj: Object, path: Path, old: Object) -> list[FieldError]:
    new = {driver.get("name"): driver for driver in (obj.get("spec") or {}).get("drivers") or ()}
    errors = []
    for driver in (old.get("spec") or {}).get("drivers") or ():
        # How many volumes a driver can take may change; who it is may not.
        before = as_internal(driver, _NODE_DRIVER_SHAPE)
        after = as_internal(new.get(driver.get("name")), _NODE_DRIVER_SHAPE)
        if after is not None and after != before:
            errors.append(invalid(path.child("spec", "drivers"), after, "field is immutable"))
    return errors
