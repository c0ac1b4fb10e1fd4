"""The optional types library: `optional.of(x)`, `o.orValue(y)`, `list.first()`."""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.functions import Function, function, member, overload
from steersman.cluster.cel.types import BOOL, list_of, optional_of, param
from steersman.cluster.cel.values import NONE, Duration, Frame, Optional, Timestamp, is_map

__all__ = ["FUNCTIONS"]

#: Go's zero time: the first of January of the year 1.
_ZERO_TIME: Final = Timestamp(-62135596800 * 10**9)
_V: Final = param("V")
_OPTIONAL: Final = optional_of(_V)


def _of_non_zero(_frame: Frame, value: Any) -> Optional:
    if value is None or value is False:
        return NONE
    if isinstance(value, (str, bytes, list)) or is_map(value):
        return Optional(value) if len(value) else NONE
    if isinstance(value, Timestamp):
        return NONE if value == _ZERO_TIME else Optional(value)
    if isinstance(value, Duration):
        return Optional(value) if value.nanos else NONE
    return NONE if value == 0 and isinstance(value, (int, float)) else Optional(value)


def _value(_frame: Frame, optional: Optional) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _lazy(_frame: Frame, *_args: Any) -> Any:
    raise EvaluationError("no such overload")  # planned by hand: the argument may not be needed


def _unwrap(_frame: Frame, optionals: list[Optional]) -> list[Any]:
    return [optional.value for optional in optionals if optional.present]


def _end(index: int) -> Any:
    return lambda _frame, items: Optional(items[index]) if items else NONE


FUNCTIONS: Final[list[Function]] = [
    function("optional.of", overload("optional_of", [_V], _OPTIONAL, lambda _f, value: Optional(value))),
    function("optional.ofNonZeroValue", overload("optional_ofNonZeroValue", [_V], _OPTIONAL, _of_non_zero)),
    function("optional.none", overload("optional_none", [], _OPTIONAL, lambda _f: NONE)),
    function("value", member("optional_value", [_OPTIONAL], _V, _value)),
    function(
        "hasValue", member("optional_hasValue", [_OPTIONAL], BOOL, lambda _f, optional: optional.present)
    ),
    function("or", member("optional_or_optional", [_OPTIONAL, _OPTIONAL], _OPTIONAL, _lazy)),
    function("orValue", member("optional_orValue_value", [_OPTIONAL, _V], _V, _lazy)),
    function("first", member("list_first", [list_of(_V)], _OPTIONAL, _end(0))),
    function("last", member("list_last", [list_of(_V)], _OPTIONAL, _end(-1))),
    function("optional.unwrap", overload("optional_unwrap", [list_of(_OPTIONAL)], list_of(_V), _unwrap)),
    function("unwrapOpt", member("optional_unwrapOpt", [list_of(_OPTIONAL)], list_of(_V), _unwrap)),
]
