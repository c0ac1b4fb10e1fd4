"""The list libraries: Kubernetes' functions (`isSorted`, `sum`, `min`, …), cel-go's (`sort`, `distinct`, …),
and sets.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.functions import Cost, Function, Implementation, function, member, overload
from steersman.cluster.cel.library import costs
from steersman.cluster.cel.runtime_types import type_of_value
from steersman.cluster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    list_of,
    param,
)
from steersman.cluster.cel.values import Duration, Frame, Uint, charge, equal

__all__ = ["FUNCTIONS", "sort_by_keys"]

_A: Final = param("A")
_LIST: Final = list_of(_A)
_LISTS: Final = [_LIST, _LIST]
_COMPARABLE: Final = {
    "int": INT, "uint": UINT, "double": DOUBLE, "bool": BOOL,
    "duration": DURATION, "timestamp": TIMESTAMP, "string": STRING, "bytes": BYTES,
}  # fmt: skip
_SUMMABLE: Final[dict[str, tuple[Any, Any]]] = {
    "int": (INT, 0), "uint": (UINT, Uint(0)), "double": (DOUBLE, 0.0), "duration": (DURATION, Duration(0)),
}  # fmt: skip
_LIST_COST: Final = 11


def _is_sorted(_frame: Frame, items: list[Any]) -> bool:
    return all(not items[i + 1] < items[i] for i in range(len(items) - 1))


def _sum(zero: Any) -> Implementation:
    def run(_frame: Frame, items: list[Any]) -> Any:
        if isinstance(zero, Duration):
            total = sum(item.nanos for item in items)
            if not -(2**63) <= total < 2**63:
                raise EvaluationError("duration overflow")
            return Duration(total)
        result = sum(items, start=zero)
        if isinstance(zero, float):
            return result
        if isinstance(zero, Uint):
            if result >= 2**64:
                raise EvaluationError("unsigned integer overflow")
            return Uint(result)
        if not -(2**63) <= result < 2**63:
            raise EvaluationError("integer overflow")
        return result

    return run


def _extreme(name: str, choose: Any) -> Implementation:
    def run(_frame: Frame, items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        return choose(items)

    return run


def _index_of(frame: Frame, items: list[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if equal(frame, item, wanted)), -1)


def _last_index_of(frame: Frame, items: list[Any], wanted: Any) -> int:
    return next((i for i in range(len(items) - 1, -1, -1) if equal(frame, items[i], wanted)), -1)


def _includes(frame: Frame, target: Any, wanted: Any) -> bool:
    candidates = target if isinstance(target, list) else [target]
    return any(equal(frame, item, wanted) for item in candidates)


def _slice(_frame: Frame, items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(
            f"cannot slice({start}, {end}), start index must be less than or equal to end index"
        )
    if len(items) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(frame: Frame, items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    for item in items:
        if depth > 0 and isinstance(item, list):
            flat.extend(_flatten(frame, item, depth - 1))
        else:
            flat.append(item)
    charge(frame, len(flat) // 10)
    return flat


def _range(_frame: Frame, count: int) -> list[int]:
    if count < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {count}")
    return list(range(count))


def _distinct(frame: Frame, items: list[Any]) -> list[Any]:
    if all(type(item) is str for item in items):
        return list(dict.fromkeys(items))
    seen: list[Any] = []
    for item in items:
        if not any(equal(frame, item, known) for known in seen):
            seen.append(item)
    return seen


def sort_by_keys(frame: Frame, items: list[Any], keys: list[Any]) -> list[Any]:
    """`items` in the order of their keys, which must be comparable and of one type."""
    charge(frame, _self_comparison(keys))
    if not keys:
        return items
    kind = type_of_value(keys[0])
    if kind.kind not in _ORDERED_KINDS:
        raise EvaluationError("list elements must be comparable")
    if any(type_of_value(key) != kind for key in keys):
        raise EvaluationError("list elements must have the same type")
    return [items[index] for index in sorted(range(len(keys)), key=keys.__getitem__)]


_ORDERED_KINDS: Final = {kind.kind for kind in _COMPARABLE.values()}


def _sort(frame: Frame, items: list[Any]) -> list[Any]:
    return sort_by_keys(frame, items, items)


def _self_comparison(items: list[Any], *_rest: Any) -> int:
    """Comparing every element with every other."""
    factor = 2.1 if items and isinstance(items[0], (str, bytes)) else 2.0
    return int(len(items) ** 2 * factor) + _LIST_COST


def _by_size(items: list[Any], *_rest: Any) -> int:
    return len(items) + _LIST_COST


def _flatten_cost(items: list[Any], depth: int = 1) -> int:
    return len(items) * min(max(depth, 1), 100) + _LIST_COST


def _free(*_args: Any) -> int:
    return 0


def _per_type(name: str, pattern: str, run: Implementation, cost: Cost, same: bool) -> Function:
    return function(
        name,
        *(
            member(pattern.format(label), [list_of(kind)], kind if same else BOOL, run, cost)
            for label, kind in _COMPARABLE.items()
        ),
    )


# -- sets ---------------------------------------------------------------------------------------------


def _contains(frame: Frame, items: list[Any], part: list[Any]) -> bool:
    return all(any(equal(frame, item, wanted) for item in items) for wanted in part)


def _intersects(frame: Frame, left: list[Any], right: list[Any]) -> bool:
    return any(any(equal(frame, item, other) for other in right) for item in left)


def _equivalent(frame: Frame, left: list[Any], right: list[Any]) -> bool:
    return _contains(frame, left, right) and _contains(frame, right, left)


def _pairs(factor: int) -> Cost:
    return lambda left, right: 1 + len(left) * len(right) * factor


FUNCTIONS: Final[list[Function]] = [
    _per_type("isSorted", "list_{}_is_sorted_bool", _is_sorted, costs.traversal, same=False),
    _per_type("min", "list_{}_min", _extreme("min", min), costs.traversal, same=True),
    _per_type("max", "list_{}_max", _extreme("max", max), costs.traversal, same=True),
    function(
        "sum",
        *(
            member(f"list_{name}_sum_{name}", [list_of(kind)], kind, _sum(zero), costs.traversal)
            for name, (kind, zero) in _SUMMABLE.items()
        ),
    ),
    function("indexOf", member("list_a_index_of_int", [_LIST, _A], INT, _index_of, costs.traversal)),
    function(
        "lastIndexOf", member("list_a_last_index_of_int", [_LIST, _A], INT, _last_index_of, costs.traversal)
    ),
    function("includes", member("list_includes_dyn_dyn", [DYN, DYN], BOOL, _includes, costs.traversal)),
    function(
        "slice",
        member("list_slice", [_LIST, INT, INT], _LIST, _slice,
               lambda _items, start, end: max(0, end - start) + _LIST_COST),
    ),
    function(
        "flatten",
        member("list_flatten", [list_of(_LIST)], _LIST, _flatten, _flatten_cost),
        member("list_flatten_int", [list_of(DYN), INT], list_of(DYN), _flatten, _flatten_cost),
    ),
    function(
        "sort",
        *(member(f"list_{name}_sort", [list_of(kind)], list_of(kind), _sort, _free)
          for name, kind in _COMPARABLE.items()),
    ),
    function(
        "lists.range",
        overload("lists_range", [INT], list_of(INT), _range, lambda count: max(0, count) + _LIST_COST),
    ),
    function("reverse", member("list_reverse", [_LIST], _LIST, lambda _f, items: items[::-1], _by_size)),
    function("distinct", member("list_distinct", [_LIST], _LIST, _distinct, _self_comparison)),
    function("sets.contains", overload("list_sets_contains", _LISTS, BOOL, _contains, _pairs(1))),
    function("sets.intersects", overload("list_sets_intersects", _LISTS, BOOL, _intersects, _pairs(1))),
    function("sets.equivalent", overload("list_sets_equivalent", _LISTS, BOOL, _equivalent, _pairs(2))),
]  # fmt: skip
