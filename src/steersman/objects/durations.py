"""Lengths of time as Go's time.ParseDuration reads them: `1h30m`, `-1.5s`, `0`."""

from __future__ import annotations

import re
from typing import Final

from steersman.objects.fields import quote

__all__ = ["duration_ns"]

_MAX_INT64: Final = 2**63 - 1
_SECOND_NS: Final = 10**9
_UNITS_NS: Final = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": _SECOND_NS,
    "m": 60 * _SECOND_NS,
    "h": 3600 * _SECOND_NS,
}
_number = re.compile(r"([0-9]*)(\.?)([0-9]*)").match
_unit = re.compile(r"[^.0-9]*").match


def duration_ns(text: str) -> int:
    """Nanoseconds; raises ValueError with Go's words."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    wrong = ValueError(f"time: invalid duration {quote(text)}")
    total = 0.0
    if not rest:
        raise wrong
    while rest:
        match = _number(rest)
        if match is None or not (match[1] or match[3]):
            raise wrong
        rest = rest[match.end() :]
        unit_match = _unit(rest)
        unit = unit_match[0] if unit_match else ""
        if not unit:
            raise ValueError(f"time: missing unit in duration {quote(text)}")
        if unit not in _UNITS_NS:
            raise ValueError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
        total += float(match[0].rstrip(".") or "0") * _UNITS_NS[unit]
        if total > _MAX_INT64:
            raise wrong
        rest = rest[len(unit) :]
    return -int(total) if text.startswith("-") else int(total)
