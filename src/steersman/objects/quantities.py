"""Amounts of resources ("100m", "128Mi", "1e3"): parsing, arithmetic and the one canonical spelling.

A quantity is an exact decimal, never finer than a billionth (what is finer is rounded away from zero),
and remembers the family of its suffix: decimal ("k"), binary ("Ki") or exponent ("e3"). Spellings that
kube-apiserver keeps as they were written ("1.500", "+1") are kept here too. Used by the codec, by
validation, quota and scheduling; knows nothing of resource names.

One departure: an exponent beyond ±9999 is refused instead of burning memory on its digits.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache, total_ordering
from typing import Final, Literal

from steersman.objects.errors import QuantityError

__all__ = ["Format", "Quantity", "canonical"]

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_FORMAT_TEXT: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_NUMERIC_TEXT: Final = "unable to parse numeric part of quantity"
_SUFFIX_TEXT: Final = "unable to parse quantity's suffix"

_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {exponent // 10: suffix for suffix, exponent in _BINARY.items()}

_parts = re.compile(r"([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)").fullmatch
_exponent = re.compile(r"[eE]([+-]?[0-9]+)").fullmatch
#: Spellings that are canonical at sight: no factor to move into the suffix.
_plain = re.compile(r"0|[1-9][0-9]{0,2}(?:[numkMGTPE]|[KMGTP]i)?").fullmatch

_NANO: Final = -9
_INT64_DIGITS: Final = 18
_INT64_MAX: Final = 2**63 - 1
_EXPONENT_LIMIT: Final = 9999
_CACHED_LENGTH: Final = 32


def canonical(text: str) -> str:
    """The spelling under which kube-apiserver stores and shows this quantity. Raises QuantityError."""
    if _plain(text):
        return text
    return _cached(text) if len(text) <= _CACHED_LENGTH else str(Quantity.parse(text))


@lru_cache(maxsize=2048)
def _cached(text: str) -> str:
    return str(Quantity.parse(text))


@total_ordering
class Quantity:
    """An exact amount: `value × 10**scale`. Immutable; equal when the amounts are equal."""

    __slots__ = ("_scale", "_text", "_value", "format")

    def __init__(self, value: int, scale: int = 0, format: Format = "DecimalSI") -> None:  # noqa: A002
        self._value = value
        self._scale = scale
        self._text = ""
        self.format: Format = format

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a quantity as it appears in an object. Raises QuantityError with the server's words."""
        # The server trims what it reads from JSON.
        text = text.strip(" \t\n\v\f\r\x85\xa0")
        matched = _parts(text)
        if not text or matched is None:
            raise QuantityError(_FORMAT_TEXT)
        sign, zeros, digits, decimals, suffix = matched.groups()
        decimals = decimals or ""
        bits, exponent, form = _interpret(suffix)
        number = (digits or "0") + decimals
        scale = exponent - len(decimals)
        # Whether the server reads it into 64 bits at once; if so, it keeps some spellings as they are.
        if form == "BinarySI":
            short = not decimals and len(number) + bits * 3 // 10 <= 14
            kept = short and int(number) % 8 != 0
        else:
            short = len(number) <= _INT64_DIGITS and scale >= _NANO
            kept = short and scale % 3 == 0 and number[0] != "0" and number[-3:] != "000"
        if not short and not (zeros or digits or decimals):
            raise QuantityError(_NUMERIC_TEXT)
        value = _integer(number) << bits
        made = cls(-value if sign == "-" else value, scale, form)
        if not short:
            return made._bounded()
        if kept:
            made._text = text
        return made

    def _bounded(self) -> Quantity:
        """Rounded up to a billionth, binary amounts capped at what 63 bits hold."""
        value, scale, form = abs(self._value), self._scale, self.format
        if scale < _NANO:
            value, scale = -(-value // 10 ** (_NANO - scale)), _NANO
        if form == "BinarySI":
            unit = 10**-scale  # binary suffixes come without exponent, so the scale is never positive
            if value > _INT64_MAX * unit:
                value, scale = _INT64_MAX, 0
            elif 0 < value < unit:
                form = "DecimalSI"
        return Quantity(-value if self._value < 0 else value, scale, form)

    # --- Values

    def as_fraction(self) -> Fraction:
        return self._value * Fraction(10) ** self._scale

    def scaled(self, scale: int) -> int:
        """The amount in units of 10**scale, rounded away from zero."""
        shift = self._scale - scale
        if shift >= 0:
            return self._value * _power(shift)
        unit = _power(-shift)
        return -(-self._value // unit) if self._value >= 0 else self._value // unit

    @property
    def value(self) -> int:
        return self.scaled(0)

    @property
    def milli_value(self) -> int:
        return self.scaled(-3)

    @property
    def sign(self) -> int:
        return (self._value > 0) - (self._value < 0)

    def is_integer(self) -> bool:
        return self._scale >= 0 or self._value % 10**-self._scale == 0

    def rounded_up(self, scale: int) -> Quantity:
        """This amount in steps of 10**scale, rounded away from zero."""
        return self if self._scale >= scale else Quantity(self.scaled(scale), scale, self.format)

    # --- Arithmetic: the left side's format stays unless it is zero

    def _aligned(self, other: Quantity) -> tuple[int, int, int]:
        scale = min(self._scale, other._scale)
        return self._value * 10 ** (self._scale - scale), other._value * 10 ** (other._scale - scale), scale

    def __add__(self, other: Quantity) -> Quantity:
        mine, theirs, scale = self._aligned(other)
        return Quantity(mine + theirs, scale, self.format if self._value else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return self + -other

    def __neg__(self) -> Quantity:
        return Quantity(-self._value, self._scale, self.format)

    def __mul__(self, factor: int) -> Quantity:
        return Quantity(self._value * factor, self._scale, self.format)

    def __bool__(self) -> bool:
        return self._value != 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        mine, theirs, _ = self._aligned(other)
        return mine == theirs

    def __lt__(self, other: Quantity) -> bool:
        mine, theirs, _ = self._aligned(other)
        return mine < theirs

    def __hash__(self) -> int:
        return hash(self.as_fraction())

    # --- Text

    def __str__(self) -> str:
        if not self._text:
            self._text = self._spelled()
        return self._text

    def __repr__(self) -> str:
        return f"Quantity.parse({str(self)!r})"

    def _spelled(self) -> str:
        if not self._value:
            return "0"
        form = self.format
        if form == "BinarySI":
            if self.is_integer() and abs(self.value) >= 1024:
                number, thousands = _without_factor(self.value, 1024, max(_BINARY_SUFFIX))
                return f"{number}{_BINARY_SUFFIX.get(thousands, '')}"
            form = "DecimalSI"
        limit = _DECIMAL["E"] - self._scale if form == "DecimalSI" else _EXPONENT_LIMIT * 2
        number, tens = _without_factor(self._value, 10, max(limit, 0))
        exponent = self._scale + tens
        if form == "DecimalSI" and exponent > _DECIMAL["E"]:
            number, exponent = number * 10 ** (exponent - _DECIMAL["E"]), _DECIMAL["E"]
        number, exponent = number * 10 ** (exponent % 3), exponent - exponent % 3
        if form == "DecimalExponent":
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIX[exponent]}"


def _interpret(suffix: str) -> tuple[int, int, Format]:
    """(bits to shift, decimal exponent, family) of a suffix."""
    exponent = _DECIMAL.get(suffix)
    if exponent is not None:
        return 0, exponent, "DecimalSI"
    bits = _BINARY.get(suffix)
    if bits is not None:
        return bits, 0, "BinarySI"
    matched = _exponent(suffix)
    if matched is None or len(matched[1]) > 16 or abs(int(matched[1])) > _EXPONENT_LIMIT:
        raise QuantityError(_SUFFIX_TEXT)
    return 0, int(matched[1]), "DecimalExponent"


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts
        raise QuantityError(_NUMERIC_TEXT) from None


def _power(exponent: int) -> int:
    return int(10**exponent)


def _without_factor(value: int, factor: int, limit: int) -> tuple[int, int]:
    """(rest, times) with value = rest × factor**times and no more factors in rest than the limit leaves."""
    times = 0
    while times < limit and value % factor == 0:
        value //= factor
        times += 1
    return value, times
