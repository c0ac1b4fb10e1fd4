"""Spans of time as Kubernetes writes them: "1h30m", "250ms", "1.5s".

The text is Go's; a timedelta is exact to the microsecond, so what is finer is refused rather than lost.
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Final

from steersman.objects.errors import TimeError

__all__ = ["format_duration", "parse_duration"]

#: Microseconds of each unit.
_UNITS: Final = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "µs": Fraction(1),
    "μs": Fraction(1),
    "ms": Fraction(1000),
    "s": Fraction(10**6),
    "m": Fraction(60 * 10**6),
    "h": Fraction(3600 * 10**6),
}
_NUMBER: Final = r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)"
_whole = re.compile(rf"([+-]?)((?:{_NUMBER})+|0)", re.ASCII).fullmatch
_parts = re.compile(_NUMBER, re.ASCII).findall
#: No duration of Go needs more digits; longer texts are not worth the arithmetic.
_LONGEST: Final = 100


def parse_duration(text: str) -> timedelta:
    """Raises TimeError."""
    matched = _whole(text) if len(text) <= _LONGEST else None
    if matched is None:
        raise TimeError(f'not a duration: "{text[:_LONGEST]}" (as in "1h30m", "10s", "250ms")')
    micros = sum((Fraction(number) * _UNITS[unit] for number, unit in _parts(text)), Fraction())
    if micros.denominator != 1:
        raise TimeError(f'a duration finer than a microsecond: "{text}"')
    try:
        return timedelta(microseconds=-int(micros) if matched[1] == "-" else int(micros))
    except OverflowError:
        raise TimeError(f'a duration too long: "{text}"') from None


def format_duration(span: timedelta) -> str:
    """As Go writes it: "1h30m0s", "250ms", "0s"."""
    micros = span // timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    if micros < 1000:
        return f"{sign}{micros}µs" if micros else "0s"
    if micros < 10**6:
        return f"{sign}{_decimal(micros, 1000)}ms"
    seconds, fraction = divmod(micros, 10**6)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(seconds * 10**6 + fraction, 10**6)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else f"{sign}{text}"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0") if rest else str(whole)
