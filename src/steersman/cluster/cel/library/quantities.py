"""The quantity library: `quantity('1Gi').isGreaterThan(quantity('500Mi'))`."""

from __future__ import annotations

from typing import Final

from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.functions import Function, function, member, overload
from steersman.cluster.cel.library import costs
from steersman.cluster.cel.types import BOOL, DOUBLE, INT, STRING, opaque
from steersman.cluster.cel.values import Frame
from steersman.objects.errors import QuantityError
from steersman.objects.quantities import Quantity

__all__ = ["FUNCTIONS", "QUANTITY"]

QUANTITY: Final = opaque("kubernetes.Quantity")
_PAIR: Final = [QUANTITY, QUANTITY]


def _parsed(text: str) -> Quantity:
    # An object's quantity is trimmed when it is read; one in an expression is not.
    if text != text.strip():
        raise QuantityError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    return Quantity.parse(text)


def _quantity(_frame: Frame, text: str) -> Quantity:
    try:
        return _parsed(text)
    except QuantityError as error:
        raise EvaluationError(str(error)) from error


def _is_quantity(_frame: Frame, text: str) -> bool:
    try:
        _parsed(text)
    except QuantityError:
        return False
    return True


def _fits(amount: Quantity) -> bool:
    return amount.is_integer() and -(2**63) <= amount.value < 2**63


def _as_integer(_frame: Frame, amount: Quantity) -> int:
    if not _fits(amount):
        raise EvaluationError("cannot convert value to integer")
    return amount.value


def _compare(_frame: Frame, left: Quantity, right: Quantity) -> int:
    return (left > right) - (left < right)


_SCAN: Final = costs.of_argument(0)

FUNCTIONS: Final[list[Function]] = [
    function("quantity", overload("string_to_quantity", [STRING], QUANTITY, _quantity, _SCAN)),
    function("isQuantity", overload("is_quantity_string", [STRING], BOOL, _is_quantity, _SCAN)),
    function("sign", overload("quantity_sign", [QUANTITY], INT, lambda _f, amount: amount.sign)),
    function("isGreaterThan", member("quantity_is_greater_than", _PAIR, BOOL, lambda _f, a, b: a > b)),
    function("isLessThan", member("quantity_is_less_than", _PAIR, BOOL, lambda _f, a, b: a < b)),
    function("compareTo", member("quantity_compare_to", _PAIR, INT, _compare)),
    function(
        "asApproximateFloat",
        member("quantity_get_float", [QUANTITY], DOUBLE, lambda _f, amount: float(amount.as_fraction())),
    ),
    function("asInteger", member("quantity_get_int", [QUANTITY], INT, _as_integer)),
    function("isInteger", member("quantity_is_integer", [QUANTITY], BOOL, lambda _f, amount: _fits(amount))),
    function(
        "add",
        member("quantity_add", _PAIR, QUANTITY, lambda _f, a, b: a + b),
        member("quantity_add_int", [QUANTITY, INT], QUANTITY, lambda _f, a, b: a + Quantity(b)),
    ),
    function(
        "sub",
        member("quantity_sub", _PAIR, QUANTITY, lambda _f, a, b: a - b),
        member("quantity_sub_int", [QUANTITY, INT], QUANTITY, lambda _f, a, b: a - Quantity(b)),
    ),
]
