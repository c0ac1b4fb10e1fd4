"""The strings extension of cel-go, in the version Kubernetes has: no `reverse` on strings."""

from __future__ import annotations

from typing import Any, Final

from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.functions import Function, function, member, overload
from steersman.cluster.cel.library import costs
from steersman.cluster.cel.library.formatting import format_text
from steersman.cluster.cel.types import DYN, INT, STRING, list_of
from steersman.cluster.cel.values import Frame, charge

__all__ = ["FUNCTIONS", "quote"]

_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
#: What Go counts as space.
_SPACE: Final = (
    " \t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def quote(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


def _char_at(_frame: Frame, text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(_frame: Frame, text: str, part: str, offset: int = 0) -> int:
    if offset < 0:
        raise EvaluationError(f"index out of range: {offset}")
    if part == "":
        return min(offset, len(text))
    return text.find(part, offset)


def _last_index_of(_frame: Frame, text: str, part: str, offset: int | None = None) -> int:
    if offset is not None and offset < 0:
        raise EvaluationError(f"index out of range: {offset}")
    if part == "":
        return len(text) if offset is None else min(offset, len(text))
    if offset is None:
        return text.rfind(part)
    return -1 if offset >= len(text) else text.rfind(part, 0, offset + len(part))


def _substring(_frame: Frame, text: str, start: int, end: int | None = None) -> str:
    if end is None:
        end = len(text)
        if not 0 <= start <= end:
            raise EvaluationError(f"index out of range: {start}")
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise EvaluationError(f"index out of range: {index}")
    return text[start:end]


def _replace(frame: Frame, text: str, old: str, new: str, count: int = -1) -> str:
    places = text.count(old)
    if 0 <= count < places:
        places = count
    # The price is by the text alone: what the result grows by is charged before it is made.
    charge(frame, costs.tenth(max(0, len(new) - len(old)) * places))
    return text.replace(old, new, count if count >= 0 else -1)


def _split(frame: Frame, text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if separator == "":
        parts = list(text)
        charge(frame, costs.tenth(len(parts)))
        if 0 < count < len(parts):
            return [*parts[: count - 1], "".join(parts[count - 1 :])]
        return parts
    return text.split(separator, count - 1) if count > 0 else text.split(separator)


def _join(frame: Frame, parts: list[str], separator: str = "") -> str:
    for part in parts:
        if type(part) is not str:
            raise EvaluationError(f"join: invalid input: {part}")
    size = sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1)
    charge(frame, (size * 2 + 9) // 10)
    return separator.join(parts)


def _free(*_args: Any) -> int:
    return 0  # charged by the implementation, which knows the size of the result beforehand


_TEXTS: Final = list_of(STRING)
_SCAN: Final = costs.of_argument(0)
_SCAN_TWICE: Final = costs.of_argument(0, 2)

FUNCTIONS: Final[list[Function]] = [
    function("charAt", member("string_char_at_int", [STRING, INT], STRING, _char_at)),
    function(
        "indexOf",
        member("string_index_of_string", [STRING, STRING], INT, _index_of, costs.traversal),
        member("string_index_of_string_int", [STRING, STRING, INT], INT, _index_of, costs.traversal),
    ),
    function(
        "lastIndexOf",
        member("string_last_index_of_string", [STRING, STRING], INT, _last_index_of, costs.traversal),
        member(
            "string_last_index_of_string_int", [STRING, STRING, INT], INT, _last_index_of, costs.traversal
        ),
    ),
    function(
        "lowerAscii", member("string_lower_ascii", [STRING], STRING, lambda _f, s: s.translate(_LOWER), _SCAN)
    ),
    function(
        "upperAscii", member("string_upper_ascii", [STRING], STRING, lambda _f, s: s.translate(_UPPER), _SCAN)
    ),
    function("trim", member("string_trim", [STRING], STRING, lambda _f, s: s.strip(_SPACE), _SCAN)),
    function(
        "replace",
        member("string_replace_string_string", [STRING, STRING, STRING], STRING, _replace, _SCAN_TWICE),
        member(
            "string_replace_string_string_int", [STRING, STRING, STRING, INT], STRING, _replace, _SCAN_TWICE
        ),
    ),
    function(
        "split",
        member("string_split_string", [STRING, STRING], _TEXTS, _split, _SCAN_TWICE),
        member("string_split_string_int", [STRING, STRING, INT], _TEXTS, _split, _SCAN_TWICE),
    ),
    function(
        "substring",
        member("string_substring_int", [STRING, INT], STRING, _substring, _SCAN),
        member("string_substring_int_int", [STRING, INT, INT], STRING, _substring, _SCAN),
    ),
    function(
        "join",
        member("list_join", [_TEXTS], STRING, _join, _free),
        member("list_join_string", [_TEXTS, STRING], STRING, _join, _free),
    ),
    function("strings.quote", overload("strings_quote", [STRING], STRING, lambda _f, s: quote(s), _SCAN)),
    function("format", member("string_format", [STRING, list_of(DYN)], STRING, format_text, _SCAN)),
]
