"""The Python representation of CEL values.

bool, int, float, str, bytes, None, list and dict are themselves. The rest is here: uint, timestamps,
durations, optionals, lists that are sets or maps to Kubernetes, objects seen through their schema, and
equality over all of these (`True == 1` in Python, never in CEL).

Every function here may be given hostile values, so anything whose work grows with its input takes the
`Frame` and charges for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from steersman.cluster.cel.errors import BudgetExceeded, EvaluationError
from steersman.objects.quantities import Quantity

__all__ = [
    "NONE",
    "Duration",
    "Frame",
    "LazyMap",
    "MapList",
    "Optional",
    "SchemaMap",
    "SetList",
    "Struct",
    "Timestamp",
    "Uint",
    "add_lists",
    "charge",
    "equal",
    "is_map",
    "size_of",
]

#: The state of one evaluation: what is left of its budget, then the values of its variables.
Frame: TypeAlias = list[Any]


def charge(frame: Frame, cost: int) -> None:
    """Take `cost` from the evaluation's budget, ending it when nothing is left."""
    frame[0] -= cost
    if frame[0] < 0:
        raise BudgetExceeded


class Uint(int):
    """A CEL uint: equal to the int of the same value, but another type."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """Nanoseconds since 1970, as exact as RFC 3339 text can be."""

    nanos: int
    #: Seconds east of UTC it was written with; only shows when it is written again.
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """Nanoseconds, signed, within 64 bits."""

    nanos: int


class Optional:
    """A value that may be absent: `oldSelf` of a rule with optionalOldSelf, the result of `a.?b`."""

    __slots__ = ("present", "value")

    def __init__(self, value: Any = None, present: bool = True) -> None:
        self.value = value
        self.present = present

    def __repr__(self) -> str:
        return f"optional.of({self.value!r})" if self.present else "optional.none()"


NONE: Final = Optional(present=False)


class SetList(list[Any]):
    """A list with x-kubernetes-list-type: set. Order does not count, `+` is union."""

    __slots__ = ()


class MapList(list[Any]):
    """A list with x-kubernetes-list-type: map. Items are identified by their key fields."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def key_of(self, item: Any) -> tuple[Any, ...]:
        found = []
        fields = item.raw if type(item) is SchemaMap else item
        for key in self.keys:
            value = fields.get(key) if isinstance(fields, dict) else None
            # The type is part of the key: 1, true and "1" are three different ones.
            found.append((type(value).__name__, value))
        return tuple(found)


