"""Errors about empty lists and maps, shown as the client wrote them: `[]` where the normal form has nothing.

The normal form has no empty lists and maps where Go has `omitempty`, like storage. Go keeps them in memory
until it encodes the object, so its messages show `[]` and `{}`. When an object is refused, it is checked once
more with the empty values of the parsed body put back, and only the texts of that check are taken.

They are not kept in the normal form until the object is encoded, which would spare the second check: Go
compares objects by `equality.Semantic`, for which empty and missing are the same, while defaults, strategies,
validation and field ownership here compare values as they are. With empty values kept, a PUT that adds
`nodeSelector: {}` to a running pod is refused (422), and one of a Deployment starts a new generation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from steersman.cluster.apiserver.pipeline.call import Call
from steersman.cluster.apiserver.resources.kinds import Errors
from steersman.objects.fields import FieldError
from steersman.objects.kinds import Object

__all__ = ["explained", "gives_empty_spec"]

#: (what holds it, its name there, the empty value)
_Emptied = tuple[Object, str, Any]


def explained(
    call: Call, obj: Object, errors: list[FieldError], check: Callable[[Object], Errors]
) -> list[FieldError]:
    """The errors of a refused object, worded with the empty values that the client gave."""
    if call.resource.converts or not call.resource.kind.drops_empty:
        return errors
    copy: Object = orjson.loads(orjson.dumps(obj))
    emptied = list(_emptied(call.submitted, copy))
    if not emptied:
        return errors
    for holder, key, value in emptied:
        holder[key] = value
    again = check(copy)
    if not isinstance(again, list):
        return errors
    found: dict[tuple[str, str], list[FieldError]] = {}
    for error in again:
        found.setdefault((error.reason, error.field), []).append(error)
    return [(found.get((error.reason, error.field)) or [error]).pop(0) for error in errors]


def gives_empty_spec(call: Call, obj: Object) -> bool:
    """Whether a client gave the spec an empty list, which the object in normal form lacks."""
    return call.with_empty_lists is not None and any(
        True for _ in _emptied(call.with_empty_lists.get("spec"), obj["spec"])
    )


def _emptied(given: Any, obj: Any) -> Iterator[_Emptied]:
    if isinstance(given, dict) and isinstance(obj, dict):
        for key, value in given.items():
            kept = obj.get(key)
            if kept is not None:
                yield from _emptied(value, kept)
            elif value in ([], {}):
                yield obj, key, value
    elif isinstance(given, list) and isinstance(obj, list) and len(given) == len(obj):
        for value, kept in zip(given, obj, strict=True):
            yield from _emptied(value, kept)
