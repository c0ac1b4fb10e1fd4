"""Sets of fields, in the form that managedFields carries them (FieldsV1).

A set is the nested dict of the wire format itself, so reading and writing it costs nothing:

    {"f:spec": {"f:ports": {'k:{"port":80}': {".": {}, "f:port": {}}}}}

Keys are path elements: `f:name` a field, `k:{"name":"c"}` an item of a keyed list (keys sorted),
`v:"x"` an item of a set, `i:0` an index. A path is in the set when its node is `{}` or holds `"."`;
a node with children and without `"."` is only on the way to them. The root itself is never in it.

Sets are shared freely and must never be changed in place. Which fields an object has is in
`comparison`, who owns them in `managed`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from steersman.objects.errors import FieldSetError

__all__ = [
    "LEAF",
    "FieldFilter",
    "Fields",
    "children",
    "contains",
    "difference",
    "excluding",
    "fields_of",
    "including",
    "intersection",
    "is_member",
    "item_element",
    "normalized",
    "paths",
    "recursive_difference",
    "show_path",
    "sorted_paths",
    "union",
    "value_element",
]

Fields = dict[str, Any]
#: Reduces a set to what a request may own.
FieldFilter = Callable[[Fields], Fields]

#: A member without members below it.
LEAF: Final[Fields] = {}
_SELF: Final = "."


# --- Algebra: a path is in the result or it is not; nothing below a member is implied


def union(left: Fields, right: Fields) -> Fields:
    if not left or not right:
        return left or right
    result = dict(left)
    for element, theirs in right.items():
        mine = result.get(element)
        if mine is None:
            result[element] = theirs
        elif element != _SELF and mine is not theirs:
            result[element] = _union_node(mine, theirs)
    return result


def _union_node(mine: Fields, theirs: Fields) -> Fields:
    if not mine or not theirs:
        children = mine or theirs
        return {_SELF: LEAF, **children} if children else LEAF
    return union(mine, theirs)


def difference(left: Fields, right: Fields) -> Fields:
    """What is in the left set and not in the right one; children of a removed member stay."""
    if not right:
        return left
    result: Fields = {}
    for element, mine in left.items():
        theirs = right.get(element)
        if theirs is None:
            result[element] = mine
        elif element != _SELF:
            member = is_member(mine) and not is_member(theirs)
            kept = _node(member, difference(children(mine), theirs))
            if kept is not None:
                result[element] = kept
    return result


def recursive_difference(left: Fields, right: Fields) -> Fields:
    """The left set without the members of the right one and all that is below them."""
    if not right:
        return left
    result: Fields = {}
    for element, mine in left.items():
        theirs = right.get(element)
        if theirs is None:
            result[element] = mine
        elif element != _SELF and not is_member(theirs):
            kept = _node(is_member(mine), recursive_difference(children(mine), theirs))
            if kept is not None:
                result[element] = kept
    return result


def intersection(left: Fields, right: Fields) -> Fields:
    result: Fields = {}
    for element, mine in left.items():
        theirs = right.get(element)
        if theirs is not None and element != _SELF:
            member = is_member(mine) and is_member(theirs)
            kept = _node(member, intersection(children(mine), theirs))
            if kept is not None:
                result[element] = kept
    return result


def is_member(node: Fields) -> bool:
    """Whether the path that leads to this node is in the set."""
    return not node or _SELF in node


def children(node: Fields) -> Fields:
    """A node without its own membership."""
    if _SELF not in node:
        return node
    return {element: child for element, child in node.items() if element != _SELF}


def _node(member: bool, children: Fields) -> Fields | None:
    """The node of a path that is or is not a member, None when there is nothing to say."""
    if not children:
        return LEAF if member else None
    return {_SELF: LEAF, **children} if member else children


# --- Paths


def paths(fields: Fields) -> Iterator[tuple[str, ...]]:
    """Every path in the set, parents first."""
    for element, node in fields.items():
        if element == _SELF:
            continue
        if is_member(node):
            yield (element,)
        for below in paths(node):
            yield (element, *below)


def sorted_paths(fields: Fields) -> Iterator[tuple[str, ...]]:
    """Every path in the set as Kubernetes lists them: a level's members, then what is below them."""
    names = sorted((name for name in fields if name != _SELF), key=_element_order)
    for element in names:
        if is_member(fields[element]):
            yield (element,)
    for element in names:
        for below in sorted_paths(fields[element]):
            yield (element, *below)


def _element_order(element: str) -> tuple[int, Any]:
    kind, _, content = element.partition(":")
    rank = "fkvi".find(kind)
    if kind == "f":
        return rank, content
    value = orjson.loads(content)
    if kind == "k":
        return rank, [(name, _scalar_order(each)) for name, each in value.items()]
    return rank, _scalar_order(value)