class SchemaMap:
    """An object or map whose parts need its schema to be read right; converted as they are asked for.

    Keys are CEL names: `child` turns one into what is stored under it. Nothing here changes once read,
    so what was converted is kept.
    """

    __slots__ = ("_child", "_found", "_hidden", "_known", "_names", "raw")

    def __init__(
        self,
        raw: dict[str, Any],
        child: Callable[[dict[str, Any], str], Any],
        names: Callable[[dict[str, Any]], list[str]],
        hidden: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        self.raw = raw
        self._hidden = hidden
        self._child = child
        self._names = names
        self._known: list[str] | None = None
        self._found: dict[str, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        found = self._found.get(key, self)
        if found is self:
            found = self._found[key] = self._child(self.raw, key)
        return found

    def __contains__(self, key: object) -> bool:
        try:
            self[key]
        except (KeyError, TypeError):
            return False
        return True

    def __len__(self) -> int:
        return len(self._listed())

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed())

    def _listed(self) -> list[str]:
        if self._known is None:
            self._known = self._names(self.raw)
        return self._known

    def unreachable(self) -> dict[str, Any]:
        """What expressions cannot name, but equality still counts."""
        return self._hidden(self.raw)


class LazyMap:
    """Values computed when first asked for: the `variables` of an admission policy."""

    __slots__ = ("_compute", "_found")

    def __init__(self, compute: dict[str, Callable[[], Any]]) -> None:
        self._compute = compute
        self._found: dict[str, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        if key not in self._found:
            try:
                self._found[key] = self._compute[key]()
            except BudgetExceeded:
                raise
            except EvaluationError as error:
                raise EvaluationError(f'composited variable "{key}" fails to evaluate: {error}') from error
        return self._found[key]

    def __contains__(self, key: object) -> bool:
        return key in self._compute

    def __len__(self) -> int:
        return len(self._compute)

    def __iter__(self) -> Iterator[str]:
        return iter(self._compute)


_MAPS: Final = (dict, SchemaMap, LazyMap)
_NUMBERS: Final = frozenset({int, float, Uint})
#: Types whose values Python compares as CEL does, when both are of the same.
_SIMPLE: Final = frozenset({str, bool, bytes, type(None), Timestamp, Duration, Quantity})


class Struct(dict[str, Any]):
    """What a struct literal makes: its fields, and the name of the type it was written as."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


def is_map(value: Any) -> bool:
    return isinstance(value, _MAPS)


def size_of(value: Any) -> int:
    """The size costs are computed with: elements, code points or bytes; 1 for what has none."""
    kind = type(value)
    if kind in _SIMPLE_SIZED or isinstance(value, (list, *_MAPS)):
        return len(value)
    if kind is Optional and value.present:
        return size_of(value.value)
    sized = getattr(value, "cel_size", None)
    return 1 if sized is None else int(sized)


_SIMPLE_SIZED: Final = frozenset({str, bytes, list, dict})


def equal(frame: Frame, left: Any, right: Any) -> bool:
    """CEL's `==`. Values of different types are unequal, numbers compare by value.

    The operator's price covers the top level; a tree's nodes below are charged here, but for a few.
    """
    kind, other = type(left), type(right)
    if kind is other and kind in _SIMPLE:
        return bool(left == right)
    if kind in _NUMBERS:
        return other in _NUMBERS and bool(left == right)
    return _Comparison(frame).equal(left, right)


class _Comparison:
    """One comparison of two trees, which counts the nodes it visits."""

    __slots__ = ("frame", "visited")

    #: kube-apiserver charges for none of them; a few keep its costs for what rules usually compare.
    FREE: Final = 16

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.visited = 0

    def visit(self, nodes: int) -> None:
        before, self.visited = self.visited, self.visited + nodes
        if self.visited > self.FREE:
            charge(self.frame, self.visited - max(before, self.FREE))

    def equal(self, left: Any, right: Any) -> bool:
        kind, other = type(left), type(right)
        if kind is other and kind in _SIMPLE:
            return bool(left == right)
        if kind in _NUMBERS:
            return other in _NUMBERS and bool(left == right)
        if isinstance(left, list):
            return isinstance(right, list) and (left is right or self.lists(left, right))
        if isinstance(left, _MAPS):
            return isinstance(right, _MAPS) and (left is right or self.maps(left, right))
        if kind is Optional and other is Optional:
            if left.present != right.present:
                return False
            return not left.present or self.equal(left.value, right.value)
        return kind is other and bool(left == right)

    def lists(self, left: list[Any], right: list[Any]) -> bool:
        if len(left) != len(right):
            return False
        self.visit(len(left))
        special = left if isinstance(left, (SetList, MapList)) else right
        if isinstance(special, MapList):
            by_key = {special.key_of(item): item for item in right}
            return len(by_key) == len(right) and all(
                (key := special.key_of(item)) in by_key and self.equal(item, by_key[key]) for item in left
            )
        if isinstance(special, SetList):
            return covers(self.frame, left, right) and covers(self.frame, right, left)
        return all(map(self.equal, left, right))

    def maps(self, left: Any, right: Any) -> bool:
        if len(left) != len(right):
            return False
        self.visit(len(left))
        both_typed = type(left) is SchemaMap and type(right) is SchemaMap
        if both_typed and not self.equal(left.unreachable(), right.unreachable()):
            return False
        return all(key in right and self.equal(left[key], right[key]) for key in left)


def covers(frame: Frame, outer: list[Any], inner: list[Any]) -> bool:
    """Is every element of `inner` in `outer`? Scalars by hash, so that large sets stay cheap."""
    try:
        known = {(type(item), item) for item in outer}
        return all((type(item), item) in known for item in inner)
    except TypeError:
        charge(frame, len(outer) * len(inner))
        return all(any(equal(frame, item, candidate) for candidate in outer) for item in inner)


def _missing(frame: Frame, known: list[Any], items: list[Any]) -> list[Any]:
    """Those of `items` that are not among `known`."""
    try:
        seen = {(type(item), item) for item in known}
        return [item for item in items if (type(item), item) not in seen]
    except TypeError:
        charge(frame, len(known) * len(items))
        return [item for item in items if not any(equal(frame, item, other) for other in known)]


def add_lists(frame: Frame, left: list[Any], right: list[Any]) -> list[Any]:
    """CEL's `+` on lists; sets and keyed lists merge as server-side apply would."""
    # cel-go shares the operands, we copy them: the copy is charged like a string's.
    charge(frame, (len(left) + len(right)) // 10)
    if isinstance(left, SetList):
        return SetList([*left, *_missing(frame, left, right)])
    if isinstance(left, MapList):
        places = {left.key_of(item): place for place, item in enumerate(left)}
        result = MapList(left, left.keys)
        for item in right:
            place = places.get(left.key_of(item))
            if place is None:
                places[left.key_of(item)] = len(result)
                result.append(item)
            else:
                result[place] = item
        return result
    return [*left, *right]
