"""Static cost estimates of function calls: Kubernetes' estimates first, then cel-go's.

A function that is not in the tables costs 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from steersman.cluster.cel.bounds import MOST, ONE, ZERO, Bounds, exactly
from steersman.cluster.cel.types import Type

__all__ = ["CALLS", "Argument", "Estimated"]


@dataclass(frozen=True, slots=True)
class Argument:
    """The estimated size of an argument, its type, and the type and size of a list's items."""

    size: Bounds
    type: Type
    element: Type | None
    element_size: Bounds
    literal: Any


@dataclass(frozen=True, slots=True)
class Estimated:
    """The estimated cost and result size of a call."""

    cost: Bounds
    #: The size of the result where it is known.
    result: Bounds | None = None


Estimate: TypeAlias = Callable[[Argument | None, list[Argument]], Estimated | None]

_LIST_CALL: Final = exactly(11)
_ADDRESS: Final = Bounds(4, 16)


def CALLS(function: str, overload: str, target: Argument | None, args: list[Argument]) -> Estimated | None:  # noqa: N802
    """The estimate of one overload's call, its arguments' own costs not counted."""
    found = _BY_OVERLOAD.get(overload) or _BY_FUNCTION.get(function)
    return None if found is None else found(target, args)


def _scan(target: Argument | None, args: list[Argument]) -> Estimated | None:
    """Going through the text once."""
    text = target or args[0]
    return Estimated(text.size.times(0.1), text.size)


def _scan_only(target: Argument | None, args: list[Argument]) -> Estimated | None:
    return Estimated((target or args[0]).size.times(0.1))


def _scan_twice(target: Argument | None, args: list[Argument]) -> Estimated | None:
    return Estimated((target or args[0]).size.times(0.2))


def _traversal(target: Argument | None, args: list[Argument]) -> Estimated | None:
    if target is None:
        return None
    if target.element is None:
        return Estimated(target.size if target.type.kind == "dyn" else target.size.times(0.1))
    each = ONE
    if target.element.kind in {"string", "bytes"}:
        each = each + target.element_size.times(0.1)
    return Estimated(target.size * each)


def _includes(target: Argument | None, args: list[Argument]) -> Estimated | None:
    if target is not None and target.element is None:
        return Estimated(target.size)
    return _traversal(target, args)


def _replace(target: Argument | None, args: list[Argument]) -> Estimated | None:
    if target is None:
        return None
    text, old, new = target.size, args[0].size, args[1].size
    most_count, most_kept = 0, 0
    if old.least == 0:
        most_count, most_kept = min(text.most + 1, MOST), text.most
    elif new.most <= old.least:
        most_kept = text.most
    else:
        most_count = math.ceil(text.most / old.least)
    least_count, least_kept = 0, 0
    if old.most == 0:
        least_count, least_kept = min(text.least + 1, MOST), text.least
    elif old.most <= new.least:
        least_kept = text.least
    else:
        least_count = math.ceil(text.least / old.most)
    result = Bounds(least_count, most_count) * new + Bounds(least_kept, most_kept)
    return Estimated(text.times(0.2), result)


def _split(target: Argument | None, args: list[Argument]) -> Estimated | None:
    if target is None:
        return None
    most = target.size.most
    if len(args) > 1 and type(args[1].literal) is int:
        most = args[1].literal % 2**64
    return Estimated(target.size.times(0.2), Bounds(0, most))


def _join(target: Argument | None, args: list[Argument]) -> Estimated | None:
    if target is None:
        return None
    size = target.size * target.element_size if target.element is not None else ZERO
    if args:
        gaps = Bounds(max(target.size.least - 1, 0), max(target.size.most - 1, 0))
        size = size + args[0].size * gaps
    return Estimated(size.times(0.1), size)


def _match(text: Argument, pattern: Argument) -> Bounds:
    return (text.size + ONE).times(0.1) * pattern.size.times(0.25)


def _find(target: Argument | None, args: list[Argument]) -> Estimated | None:
    return None if target is None else Estimated(_match(target, args[0]), Bounds(0, target.size.most))


def _matches(target: Argument | None, args: list[Argument]) -> Estimated | None:
    text, pattern = (target, args[0]) if target is not None else (args[0], args[1])
    return Estimated(_match(text, pattern))


def _contains(target: Argument | None, args: list[Argument]) -> Estimated | None:
    return None if target is None else Estimated(target.size.times(0.1) * args[0].size.times(0.1))


def _argument(_target: Argument | None, args: list[Argument]) -> Estimated | None:
    return Estimated(args[0].size.times(0.1))


def _network(extra: bool, text: bool) -> Estimate:
    def estimated(_target: Argument | None, args: list[Argument]) -> Estimated | None:
        cost = (_ADDRESS + _ADDRESS).times(0.1)
        if extra:
            cost = cost + _ADDRESS.times(0.1) + ONE
        return Estimated(cost + args[0].size.times(0.1) if text else cost)

    return estimated


def _selector(_target: Argument | None, args: list[Argument]) -> Estimated | None:
    length = args[0].size
    return Estimated(exactly(10) + length.times(0.1) + length.times(0.5).times(50.0))


