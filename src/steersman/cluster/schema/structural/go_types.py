"""JSON values as Go's reflection and %v show them, for messages that Kubernetes makes from them."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["go_type", "go_value"]

_TYPES: Final = {
    bool: "bool",
    dict: "map[string]interface {}",
    float: "float64",
    int: "int64",
    list: "[]interface {}",
    str: "string",
    type(None): "<nil>",
}


def go_type(value: Any) -> str:
    """The Go type of a decoded JSON value."""
    return next((name for kind, name in _TYPES.items() if type(value) is kind), "map[string]interface {}")


def go_value(value: Any) -> str:
    """The value as %v prints it."""
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "<nil>"}[value]
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_value(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_value, value))}]"
    return str(int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else value)
