"""Where a request goes: paths and queries, percent-encoded. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from steersman.client.errors import ImpossibleName
from steersman.objects.resource_type import ResourceType

__all__ = ["Query", "collection", "one", "with_query"]

Value = str | int | bool | None
Query = Mapping[str, Value | Sequence[str]]

_PLAIN = re.compile(r"[A-Za-z0-9._:~@-]+").fullmatch
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]*").fullmatch
_DOTS = (".", "..")


def one(resource: ResourceType, name: str, namespace: str, subresource: str = "") -> str:
    """The path of an object (or of a part of it)."""
    name = _segment(name, "name")
    if resource.namespaced:
        namespace = _segment(namespace, "namespace")
    return resource.path(namespace, name, subresource)


def collection(resource: ResourceType, namespace: str | None) -> str:
    """The path of all objects, of one namespace or of all."""
    if namespace is not None and resource.namespaced:
        namespace = _segment(namespace, "namespace")
    return resource.path(namespace)


def with_query(path: str, query: Query) -> str:
    """`path` with those parameters that have a value."""
    given = [
        f"{_quoted(name)}={_quoted(text)}"
        for name, value in query.items()
        if value not in (None, "", False)
        for text in _texts(value)
    ]
    return f"{path}?{'&'.join(given)}" if given else path


def _texts(value: Value | Sequence[str]) -> Sequence[str]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Sequence):
        return value
    return ("true" if value is True else str(value),)


def _quoted(text: str) -> str:
    return text if _UNRESERVED(text) else quote(text, safe="")


def _segment(text: str, what: str) -> str:
    """A name in a path. An empty one would address the collection, which nobody means."""
    if not text or text in _DOTS:
        raise ImpossibleName(f"{text!r} is not a valid {what} of an object")
    return text if _PLAIN(text) else quote(text, safe="")