def _scalar_order(value: Any) -> tuple[int, Any]:
    """Numbers, texts, booleans; values of different kinds do not compare."""
    return (1, value) if isinstance(value, str) else (2, value) if isinstance(value, bool) else (0, value)


def contains(fields: Fields, path: Iterable[str]) -> bool:
    node: Any = None
    for element in path:
        node = fields.get(element)
        if node is None:
            return False
        fields = node
    return node is not None and is_member(node)


def fields_of(*field_paths: str) -> Fields:
    """A set of plain fields: `fields_of("status", "metadata.labels")`."""
    result: Fields = {}
    for path in field_paths:
        made: Fields = LEAF
        for name in reversed(path.split(".")):
            made = {f"f:{name}": made}
        result = union(result, made)
    return result


def show_path(path: Iterable[str]) -> str:
    """A path as conflicts name it: .spec.containers[name="c"].image"""
    text = ""
    for element in path:
        kind, _, content = element.partition(":")
        if kind == "f":
            text += f".{content}"
        elif kind == "k":
            pairs = orjson.loads(content).items()
            text += "[" + ",".join(f"{name}={_json(value)}" for name, value in pairs) + "]"
        elif kind == "v":
            text += f"[={content}]"
        else:
            text += f"[{content}]"
    return text


# --- Filters


def excluding(excluded: Fields) -> FieldFilter:
    """Everything but these fields and what is below them."""
    return lambda fields: recursive_difference(fields, excluded)


def including(pattern: Fields) -> FieldFilter:
    """Only fields on the way to and below the pattern's leaves; the element "*" stands for any."""

    def included(fields: Fields, wanted: Fields) -> Fields:
        if not wanted:
            return fields
        result: Fields = {}
        for element, node in fields.items():
            below = wanted.get(element, wanted.get("*"))
            if element == _SELF or below is None:
                continue
            kept = _node(is_member(node), included(children(node), below))
            if kept is not None:
                result[element] = kept
        return result

    return lambda fields: included(fields, pattern)


# --- Path elements


def item_element(item: Any, keys: tuple[str, ...], defaults: Mapping[str, object]) -> str:
    """The element of an item of a keyed list. `keys` must be sorted."""
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        raise FieldSetError(f"associative list with keys may not have {what}")
    if len(keys) == 1 and type(name := item.get(keys[0])) is str and _plain(name):
        return f'k:{{"{keys[0]}":"{name}"}}'
    pairs = []
    for key in keys:
        value = item.get(key)
        if value is None and key not in item and (value := defaults.get(key)) is None:
            continue
        pairs.append(f'"{key}":{value if type(value) is int else _json(value)}')
    if not pairs:
        names = " ".join(map(_json, keys))
        raise FieldSetError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return f"k:{{{','.join(pairs)}}}"


def value_element(item: Any) -> str:
    """The element of an item of a set."""
    if item is None:
        raise FieldSetError("associative list without keys has an element that's an explicit null")
    if isinstance(item, dict):
        raise FieldSetError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise FieldSetError("not supported: associative list with lists as elements")
    return "v:" + _json(item)


#: Text that JSON leaves as it is, Go's HTML-safe escaping included.
_plain = re.compile(r"[ !#-%'-;=?-\[\]-~]*").fullmatch
_HTML: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def _json(value: Any) -> str:
    if type(value) is str and _plain(value):
        return f'"{value}"'
    if type(value) is float and value.is_integer():
        value = int(value)
    return orjson.dumps(value).decode().translate(_HTML)


def normalized(fields: Any) -> Fields:
    """FieldsV1 from a client as this module writes it. Raises FieldSetError for what it is not."""
    if not isinstance(fields, dict):
        raise FieldSetError("a set of fields must be an object")
    result: Fields = {}
    for element, node in fields.items():
        if element == _SELF:
            result[_SELF] = LEAF
        elif (name := _normalized_element(element)) is not None:
            result[name] = normalized(node)
    return LEAF if result.keys() == {_SELF} else result


def _normalized_element(element: str) -> str | None:
    kind, colon, content = element[:1], element[1:2], element[2:]
    if colon != ":":
        raise FieldSetError(f"missing colon: {element}")
    if kind == "f":
        return element
    try:
        if kind == "v":
            return "v:" + _json(orjson.loads(content))
        if kind == "k":
            item = orjson.loads(content)
            return item_element(item, tuple(sorted(item)), {})
        # Elements of unknown kinds are from a newer server: they are left out.
        return f"i:{int(content)}" if kind == "i" else None
    except (ValueError, TypeError) as error:
        raise FieldSetError(f"{element}: {error}") from error
