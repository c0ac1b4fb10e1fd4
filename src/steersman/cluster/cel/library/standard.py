"""The standard library of CEL: operators, conversions and string functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from steersman.cluster.cel import regex
from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.functions import (
    Function,
    Implementation,
    Overload,
    function,
    member,
    overload,
    unframed,
)
from steersman.cluster.cel.library import costs
from steersman.cluster.cel.runtime_types import type_of_value
from steersman.cluster.cel.times import (
    SECOND,
    format_duration,
    format_timestamp,
    make_duration,
    make_timestamp,
    parse_duration,
    parse_timestamp,
)
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
    Type,
    list_of,
    map_of,
    optional_of,
    param,
    type_of,
)
from steersman.cluster.cel.values import NONE, Frame, Optional, Uint, add_lists, charge, equal, is_map

__all__ = ["FUNCTIONS", "show_double"]

_A: Final = param("A")
_B: Final = param("B")
_LIST: Final = list_of(_A)
_MAP: Final = map_of(_A, _B)


# -- arithmetic ---------------------------------------------------------------------------------------


def _int(value: int) -> int:
    if -(2**63) <= value < 2**63:
        return value
    raise EvaluationError("integer overflow")


def _uint(value: int) -> Uint:
    if 0 <= value < 2**64:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _modulo(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return int(left - right * _divide(left, right))


def _divide_double(left: float, right: float) -> float:
    if right == 0:
        if left == 0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    return left / right


def _arithmetic(
    symbol: str, word: str, on_int: Callable[[int, int], int], double: Any, *more: Overload
) -> Function:
    numbers = [
        overload(f"{word}_int64", [INT, INT], INT, lambda _f, a, b: _int(on_int(a, b))),
        overload(f"{word}_uint64", [UINT, UINT], UINT, lambda _f, a, b: _uint(on_int(int(a), int(b)))),
    ]
    if double is not None:
        numbers.append(overload(f"{word}_double", [DOUBLE, DOUBLE], DOUBLE, unframed(double)))
    return function(symbol, *numbers, *more)


def _concatenated(_frame: Frame, left: Any, right: Any) -> Any:
    return left + right


_ADD = _arithmetic(
    "_+_", "add", lambda a, b: a + b, lambda a, b: a + b,
    overload("add_string", [STRING, STRING], STRING, _concatenated, costs.together),
    overload("add_bytes", [BYTES, BYTES], BYTES, _concatenated, costs.together),
    overload("add_list", [_LIST, _LIST], _LIST, add_lists),
    overload("add_duration_duration", [DURATION, DURATION], DURATION,
             lambda _f, a, b: make_duration(a.nanos + b.nanos)),
    overload("add_timestamp_duration", [TIMESTAMP, DURATION], TIMESTAMP,
             lambda _f, a, b: make_timestamp(a.nanos + b.nanos)),
    overload("add_duration_timestamp", [DURATION, TIMESTAMP], TIMESTAMP,
             lambda _f, a, b: make_timestamp(a.nanos + b.nanos)),
)  # fmt: skip
_SUBTRACT = _arithmetic(
    "_-_", "subtract", lambda a, b: a - b, lambda a, b: a - b,
    overload("subtract_duration_duration", [DURATION, DURATION], DURATION,
             lambda _f, a, b: make_duration(a.nanos - b.nanos)),
    overload("subtract_timestamp_duration", [TIMESTAMP, DURATION], TIMESTAMP,
             lambda _f, a, b: make_timestamp(a.nanos - b.nanos)),
    overload("subtract_timestamp_timestamp", [TIMESTAMP, TIMESTAMP], DURATION,
             lambda _f, a, b: make_duration(a.nanos - b.nanos)),
)  # fmt: skip

# -- comparison ---------------------------------------------------------------------------------------

_ORDERED: Final = {
    "bool": BOOL, "int64": INT, "uint64": UINT, "double": DOUBLE, "string": STRING, "bytes": BYTES,
    "timestamp": TIMESTAMP, "duration": DURATION,
}  # fmt: skip
_CROSS: Final = [
    ("int64_double", INT, DOUBLE), ("int64_uint64", INT, UINT),
    ("uint64_double", UINT, DOUBLE), ("uint64_int64", UINT, INT),
    ("double_int64", DOUBLE, INT), ("double_uint64", DOUBLE, UINT),
]  # fmt: skip


def _comparison(symbol: str, word: str, holds: Callable[[Any, Any], bool]) -> Function:
    compare: Implementation = unframed(holds)
    same = [
        overload(
            f"{word}_{name}", [kind, kind], BOOL, compare, costs.smaller if kind in {STRING, BYTES} else None
        )
        for name, kind in _ORDERED.items()
    ]
    return function(
        symbol, *same, *(overload(f"{word}_{name}", [a, b], BOOL, compare) for name, a, b in _CROSS)
    )


def _unequal(frame: Frame, left: Any, right: Any) -> bool:
    return not equal(frame, left, right)


# -- containers ---------------------------------------------------------------------------------------


def _index_list(_frame: Frame, items: Any, index: Any) -> Any:
    if type(index) is float:
        if not index.is_integer():
            raise EvaluationError(f"unsupported index value: {show_double(index)}")
        index = int(index)
    if not 0 <= index < len(items):
        raise EvaluationError(f"index out of bounds: {index}")
    return items[index]


def _index_map(_frame: Frame, entries: Any, key: Any) -> Any:
    if key in entries and not (type(key) is bool and not _has_bool(entries, key)):
        return entries[key]
    raise EvaluationError(f"no such key: {_show_key(key)}")


def _has_bool(entries: Any, key: bool) -> bool:
    # Python takes true for 1: make sure the key found is a bool.
    return any(known is key for known in entries)


def _show_key(key: Any) -> str:
    if type(key) is bool:
        return "true" if key else "false"
    return show_double(key) if type(key) is float else str(int(key) if isinstance(key, int) else key)


def _try_index(frame: Frame, container: Any, key: Any) -> Optional:
    try:
        return Optional((_index_map if is_map(container) else _index_list)(frame, container, key))
    except EvaluationError:
        return NONE


def _index_optional(frame: Frame, container: Optional, key: Any) -> Optional:
    return _try_index(frame, container.value, key) if container.present else NONE


def _in_list(frame: Frame, item: Any, items: list[Any]) -> bool:
    return any(equal(frame, item, candidate) for candidate in items)


def _in_map(_frame: Frame, key: Any, entries: Any) -> bool:
    return key in entries


# -- conversions --------------------------------------------------------------------------------------


def show_double(value: float) -> str:
    """Go's %g: the shortest digits that read back, with an exponent below 1e-4 and from 1e6 on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, power = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    exponent = len(digits) + int(power) - 1
    minus = "-" if sign else ""
    if text == "0":
        return f"{minus}0"
    if exponent < -4 or exponent >= 6:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        return f"{minus}{text[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return f"{value:f}".rstrip("0").rstrip(".") if "e" in repr(value) else repr(value).removesuffix(".0")


