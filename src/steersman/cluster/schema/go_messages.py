"""What Go's decoders say about text they cannot read: times, base64, values of the wrong type.

Clients see these words in 400 answers. `decode` and the codecs ask for them once something is known to
be wrong; nothing here runs for good data.
"""

from __future__ import annotations

import string
from typing import Any, Final

from steersman.objects.fields import quote

__all__ = ["base64_error", "json_type", "time_error"]

_RFC3339: Final = "2006-01-02T15:04:05Z07:00"
_RFC3339_MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"
#: The parts of both layouts in order; a part that is a number has the range Go checks at once.
_PARTS: Final = (
    ("2006", 4, None),
    ("-", 0, None),
    ("01", 2, ("month", 1, 12)),
    ("-", 0, None),
    ("02", 2, None),
    ("T", 0, None),
    ("15", 2, ("hour", 0, 23)),
    (":", 0, None),
    ("04", 2, ("minute", 0, 59)),
    (":", 0, None),
    ("05", 2, ("second", 0, 59)),
)
_BASE64: Final = frozenset(string.ascii_letters + string.digits + "+/")
_QUANTUM: Final = 4
_MICRO_DIGITS: Final = 6


def json_type(value: Any) -> str:
    """The JSON type of a value as Go's messages call it."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "array" if isinstance(value, list) else "object"


def time_error(text: str, *, micro: bool = False) -> str:
    """Why Go's time.Parse refuses this text, which is no RFC 3339 time (`micro`: six decimals required)."""
    layout = _RFC3339_MICRO if micro else _RFC3339

    def unreadable(rest: str, part: str) -> str:
        return f"parsing time {quote(text)} as {quote(layout)}: cannot parse {quote(rest)} as {quote(part)}"

    rest = text
    for part, digits, limits in _PARTS:
        if not digits:
            if not rest.startswith(part):
                return unreadable(rest, part)
            rest = rest[1:]
            continue
        number = rest[:digits]
        if len(number) < digits or not (number.isascii() and number.isdigit()):
            return unreadable(rest, part)
        if limits and not limits[1] <= int(number) <= limits[2]:
            return f"parsing time {quote(text)}: {limits[0]} out of range"
        rest = rest[digits:]
    decimals = len(rest[1:]) - len(rest[1:].lstrip(string.digits)) if rest[:1] in (".", ",") else 0
    if micro:
        if decimals < _MICRO_DIGITS:
            return unreadable(rest, ".000000")
        decimals = _MICRO_DIGITS
    if decimals:
        rest = rest[1 + decimals :]
    return _zone_error(text, rest, unreadable(rest, "Z07:00"))


def _zone_error(text: str, rest: str, unreadable: str) -> str:
    if rest.startswith("Z"):
        extra = rest[1:]
    else:
        digits = rest[1:3] + rest[4:6]
        if rest[:1] not in ("+", "-") or rest[3:4] != ":" or len(digits) < 4 or not digits.isdigit():
            return unreadable
        extra = rest[6:]
    if extra:
        return f"parsing time {quote(text)}: extra text: {quote(extra)}"
    return f"parsing time {quote(text)}: day out of range"


def base64_error(text: str) -> str:
    """Where Go's standard base64 decoding stops reading this text, which is not base64."""
    kept = [(index, char) for index, char in enumerate(text) if char not in "\r\n"]
    for position, (index, char) in enumerate(kept):
        if char in _BASE64:
            continue
        if char != "=" or position % _QUANTUM < 2:
            return _illegal(index)
        rest = kept[position + 1 :]
        if position % _QUANTUM == 2:
            if not rest:
                return _illegal(len(text))
            if rest[0][1] != "=":
                return _illegal(rest[0][0])
            rest = rest[1:]
        return _illegal(rest[0][0] if rest else len(text))
    start = len(kept) - len(kept) % _QUANTUM
    return _illegal(kept[start][0] if start < len(kept) else len(text))


def _illegal(offset: int) -> str:
    return f"illegal base64 data at input byte {offset}"
