"""An applied configuration merged into an object, by the type's schema.

What the configuration leaves out stays; structs, maps and keyed lists are merged part by part; scalars and
atoms are replaced. What does not change keeps its identity, all the way up: `merge(live, config, …) is live`
means that there is nothing to do. Neither argument is changed; the result shares parts with both.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.objects.comparison import elements
from steersman.objects.patches.apply.parts import below, is_atomic
from steersman.objects.schemas import Schema

__all__ = ["merge"]

_ABSENT: Final = object()
_SCALARS: Final = frozenset({str, int, float, bool})


def merge(live: Any, config: Any, schema: Schema) -> Any:
    """Raises FieldSetError for items of the live object that have no identity."""
    if is_atomic(schema):
        return _replaced(live, config)
    if schema.kind == "list":
        return _merge_list(live, config, schema)
    if schema.kind == "any" and not isinstance(config, dict) and config is not None:
        return _replaced(live, config)
    if not config:
        # An empty map adds nothing, but it may be the first to be there.
        return live if live and isinstance(live, dict) else _replaced(live, config)
    if not live or not isinstance(live, dict):
        return config
    return _merge_named(live, config, schema)


def _replaced(live: Any, config: Any) -> Any:
    return live if _same(live, config) else config


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 is 1.0 but not true."""
    if left != right:
        return False
    if isinstance(left, dict):
        return all(_same(value, right[name]) for name, value in left.items())
    if isinstance(left, list):
        return all(map(_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool)


def _merge_named(live: dict[str, Any], config: dict[str, Any], schema: Schema) -> dict[str, Any]:
    merged: dict[str, Any] | None = None
    for name, value in config.items():
        before = live.get(name, _ABSENT)
        if type(value) in _SCALARS and type(before) is type(value) and before == value:
            continue
        after = value if before is _ABSENT else merge(before, value, below(schema, name))
        if after is not before:
            if merged is None:
                merged = dict(live)
            merged[name] = after
    return live if merged is None else merged


def _merge_list(live: Any, config: Any, schema: Schema) -> Any:
    if not config:
        return live if live and isinstance(live, list) else _replaced(live, config)
    if not live or not isinstance(live, list):
        return config
    mine, theirs = elements(live, schema), elements(config, schema)
    item_schema = schema.element()
    if mine == theirs and len(set(mine)) == len(mine):
        merged = [merge(before, after, item_schema) for before, after in zip(live, config, strict=True)]
    else:
        merged = _interleave(live, mine, dict(zip(theirs, config, strict=True)), item_schema)
    unchanged = len(merged) == len(live) and all(
        after is before for after, before in zip(merged, live, strict=True)
    )
    return live if unchanged else merged


def _interleave(live: list[Any], mine: list[str], config: dict[str, Any], schema: Schema) -> list[Any]:
    """The items of both lists: the configuration's in its order, the others where they were among those
    that both have. `mine` are the elements of the live items, `config` is items by element, in order."""
    known: dict[str, Any] = {}
    for element, item in zip(mine, live, strict=True):
        # Which of several items with one identity is meant nobody can say: the configuration replaces them.
        known[element] = None if element in known else item
    theirs = list(config)
    shared = [element for element in theirs if element in known]
    shared.reverse()
    expected = shared.pop() if shared else None

    merged: list[Any] = []
    done: set[str] = set()

    def take(element: str) -> None:
        done.add(element)
        item = config[element]
        merged.append(merge(known[element], item, schema) if element in known else item)

    at, ahead = 0, 0
    while at < len(mine) or ahead < len(theirs):
        if at < len(mine):
            element = mine[at]
            if ahead < len(theirs):
                if element == theirs[ahead]:
                    take(element)
                    at, ahead = at + 1, ahead + 1
                    expected = shared.pop() if shared else None
                    continue
                if element in config and expected is not None and expected != element:
                    # In both, but the configuration wants another one first.
                    at += 1
                    continue
            if element not in config:
                merged.append(live[at])
                at += 1
                continue
            if element in done:
                at += 1
        if ahead < len(theirs):
            element = theirs[ahead]
            take(element)
            ahead += 1
            if element == expected:
                expected = shared.pop() if shared else None
    return merged
