"""Values as Go's fmt prints them: several errors of patches quote the object that way.

Used by the patch modules to word errors; nothing parses this text.
"""

from __future__ import annotations

from typing import Any

__all__ = ["go_kind", "go_type", "go_value"]


def go_value(value: Any) -> str:
    """What %v prints: map[a:1 b:[x y]], <nil>, true."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_value(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_value, value)) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        exponent = abs(value) >= 1e21 or (value != 0 and abs(value) < 1e-4)
        return repr(value) if exponent or not value.is_integer() else str(int(value))
    return str(value)


def go_type(value: Any) -> str:
    """The type of a decoded JSON value, as %s prints it."""
    if value is None:
        return "%!s(<nil>)"
    if isinstance(value, bool):
        return "bool"
    names = {dict: "map[string]interface {}", list: "[]interface {}", int: "int64", float: "float64"}
    return names.get(type(value), "string")


def go_kind(value: Any) -> str:
    """What encoding/json calls a JSON value it cannot put into a Go type."""
    if isinstance(value, bool):
        return "bool"
    names = {dict: "object", list: "array", int: "number", float: "number", str: "string"}
    return names.get(type(value), "null")
