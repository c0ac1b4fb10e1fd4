"""Refusals in which empty lists and maps are shown as a client gave them.

Objects in normal form do not have them, and Kubernetes stores none of them either; but until then it knows
them from what was left out, and its messages show `[]` where they would show `null`. Writes ask here when
an object is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import orjson

from steersman.cluster.apiserver.pipeline.call import Call, Object
from steersman.cluster.apiserver.resources.kinds import BuiltInKind, Errors
from steersman.cluster.codec import CodecError, parse_body
from steersman.objects.fields import FieldError

__all__ = ["explained", "gives_empty_spec"]

#: (what holds it, its name there, the empty value)
_Emptied = tuple[Object, str, Any]


def explained(
    call: Call, obj: Object, errors: list[FieldError], check: Callable[[Object], Errors]
) -> list[FieldError]:
    """The errors of a refused object, showing what was given. Only their texts may differ: in checks, what
    is empty counts as what is not there."""
    if call.resource.converts or not isinstance(call.resource.kind, BuiltInKind):
        return errors
    copy: Object = orjson.loads(orjson.dumps(obj))
    emptied = list(_emptied(_given(call), copy))
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
    return call.given is not None and any(True for _ in _emptied(call.given.get("spec"), obj["spec"]))


def _given(call: Call) -> Any:
    """What the client asks to be stored, as it wrote it: the body, or what its patch made."""
    if call.patched is not None or call.given is not None:
        return call.given if call.patched is None else call.patched
    with suppress(CodecError):
        content_type = call.request.headers.get("content-type") or ""
        return parse_body(content_type, call.request.content, call.resource.type.gvk)[0]
    return None


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
