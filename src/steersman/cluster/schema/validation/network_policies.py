"""Validation of NetworkPolicies: what rules.txt cannot say about them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from steersman.cluster.schema.validation.address_checks import parse_cidr, validate_legacy_cidr
from steersman.cluster.schema.validation.rules import invalids
from steersman.objects.fields import FieldError, Path, invalid
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_label_selector
from steersman.objects.names import is_port_name, is_port_number

__all__ = ["tolerance_of", "validate_block", "validate_port_range", "validate_selector"]

#: The direction of a rule and the field that lists its peers.
_DIRECTIONS: Final = (("ingress", "from"), ("egress", "to"))


@dataclass(frozen=True, slots=True)
class _Tolerance:
    """What the policy being replaced held already and may therefore stay, wrong as it is."""

    odd_label_values: bool = False
    blocks: Collection[str] = ()


def tolerance_of(new: Object, old: Object | None) -> _Tolerance:
    if old is None:
        return _Tolerance()
    spec: Object = old["spec"]
    odd = bool(validate_label_selector(spec.get("podSelector") or {}, Path()))
    return _Tolerance(
        odd, [text for block in _blocks(spec) for text in (_cidr(block), *(block.get("except") or []))]
    )


def _cidr(block: Object) -> str:
    text: str = block.get("cidr", "")
    return text


def _blocks(spec: Object) -> Iterator[Object]:
    """Every ipBlock of the policy."""
    for direction, peers in _DIRECTIONS:
        for rule in spec.get(direction) or []:
            for peer in rule.get(peers) or []:
                if peer.get("ipBlock") is not None:
                    yield peer["ipBlock"]


def validate_selector(selector: Object, path: Path, tolerance: _Tolerance) -> list[FieldError]:
    return validate_label_selector(selector, path, allow_invalid_values=tolerance.odd_label_values)


def validate_port_range(entry: Object, path: Path) -> list[FieldError]:
    errors = []
    port, end = entry.get("port"), entry.get("endPort")
    end_path = path.child("endPort")
    if port is None:
        return []
    if isinstance(port, str):
        if end is not None:
            errors.append(invalid(end_path, end, "may not be specified when `port` is non-numeric"))
        return errors + invalids(path.child("port"), port, is_port_name(port))
    errors += invalids(path.child("port"), port, is_port_number(port))
    if end is not None:
        if end < port:
            errors.append(invalid(end_path, end, "must be greater than or equal to `port`"))
        errors += invalids(end_path, end, is_port_number(end))
    return errors


def validate_block(block: Object, path: Path, tolerance: _Tolerance) -> list[FieldError]:
    text = _cidr(block)
    if not text:
        return []
    known = tolerance.blocks
    errors = validate_legacy_cidr(path.child("cidr"), text, known)
    whole = parse_cidr(text)
    if whole is None:
        return errors
    for index, hole_text in enumerate(block.get("except") or []):
        hole_path = path.child("except").index(index)
        errors += validate_legacy_cidr(hole_path, hole_text, known)
        hole = parse_cidr(hole_text)
        if hole is None:
            continue
        inside = hole.version == whole.version and hole.network_address in whole
        if not inside or whole.prefixlen >= hole.prefixlen:
            errors.append(invalid(hole_path, hole_text, "must be a strict subset of `cidr`"))
    return errors
