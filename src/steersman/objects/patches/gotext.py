"""Values as Go's fmt prints them: several errors of patches quote the object that way.

Used by the patch modules to word errors; nothing parses this text.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from steersman.objects.fields import quote

__all__ = ["go_kind", "go_string", "go_syntax", "go_type", "go_value"]

#: Numbers with more digits before the point are printed with an exponent.
_EXPONENT: Final = 6


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


def go_string(value: Any) -> str:
    """What %s prints: text as it is, a complaint about anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_string(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_string, value)) + "]"
    return go_type(value) if value is None else f"%!s({go_type(value)}={go_value(value)})"


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


def go_syntax(value: Any) -> str:
    """What %#v prints: Go source for the value, numbers being floats as encoding/json reads them."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{quote(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{pairs}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return _shortest(float(value))


def _shortest(number: float) -> str:
    """What %v prints of a float64: its shortest form, with an exponent from 1e+06 and below 1e-4."""
    sign, digits, shift = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(shift, int)
    exponent = len(digits) + shift - 1
    if -4 <= exponent < _EXPONENT:
        return repr(number).removesuffix(".0")
    first, rest = str(digits[0]), "".join(map(str, digits[1:]))
    mantissa = f"{first}.{rest}" if rest else first
    return f"{'-' if sign else ''}{mantissa}e{exponent:+03d}"
