"""JSON in: fast for good bodies, exact about what is wrong with the others, duplicates on request.

Duplicate keys are found without a second parser: a key that was dropped took its quotes with it, so a
body that holds as many quotes as its parsed value written again has no duplicates.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import orjson

from steersman.cluster.codec.errors import Malformed
from steersman.cluster.codec.json_syntax import explain
from steersman.cluster.schema.decode import Literal, Repeated

__all__ = ["parse", "parse_exactly"]

_ESCAPED_QUOTE: Final = b"\\u0022"
#: Longer integers are kept as text: no type takes them, and Python refuses to read the longest.
_LONGEST_INTEGER: Final = 40
_TOO_DEEP: Final = "exceeded max depth"


def parse(body: bytes, *, duplicates: bool = False) -> Any:
    """The value of a JSON text. With `duplicates`, objects with repeated keys become `Repeated`.
    Raises Malformed."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        fault = explain(body)
        if fault:
            raise Malformed(fault) from None
        return parse_exactly(body)
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
            parse_int=lambda text: int(text) if len(text) < _LONGEST_INTEGER else Literal(text),
        )
        return _without_surrogates(value) if b"\\u" in body else value
    except RecursionError:
        raise Malformed(_TOO_DEEP) from None
    except ValueError as error:
        raise Malformed(explain(body) or str(error)) from None


def _has_every_quote(body: bytes, value: Any) -> bool:
    if _ESCAPED_QUOTE in body:
        return False
    return body.count(b'"') == orjson.dumps(value).count(b'"')


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    repeated = Repeated()
    names: dict[str, None] = {}
    for key, item in pairs:
        if key in repeated:
            names[key] = None
            del repeated[key]  # the object has it where it was repeated
        repeated[key] = item
    repeated.repeated = tuple(names)
    return repeated


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
        cleaned.repeated = value.repeated
        return cleaned
    return value
