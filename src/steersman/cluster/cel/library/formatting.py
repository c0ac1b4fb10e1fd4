"""String formatting: `'%s has %d'.format([name, count])`, with cel-go's clauses."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.library.standard import show_double
from steersman.cluster.cel.runtime_types import type_of_value
from steersman.cluster.cel.times import format_duration, format_timestamp
from steersman.cluster.cel.types import Type
from steersman.cluster.cel.values import Duration, Frame, Timestamp, Uint, charge, is_map

__all__ = ["format_text"]

_CLAUSE: Final = re.compile(r"%(?:\.(\d+))?(.)", re.DOTALL)
_PRECISION: Final = 6
_MOST_PRECISION: Final = 1000
#: Kubernetes charges nothing for what clauses add; from here on we do.
_FREE_TEXT: Final = 100
_FREE_ITEMS: Final = 16
_SUPERSCRIPTS: Final = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
_INTEGERS: Final = (int, Uint)


def format_text(frame: Frame, pattern: str, values: list[Any]) -> str:
    """The pattern with its clauses filled in. What they add is charged, beyond the pattern's price."""
    out: list[str] = []
    at = used = 0
    while at < len(pattern):
        end = pattern.find("%", at)
        if end < 0:
            out.append(pattern[at:])
            break
        out.append(pattern[at:end])
        if pattern.startswith("%%", end):
            out.append("%")
            at = end + 2
            continue
        if used >= len(values):
            raise EvaluationError(f"index {used} out of range")
        clause = _CLAUSE.match(pattern, end)
        if clause is None:
            raise EvaluationError(_broken(pattern[end:]))
        out.append(_filled(frame, clause, values[used]))
        used += 1
        at = clause.end()
    return "".join(out)


def _broken(rest: str) -> str:
    if rest.startswith("%."):
        return "error while parsing precision: could not find end of precision specifier"
    return "unexpected end of string"


def _filled(frame: Frame, clause: re.Match[str], value: Any) -> str:
    precision = _PRECISION if clause[1] is None else int(clause[1][:9])
    if precision > _MOST_PRECISION:
        raise EvaluationError(
            f"error while parsing precision: precision {precision} exceeds "
            f"maximum allowed precision {_MOST_PRECISION}"
        )
    write = _CLAUSES.get(clause[2])
    if write is None:
        raise EvaluationError(
            f'could not parse formatting clause: unrecognized formatting clause "{clause[2]}"'
        )
    text = write(frame, value, precision)
    charge(frame, max(0, len(text) - _FREE_TEXT) // 10)
    return text


def _refuse(clause: str, allowed: str, value: Any) -> EvaluationError:
    return EvaluationError(
        f"error during formatting: {clause} clause can only be used on {allowed}, was given {_name(value)}"
    )


def _name(value: Any) -> str:
    kind = type_of_value(value)
    return {
        "null": "null_type", "timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration",
    }.get(kind.kind, kind.name)  # fmt: skip


def _string(frame: Frame, value: Any, _precision: int) -> str:
    return _shown(frame, value, nested=False)


def _shown(frame: Frame, value: Any, *, nested: bool) -> str:
    """A value as %s writes it; inside lists and maps strings are quoted and times named."""
    if isinstance(value, list):
        charge(frame, max(0, len(value) - _FREE_ITEMS))
        return "[" + ", ".join(_shown(frame, item, nested=True) for item in value) + "]"
    if is_map(value):
        charge(frame, max(0, len(value) - _FREE_ITEMS))
        entries = [(_shown(frame, key, nested=True), _shown(frame, value[key], nested=True)) for key in value]
        return "{" + ", ".join(f"{key}:{item}" for key, item in sorted(entries)) + "}"
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case str():
            return json.dumps(value, ensure_ascii=False) if nested else value
        case bytes():
            text = value.decode("utf-8", "replace")
            return "b" + json.dumps(text, ensure_ascii=False) if nested else text
        case float():
            return f"{value:.6f}" if nested and math.isfinite(value) else show_double(value)
        case Timestamp():
            return f'timestamp("{format_timestamp(value)}")' if nested else format_timestamp(value)
        case Duration():
            return f'duration("{format_duration(value)}")' if nested else format_duration(value)
        case Type():
            return value.name
    raise _refuse(
        "string", "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps", value
    )


def _decimal(_frame: Frame, value: Any, _precision: int) -> str:
    if type(value) not in _INTEGERS:
        raise _refuse("decimal", "integers", value)
    return str(int(value))


def _float(clause: str, value: Any) -> float:
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    if type(value) is not float:
        raise _refuse(clause, "doubles", value)
    return value


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else ("∞" if value > 0 else "-∞")


def _fixed(_frame: Frame, value: Any, precision: int) -> str:
    number = _float("fixed-point", value)
    return f"{number:,.{precision}f}" if math.isfinite(number) else _special(number)


def _scientific(_frame: Frame, value: Any, _precision: int) -> str:
    number = _float("scientific", value)
    if not math.isfinite(number):
        return _special(number)
    mantissa, _, exponent = f"{number:.6e}".partition("e")
    return f"{mantissa}×10{exponent.lstrip('+').translate(_SUPERSCRIPTS)}"


def _binary(_frame: Frame, value: Any, _precision: int) -> str:
    if type(value) not in {bool, *_INTEGERS}:
        raise _refuse("binary", "integers and bools", value)
    return f"{int(value):b}"


def _octal(_frame: Frame, value: Any, _precision: int) -> str:
    if type(value) not in _INTEGERS:
        raise _refuse("octal", "integers", value)
    return f"{int(value):o}"


def _hexadecimal(_frame: Frame, value: Any, _precision: int) -> str:
    if isinstance(value, str):
        return value.encode().hex()
    if isinstance(value, bytes):
        return value.hex()
    if type(value) not in _INTEGERS:
        raise _refuse("hex", "integers, byte buffers, and strings", value)
    return f"{int(value):x}"


_CLAUSES: Final[dict[str, Callable[[Frame, Any, int], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hexadecimal,
    "X": lambda frame, value, precision: _hexadecimal(frame, value, precision).upper(),
}