def _double_to_int(value: float) -> int:
    if math.isnan(value) or not -(2.0**63) < value < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(value)


def _double_to_uint(value: float) -> Uint:
    if math.isnan(value) or not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


_LONGEST_CONVERTED: Final = 2_000


def _text_to_number(name: str, read: Callable[[str], Any]) -> Implementation:
    def convert(_frame: Frame, text: str) -> Any:
        try:
            # The call costs 1 however long the text is: nothing sensible is this long.
            if len(text) > _LONGEST_CONVERTED or "_" in text or text != text.strip():
                raise ValueError(text)
            return read(text)
        except (ValueError, EvaluationError) as error:
            raise EvaluationError(f"type conversion error from 'string' to '{name}'") from error

    return convert


def _read_double(text: str) -> float:
    return float(text)


_TRUE: Final = {"1", "t", "true", "TRUE", "True", "T"}
_FALSE: Final = {"0", "f", "false", "FALSE", "False", "F"}


def _read_bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(text)


def _decode(_frame: Frame, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from error


def _identity(_frame: Frame, value: Any) -> Any:
    return value


def _conversions(result: Type, name: str, sources: dict[Type, Implementation]) -> Function:
    costed = {(STRING, BYTES), (BYTES, STRING)}
    return function(
        name,
        *(
            overload(
                f"{source.name}_to_{name}", [source], result, run,
                costs.of_argument(0) if (source, result) in costed else None,
            )
            for source, run in sources.items()
        ),
    )  # fmt: skip


_CONVERSIONS: Final = [
    _conversions(INT, "int", {
        INT: _identity, UINT: lambda _f, v: _int(int(v)), DOUBLE: unframed(_double_to_int),
        STRING: _text_to_number("int", lambda text: _int(int(text))),
        TIMESTAMP: lambda _f, v: v.nanos // SECOND, DURATION: lambda _f, v: v.nanos,
    }),
    _conversions(UINT, "uint", {
        UINT: _identity, INT: lambda _f, v: _uint(v), DOUBLE: unframed(_double_to_uint),
        STRING: _text_to_number("uint", lambda text: _uint(int(text))),
    }),
    _conversions(DOUBLE, "double", {
        DOUBLE: _identity, INT: lambda _f, v: float(v), UINT: lambda _f, v: float(v),
        STRING: _text_to_number("double", _read_double),
    }),
    _conversions(BOOL, "bool", {BOOL: _identity, STRING: _text_to_number("bool", _read_bool)}),
    _conversions(BYTES, "bytes", {BYTES: _identity, STRING: lambda _f, v: v.encode()}),
    _conversions(STRING, "string", {
        STRING: _identity, BOOL: lambda _f, v: "true" if v else "false", INT: lambda _f, v: str(v),
        UINT: lambda _f, v: str(int(v)), DOUBLE: lambda _f, v: show_double(v), BYTES: _decode,
        TIMESTAMP: lambda _f, v: format_timestamp(v), DURATION: lambda _f, v: format_duration(v),
    }),
    _conversions(TIMESTAMP, "timestamp", {
        TIMESTAMP: _identity, STRING: _text_to_number("google.protobuf.Timestamp", parse_timestamp),
        INT: lambda _f, v: make_timestamp(v * SECOND),
    }),
    _conversions(DURATION, "duration", {
        DURATION: _identity, STRING: _text_to_number("google.protobuf.Duration", parse_duration),
    }),
]  # fmt: skip


def _size(_frame: Frame, value: Any) -> int:
    return len(value)


_SIZED: Final = {"string": STRING, "bytes": BYTES, "list": _LIST, "map": _MAP}


_FREE_STEPS: Final = 2_000


def _matches(frame: Frame, text: str, expression: str) -> bool:
    program = regex.compiled(expression, "")
    matched, steps = program.search(text)
    # Beyond what the price promises, steps are charged as they were made.
    charge(frame, max(0, steps - _FREE_STEPS) // 10)
    return matched


def _never(_frame: Frame, *_args: Any) -> Any:
    raise EvaluationError("no such overload")


FUNCTIONS: Final[list[Function]] = [
    _ADD,
    _SUBTRACT,
    _arithmetic("_*_", "multiply", lambda a, b: a * b, lambda a, b: a * b),
    _arithmetic("_/_", "divide", _divide, _divide_double),
    _arithmetic("_%_", "modulo", _modulo, None),
    function(
        "-_",
        overload("negate_int64", [INT], INT, lambda _f, v: _int(-v)),
        overload("negate_double", [DOUBLE], DOUBLE, lambda _f, v: -v),
    ),
    function("!_", overload("logical_not", [BOOL], BOOL, lambda _f, v: not v)),
    # Planned by hand (they choose what to evaluate); declared for their types.
    function("_&&_", overload("logical_and", [BOOL, BOOL], BOOL, _never)),
    function("_||_", overload("logical_or", [BOOL, BOOL], BOOL, _never)),
    function("_?_:_", overload("conditional", [BOOL, _A, _A], _A, _never)),
    function("_==_", overload("equals", [_A, _A], BOOL, equal, costs.smaller)),
    function("_!=_", overload("not_equals", [_A, _A], BOOL, _unequal, costs.smaller)),
    _comparison("_<_", "less", lambda a, b: a < b),
    _comparison("_<=_", "less_equals", lambda a, b: a <= b),
    _comparison("_>_", "greater", lambda a, b: a > b),
    _comparison("_>=_", "greater_equals", lambda a, b: a >= b),
    function(
        "@in",
        overload("in_list", [_A, _LIST], BOOL, _in_list, lambda _item, items: len(items)),
        overload("in_map", [_A, _MAP], BOOL, _in_map),
    ),
    function(
        "_[_]",
        overload("index_list", [_LIST, INT], _A, _index_list),
        overload("index_map", [_MAP, _A], _B, _index_map),
        overload("optional_list_index_int", [optional_of(_LIST), INT], optional_of(_A), _index_optional),
        overload("optional_map_index_value", [optional_of(_MAP), _A], optional_of(_B), _index_optional),
    ),
    function(
        "_[?_]",
        overload("list_optindex_optional_int", [_LIST, INT], optional_of(_A), _try_index),
        overload("map_optindex_optional_value", [_MAP, _A], optional_of(_B), _try_index),
        overload(
            "optional_list_optindex_optional_int", [optional_of(_LIST), INT], optional_of(_A), _index_optional
        ),
        overload(
            "optional_map_optindex_optional_value", [optional_of(_MAP), _A], optional_of(_B), _index_optional
        ),
    ),
    function(
        "size",
        *(overload(f"size_{name}", [kind], INT, _size) for name, kind in _SIZED.items()),
        *(member(f"{name}_size", [kind], INT, _size) for name, kind in _SIZED.items()),
    ),
    function("dyn", overload("to_dyn", [_A], DYN, _identity)),
    function("type", overload("type", [_A], type_of(_A), lambda _f, v: type_of_value(v))),
    *_CONVERSIONS,
    function(
        "startsWith",
        member(
            "starts_with_string",
            [STRING, STRING],
            BOOL,
            lambda _f, s, p: s.startswith(p),
            costs.of_argument(1),
        ),
    ),
    function(
        "endsWith",
        member(
            "ends_with_string", [STRING, STRING], BOOL, lambda _f, s, p: s.endswith(p), costs.of_argument(1)
        ),
    ),
    function(
        "contains", member("contains_string", [STRING, STRING], BOOL, lambda _f, s, p: p in s, costs.product)
    ),
    function(
        "matches",
        overload("matches", [STRING, STRING], BOOL, _matches, costs.pattern),
        member("matches_string", [STRING, STRING], BOOL, _matches, costs.pattern),
    ),
]
