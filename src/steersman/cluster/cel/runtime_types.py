"""The CEL type of a value at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from steersman.cluster.cel import types
from steersman.cluster.cel.types import Type
from steersman.cluster.cel.values import Duration, Optional, Timestamp, Uint, is_map
from steersman.objects.quantities import Quantity

__all__ = ["TYPE_NAMES", "fits", "go_type", "type_name", "type_of_value"]

_EXACT: Final[dict[type, Type]] = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    Quantity: types.opaque("kubernetes.Quantity"),
}
_LIST: Final = types.list_of(types.DYN)
_MAP: Final = types.map_of(types.DYN, types.DYN)
_OPTIONAL: Final = types.optional_of(types.DYN)

#: Types that can be named in an expression.
TYPE_NAMES: Final[dict[str, Type]] = {
    "bool": types.BOOL,
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bytes": types.BYTES,
    "null_type": types.NULL,
    "list": _LIST,
    "map": _MAP,
    "type": types.type_of(types.DYN),
    "optional_type": _OPTIONAL,
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "google.protobuf.Duration": types.DURATION,
    "net.IP": types.opaque("net.IP"),
    "net.CIDR": types.opaque("net.CIDR"),
}

_NAMES: Final = {kind.name: name for name, kind in TYPE_NAMES.items()}
_CHECKS: Final[dict[str, Callable[[Any], bool]]] = {
    "list": lambda value: isinstance(value, list),
    "map": is_map,
    "optional": lambda value: type(value) is Optional,
    "type": lambda value: type(value) is Type,
}
_BY_KIND: Final = {kind.kind: python for python, kind in _EXACT.items() if kind.kind != "opaque"}
_ANYTHING: Final = frozenset({"dyn", "any", "param"})


def type_of_value(value: Any) -> Type:
    """What `type(value)` yields."""
    exact = _EXACT.get(type(value))
    if exact is not None:
        return exact
    if isinstance(value, list):
        return _LIST
    if is_map(value):
        return _MAP
    if type(value) is Optional:
        return _OPTIONAL
    if type(value) is Type:
        return TYPE_NAMES["type"]
    return types.opaque(getattr(value, "cel_type", "unknown"))


def type_name(value: Any) -> str:
    """The name of a value's type as an expression would write it."""
    name = type_of_value(value).name
    return _NAMES.get(name, name)


def go_type(value: Any) -> str:
    """What Go calls the type of a simple value."""
    name = type_of_value(value).name
    return f"types.{name[:1].upper()}{name[1:]}"


def fits(value: Any, kind: Type) -> bool:
    """Can a value be the argument of a parameter of this type?"""
    if kind.kind in _ANYTHING:
        return True
    exact = _BY_KIND.get(kind.kind)
    if exact is not None:
        return type(value) is exact
    check = _CHECKS.get(kind.kind)
    if check is not None:
        return check(value)
    return bool(type_of_value(value).name == kind.name)
