"""JSON decoding: fast for valid bodies, Go's error messages for invalid ones, duplicate keys on request.

Duplicate keys are found without a second parser: a key that was dropped took its quotes with it, so a
body that holds as many quotes as its parsed value written again has no duplicates.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import orjson

from steersman.cluster.codec.errors import Malformed
from steersman.cluster.schema.findings import Literal, Repeated
from steersman.cluster.schema.json_syntax import json_syntax_error

__all__ = ["parse", "parse_exactly", "repeated_fields"]

_ESCAPED_QUOTE: Final = b"\\u0022"
#: Integers no 64 bits hold are numbers like any other; the longest Python would not even read.
_INTEGERS: Final = (-(2**63), 2**64 - 1)
_LONGEST_INTEGER: Final = 20
_TOO_DEEP: Final = "exceeded max depth"


def parse(body: bytes, *, duplicates: bool = False) -> Any:
    """The value of a JSON text. With `duplicates`, objects with repeated keys become `Repeated`.
    Raises Malformed."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        if fault := json_syntax_error(body):
            raise Malformed(fault) from None
        return parse_exactly(body, numbers=float)
    if duplicates and not _has_every_quote(body, value):
        return parse_exactly(body, numbers=float)
    return value


def parse_exactly(body: bytes, *, numbers: Callable[[str], float] = Literal) -> Any:
    """A syntactically good text by the slow parser: keeps repeated keys and how numbers were written, and
    takes what Go takes and the fast parser refuses (broken UTF-8, lone surrogates, deep nesting)."""
    try:
        value = json.loads(
            body.decode("utf-8", "replace"),
            object_pairs_hook=_object,
            parse_float=numbers,
            parse_int=lambda text: _integer(text, numbers),
        )
        return _without_surrogates(value) if b"\\u" in body else value
    except RecursionError:
        raise Malformed(_TOO_DEEP) from None
    except ValueError as error:
        raise Malformed(json_syntax_error(body) or str(error)) from None


def _has_every_quote(body: bytes, value: Any) -> bool:
    try:
        again = orjson.dumps(value)
    except orjson.JSONEncodeError:  # nested deeper than the fast writer goes, though the reader did
        return False
    if body.startswith(again):
        return True  # what programs send, but for space at the end
    return _ESCAPED_QUOTE not in body and body.count(b'"') == again.count(b'"')


def _integer(text: str, numbers: Callable[[str], float]) -> int | float:
    least, most = _INTEGERS
    if len(text) <= _LONGEST_INTEGER and least <= (number := int(text)) <= most:
        return number
    return numbers(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    repeated = Repeated()
    repeated.pairs = tuple(pairs)
    names: dict[str, None] = {}
    for key, item in pairs:
        if key in repeated:
            names[key] = None
            item = _over(repeated.pop(key), item)  # the object has it where it was repeated
        repeated[key] = item
    repeated.repeated = tuple(names)
    return repeated


def _over(old: Any, new: Any) -> Any:
    """A key's second value over its first: Go decodes both into the same struct or map."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    both = Repeated(old)
    for key, item in new.items():
        both[key] = _over(both[key], item) if key in both else item
    both.repeated = tuple(name for each in (old, new) if isinstance(each, Repeated) for name in each.repeated)
    return both


def _without_surrogates(value: Any) -> Any:
    """Halves of surrogate pairs become U+FFFD, as in Go."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        items = {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
        if not isinstance(value, Repeated):
            return items
        cleaned = Repeated(items)
        cleaned.repeated, cleaned.pairs = value.repeated, value.pairs
        return cleaned
    return value


def repeated_fields(value: Any) -> list[str]:
    """What strict decoding into no particular type says about the keys a parsed text repeats (see `parse`),
    as they come in the text."""
    found: dict[str, None] = {}

    def visit(item: Any, path: str) -> None:
        if isinstance(item, dict):
            seen: set[str] = set()
            for key, child in item.pairs if isinstance(item, Repeated) else item.items():
                place = f"{path}.{key}" if path else key
                if key in seen:
                    found[f'duplicate field "{place}"'] = None
                seen.add(key)
                visit(child, place)
        elif isinstance(item, list):
            for index, child in enumerate(item):
                visit(child, f"{path}[{index}]")

    visit(value, "")
    return list(found)
