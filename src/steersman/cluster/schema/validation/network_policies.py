"""Validation of NetworkPolicies. `networking` lists the rules under their kind."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from steersman.cluster.schema.validation.address_checks import parse_cidr, validate_legacy_cidr
from steersman.cluster.schema.validation.rules import Object, Rules, invalids
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required
from steersman.objects.metadata import validate_label_selector
from steersman.objects.names import is_port_name, is_port_number

__all__ = ["NETWORK_POLICY"]

_SPEC: Final = Path("spec")
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_POLICY_TYPES: Final = ("Ingress", "Egress")
#: The direction of a rule and the field that lists its peers.
_DIRECTIONS: Final = (("ingress", "from"), ("egress", "to"))


@dataclass(frozen=True, slots=True)
class _Tolerance:
    """What the policy being replaced held already and may therefore stay, wrong as it is."""

    odd_label_values: bool = False
    blocks: Collection[str] = ()


def _create(policy: Object) -> list[FieldError]:
    return _spec_errors(policy["spec"], _Tolerance())


def _update(new: Object, old: Object) -> list[FieldError]:
    spec: Object = old["spec"]
    odd = bool(validate_label_selector(spec.get("podSelector") or {}, Path()))
    blocks = [text for block, _ in _blocks(spec) for text in (_cidr(block), *(block.get("except") or []))]
    return _spec_errors(new["spec"], _Tolerance(odd, blocks))


def _late(new: Object, old: Object | None) -> list[FieldError]:
    return [required(path.child("cidr")) for block, path in _blocks(new["spec"]) if not _cidr(block)]


def _cidr(block: Object) -> str:
    text: str = block.get("cidr", "")
    return text


def _blocks(spec: Object) -> Iterator[tuple[Object, Path]]:
    """Every ipBlock of the policy with its path."""
    for direction, peers in _DIRECTIONS:
        for number, rule in enumerate(spec.get(direction) or []):
            path = _SPEC.child(direction).index(number).child(peers)
            for index, peer in enumerate(rule.get(peers) or []):
                if peer.get("ipBlock") is not None:
                    yield peer["ipBlock"], path.index(index).child("ipBlock")


def _spec_errors(spec: Object, tolerance: _Tolerance) -> list[FieldError]:
    selector, path = spec.get("podSelector") or {}, _SPEC.child("podSelector")
    errors = validate_label_selector(selector, path, allow_invalid_values=tolerance.odd_label_values)
    for direction, peers in _DIRECTIONS:
        for number, rule in enumerate(spec.get(direction) or []):
            path = _SPEC.child(direction).index(number)
            for index, port in enumerate(rule.get("ports") or []):
                errors += _port_errors(port, path.child("ports").index(index))
            for index, peer in enumerate(rule.get(peers) or []):
                errors += _peer_errors(peer, path.child(peers).index(index), tolerance)
    types = spec.get("policyTypes") or []
    path = _SPEC.child("policyTypes")
    if len(types) > len(_POLICY_TYPES):
        return [*errors, invalid(path, types, "may not specify more than two policyTypes")]
    errors += [
        not_supported(path.index(index), name, _POLICY_TYPES)
        for index, name in enumerate(types)
        if name not in _POLICY_TYPES
    ]
    return errors


def _port_errors(entry: Object, path: Path) -> list[FieldError]:
    errors = []
    protocol, port, end = entry.get("protocol"), entry.get("port"), entry.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(not_supported(path.child("protocol"), protocol, _PROTOCOLS))
    end_path = path.child("endPort")
    if port is None:
        if end is not None:
            errors.append(invalid(end_path, end, "may not be specified when `port` is not specified"))
    elif isinstance(port, str):
        if end is not None:
            errors.append(invalid(end_path, end, "may not be specified when `port` is non-numeric"))
        errors += invalids(path.child("port"), port, is_port_name(port))
    else:
        errors += invalids(path.child("port"), port, is_port_number(port))
        if end is not None:
            if end < port:
                errors.append(invalid(end_path, end, "must be greater than or equal to `port`"))
            errors += invalids(end_path, end, is_port_number(end))
    return errors


def _peer_errors(peer: Object, path: Path, tolerance: _Tolerance) -> list[FieldError]:
    errors = []
    selectors = [field for field in ("podSelector", "namespaceSelector") if peer.get(field) is not None]
    for field in selectors:
        errors += validate_label_selector(
            peer[field], path.child(field), allow_invalid_values=tolerance.odd_label_values
        )
    block = peer.get("ipBlock")
    if block is not None:
        errors += _block_errors(block, path.child("ipBlock"), tolerance.blocks)
    if block is None and not selectors:
        errors.append(required(path, "must specify a peer"))
    elif block is not None and selectors:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _block_errors(block: Object, path: Path, known: Collection[str]) -> list[FieldError]:
    text = _cidr(block)
    if not text:
        return []
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


NETWORK_POLICY: Final = Rules(create=_create, update=_update, late=_late)
