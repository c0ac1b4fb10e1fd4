"""The types of CEL, assignability, and type parameters.

A type is a value; two are the same when they are written the same. Object types carry their fields so that
the checker can look into them. `Substitution` binds type parameters, unified as in cel-go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

__all__ = [
    "ANY", "BOOL", "BYTES", "DOUBLE", "DURATION", "DYN", "ERROR", "INT", "NULL", "STRING", "TIMESTAMP",
    "UINT", "Substitution", "Type", "list_of", "map_of", "object_type", "opaque", "optional_of", "param",
    "type_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Type:
    """A CEL type: `kind` decides how values behave; `name` and `params` distinguish types of a kind."""

    kind: str
    name: str
    params: tuple[Type, ...] = ()
    #: Object types: the type of a field, None when there is no such field.
    field_type: Callable[[str], Type | None] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"


BOOL: Final = Type("bool", "bool")
INT: Final = Type("int", "int")
UINT: Final = Type("uint", "uint")
DOUBLE: Final = Type("double", "double")
STRING: Final = Type("string", "string")
BYTES: Final = Type("bytes", "bytes")
NULL: Final = Type("null", "null")
TIMESTAMP: Final = Type("timestamp", "timestamp")
DURATION: Final = Type("duration", "duration")
DYN: Final = Type("dyn", "dyn")
ANY: Final = Type("any", "any")
ERROR: Final = Type("error", "!error!")


def list_of(element: Type) -> Type:
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", "map", (key, value))


def optional_of(inner: Type) -> Type:
    return Type("optional", "optional_type", (inner,))


def type_of(inner: Type) -> Type:
    return Type("type", "type", (inner,))


def param(name: str) -> Type:
    return Type("param", name)


def opaque(name: str) -> Type:
    """A type with functions only (`net.IP`)."""
    return Type("opaque", name)


def object_type(name: str, field_type: Callable[[str], Type | None]) -> Type:
    return Type("object", name, (), field_type)


_DYNAMIC: Final = frozenset({"dyn", "any", "error"})
_NULLABLE: Final = frozenset({"null", "object", "duration", "timestamp", "opaque", "optional"})


class Substitution:
    """The bindings of type parameters."""

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._fresh = 0

    def fresh(self) -> Type:
        self._fresh += 1
        return param(f"_var{self._fresh}")

    def accepts_all(self, wanted: list[Type], given: list[Type]) -> bool:
        """Do the arguments fit the parameters? Learns from them only if all do."""
        before = dict(self._bound)
        if len(wanted) == len(given) and all(self._fits(w, g) for w, g in zip(wanted, given, strict=True)):
            return True
        self._bound = before
        return False

    def accepts(self, wanted: Type, given: Type) -> bool:
        return self.accepts_all([wanted], [given])

    def resolve(self, kind: Type, *, parameters_to_dyn: bool = False) -> Type:
        """The type with all that is known put in."""
        if kind.kind == "param":
            if (bound := self._bound.get(kind.name)) is not None:
                return self.resolve(bound, parameters_to_dyn=parameters_to_dyn)
            return DYN if parameters_to_dyn else kind
        if not kind.params:
            return kind
        params = tuple(self.resolve(p, parameters_to_dyn=parameters_to_dyn) for p in kind.params)
        return kind if params == kind.params else Type(kind.kind, kind.name, params, kind.field_type)

    def join(self, first: Type, second: Type) -> Type:
        """The more general of two types that fit each other."""
        return first if _more_general(self.resolve(first), self.resolve(second)) else second

    def _fits(self, wanted: Type, given: Type) -> bool:
        wanted, given = self._head(wanted), self._head(given)
        if wanted.kind == "param" or given.kind == "param":
            if wanted == given:
                return True
            name, other = (wanted.name, given) if wanted.kind == "param" else (given.name, wanted)
            if self._mentions(other, name):
                return False
            self._bound[name] = other
            return True
        if wanted.kind in _DYNAMIC or given.kind in _DYNAMIC:
            return True
        if given.kind == "null":
            return wanted.kind in _NULLABLE
        if wanted.kind == "null":
            return given.kind in _NULLABLE
        if wanted.kind == "type" and given.kind == "type":
            return True
        if wanted.kind != given.kind or wanted.name != given.name:
            return False
        if len(wanted.params) != len(given.params):
            return False
        return all(self._fits(w, g) for w, g in zip(wanted.params, given.params, strict=True))

    def _head(self, kind: Type) -> Type:
        while kind.kind == "param" and kind.name in self._bound:
            kind = self._bound[kind.name]
        return kind

    def _mentions(self, kind: Type, name: str) -> bool:
        kind = self._head(kind)
        if kind.kind == "param":
            return kind.name == name
        return any(self._mentions(p, name) for p in kind.params)


def _more_general(first: Type, second: Type) -> bool:
    if first.kind in _DYNAMIC or first.kind == "param":
        return True
    if first.kind == "null" and second.kind != "null":
        return False
    if first.kind != second.kind or first.name != second.name or len(first.params) != len(second.params):
        return second.kind == "null"
    return all(_more_general(a, b) for a, b in zip(first.params, second.params, strict=True))
