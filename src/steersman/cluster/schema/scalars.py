"""Decoders of single values: strings, numbers, bytes, times, quantities.

Each takes a value, its place and the findings of the run, like every decoder of `decode`. A value of the
wrong type is noted and decoding goes on, as in Go, except for the types that decode themselves there.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from steersman.cluster.schema import go_messages
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.findings import INTEGERS, Findings, Literal, Place, mismatch
from steersman.objects.errors import QuantityError, TimeError
from steersman.objects.quantities import canonical
from steersman.objects.times import canonical_micro_time, canonical_time

__all__ = [
    "Decode",
    "as_it_is",
    "decode_bytes",
    "decode_int_or_string",
    "decode_micro_time",
    "decode_number",
    "decode_quantity",
    "decode_time",
    "integer",
    "plain",
]

Decode = Callable[[Any, Place, Findings], Any]

#: How nearly every time is written already.
_is_canonical: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII).fullmatch
_EXPONENT_FROM: Final = 1e21
_ZERO_TIME: Final = "0001-01-01T00:00:00Z"


def as_it_is(value: Any, place: Place, findings: Findings) -> Any:
    return value


def plain(wanted: type, expected: str) -> Decode:
    empty = wanted()

    def decode_scalar(value: Any, place: Place, findings: Findings) -> Any:
        if value.__class__ is wanted:
            return value
        if value is not None:
            findings.mismatch(value, place, expected)
        return empty

    return decode_scalar


def integer(expected: str, width: str) -> Decode:
    least, most = INTEGERS[width]

    def decode_integer(value: Any, place: Place, findings: Findings) -> int:
        if value.__class__ is int and least <= value <= most:
            return int(value)
        if value is not None:
            findings.mismatch(value, place, expected)
        return 0

    return decode_integer


def decode_number(value: Any, place: Place, findings: Findings) -> int | float:
    if isinstance(value, float):
        # Go writes a whole number without decimals, up to where it begins to use exponents.
        return int(value) if value.is_integer() and abs(value) < _EXPONENT_FROM else float(value)
    if value.__class__ is int:
        return int(value)
    if value is not None:
        findings.mismatch(value, place, "float64")
    return 0


_BYTE: Final = integer("uint8", "uint8")


def decode_bytes(value: Any, place: Place, findings: Findings) -> str:
    if value.__class__ is list:
        raw = bytes(_BYTE(item, place, findings) for item in value)
        return binascii.b2a_base64(raw, newline=False).decode()
    if value.__class__ is not str:
        if value is not None:
            findings.mismatch(value, place, "[]uint8")
        return ""
    text = value.replace("\n", "").replace("\r", "") if "\n" in value or "\r" in value else value
    try:
        raw = binascii.a2b_base64(text, strict_mode=True)
        return binascii.b2a_base64(raw, newline=False).decode()
    except (binascii.Error, ValueError):
        findings.error = findings.error or go_messages.base64_error(value)
        return ""


# The types below decode themselves in Go: what they refuse ends decoding at once.


def _refuse(value: Any, place: Place, expected: str) -> DecodeError:
    return DecodeError(mismatch(value, place, expected))


def decode_time(value: Any, place: Place, findings: Findings) -> str | None:
    if value is None:
        return None
    if value.__class__ is not str:
        raise _refuse(value, place, "string")
    try:
        if _is_canonical(value):
            datetime.fromisoformat(value)  # does it name a moment?
        else:
            value = canonical_time(value)
    except ValueError:
        raise DecodeError(go_messages.time_error(value)) from None
    return None if value == _ZERO_TIME else value


def decode_micro_time(value: Any, place: Place, findings: Findings) -> str | None:
    if value is None:
        return None
    if value.__class__ is not str:
        raise _refuse(value, place, "string")
    try:
        text = canonical_micro_time(value)
    except TimeError:
        raise DecodeError(go_messages.time_error(value, micro=True)) from None
    decimals = value[20:26]
    if len(decimals) < 6 or not decimals.isdigit() or value[26:27].isdigit():
        raise DecodeError(go_messages.time_error(value, micro=True))
    return None if text.startswith(_ZERO_TIME[:-1]) and text[20:26] == "000000" else text


def decode_quantity(value: Any, place: Place, findings: Findings) -> str:
    if value is None:
        return "0"
    if isinstance(value, Literal):
        value = value.text
    elif isinstance(value, float):
        value = f"{Decimal(repr(value)):f}"
    elif value.__class__ is not str:
        value = str(value)
    try:
        return canonical(value.strip())
    except QuantityError as error:
        raise DecodeError(str(error)) from None


def decode_int_or_string(value: Any, place: Place, findings: Findings) -> int | str:
    if value.__class__ is str:
        return str(value)
    least, most = INTEGERS["int32"]
    if value.__class__ is int and least <= value <= most:
        return int(value)
    if value is None:
        return 0
    raise _refuse(value, place, "int32")