def _in_list(_target: Argument | None, args: list[Argument]) -> Estimated | None:
    return Estimated(args[1].size)


def _comparison(_target: Argument | None, args: list[Argument]) -> Estimated | None:
    smaller = min(args[0].size.most, args[1].size.most)
    return Estimated(Bounds(1 if smaller > 0 else 0, smaller).times(0.1))


def _equality(target: Argument | None, args: list[Argument]) -> Estimated | None:
    left, right = args[0].type, args[1].type
    if left == right and left.kind == "opaque":
        return Estimated(Bounds(1, 64).times(0.1) if left.name == "kubernetes.NamedFormat" else ONE)
    return _comparison(target, args)


def _concatenation(text: bool) -> Estimate:
    def estimated(_target: Argument | None, args: list[Argument]) -> Estimated | None:
        size = args[0].size + args[1].size
        return Estimated(size.times(0.1) if text else ONE, size)

    return estimated


def _to_bytes(_target: Argument | None, args: list[Argument]) -> Estimated | None:
    size = args[0].size
    return Estimated(size.times(0.1), Bounds(size.least, min(size.most * 4, MOST)))


def _to_text(_target: Argument | None, args: list[Argument]) -> Estimated | None:
    size = args[0].size
    return Estimated(size.times(0.1), Bounds(size.least // 4, size.most))


def _quoted(_target: Argument | None, args: list[Argument]) -> Estimated | None:
    size = args[0].size
    return Estimated(size.times(0.1), Bounds(size.least + 2, min(size.most * 2 + 2, MOST)))


def _validate(_target: Argument | None, args: list[Argument]) -> Estimated | None:
    return Estimated(args[0].size.times(0.1).times(128 * 0.25))


def _list_result(factor: float, size: Bounds) -> Estimated:
    return Estimated(size.times(factor) + _LIST_CALL, size)


def _number(argument: Argument, otherwise: int) -> int:
    return max(argument.literal, 0) if type(argument.literal) is int else otherwise


def _slice(target: Argument | None, args: list[Argument]) -> Estimated | None:
    if target is None:
        return None
    length = _number(args[1], target.size.most) - _number(args[0], 0)
    return _list_result(1, exactly(length % 2**64))


def _flatten(target: Argument | None, args: list[Argument]) -> Estimated | None:
    depth = _number(args[0], MOST) if args else 1
    return None if target is None else _list_result(float(depth), target.size)


def _squared(target: Argument | None, _args: list[Argument]) -> Estimated | None:
    return None if target is None else _list_result(2.0, target.size * target.size)


def _sorted(target: Argument | None, _args: list[Argument]) -> Estimated | None:
    if target is None:
        return None
    text = target.element is not None and target.element.kind in {"string", "bytes"}
    return _list_result(2.1 if text else 2.0, target.size * target.size)


def _pairs(factor: float) -> Estimate:
    return lambda _target, args: Estimated((args[0].size * args[1].size).times(factor) + ONE)


def _check(_target: Argument | None, _args: list[Argument]) -> Estimated | None:
    return Estimated(exactly(350_000))


def _each(names: str, estimated: Estimate) -> dict[str, Estimate]:
    return dict.fromkeys(names.split(), estimated)


_TEXT_ORDER: Final = [
    f"{word}_{kind}"
    for word in ("less", "less_equals", "greater", "greater_equals")
    for kind in ("string", "bytes")
]
_BY_OVERLOAD: Final[dict[str, Estimate]] = {
    "cidr_ip": lambda _target, _args: Estimated(ONE),
    "cidr_contains_ip_string": _network(False, True),
    "cidr_contains_ip_ip": _network(False, False),
    "cidr_contains_cidr_string": _network(True, True),
    "cidr_contains_cidr": _network(True, False),
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": lambda _target, args: _list_result(1, exactly(_number(args[0], MOST))),
    "list_reverse": lambda target, _args: None if target is None else _list_result(1, target.size),
    "list_distinct": _squared,
    "list_sets_contains": _pairs(1),
    "list_sets_intersects": _pairs(1),
    "list_sets_equivalent": _pairs(2),
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_text,
    "strings_quote": _quoted,
    "in_list": _in_list,
    "add_string": _concatenation(True),
    "add_bytes": _concatenation(True),
    "add_list": _concatenation(False),
    **dict.fromkeys(_TEXT_ORDER, _comparison),
}
_BY_FUNCTION: Final[dict[str, Estimate]] = {
    "check": _check,
    "fieldSelector": _selector,
    "labelSelector": _selector,
    **_each("isSorted sum max min indexOf lastIndexOf", _traversal),
    "includes": _includes,
    **_each("url jsonpatch.escapeKey lowerAscii upperAscii substring trim", _scan),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **_each("find findAll", _find),
    **_each("cidr isIP isCIDR ip quantity isQuantity semver isSemver format", _scan_only),
    "ip.isCanonical": _scan_twice,
    "validate": _validate,
    "matches": _matches,
    "contains": _contains,
    **_each("startsWith endsWith", _argument),
    "sort": _sorted,
    "_==_": _equality,
    "_!=_": _comparison,
}
