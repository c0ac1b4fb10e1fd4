"""What the author of a custom resource definition is warned of: what is accepted and has no effect."""

from __future__ import annotations

from collections.abc import Iterator

from steersman.cluster.schema.structural.formats import effective_format
from steersman.cluster.schema.structural.node import JSONSchema, nested
from steersman.cluster.schema.validation.crd_internal import internal_spec
from steersman.objects.fields import quote
from steersman.objects.kinds import Object

__all__ = ["definition_warnings"]


def definition_warnings(definition: Object, old: Object | None = None) -> list[str]:
    """The warnings of a write; an update repeats none of the stored definition's."""
    known = set(_warnings(old)) if old is not None else set()
    return [text for text in _warnings(definition) if text not in known]


def _warnings(definition: Object) -> list[str]:
    schemas = list(_schemas(definition))
    formats = [
        f"unrecognized format {quote(schema['format'])}"
        for schema in schemas
        if schema.get("format") and not effective_format({**schema, "x-kubernetes-int-or-string": False})
    ]
    return formats + sorted({text for schema in schemas if (text := _set_warning(schema))})


def _schemas(definition: Object) -> Iterator[JSONSchema]:
    spec = internal_spec(definition["spec"])
    for holder in (spec.get("validation"), *(version.get("schema") for version in spec["versions"])):
        if holder and holder.get("openAPIV3Schema") is not None:
            yield from _all(holder["openAPIV3Schema"])


def _all(schema: JSONSchema) -> Iterator[JSONSchema]:
    yield schema
    for child in nested(schema):
        yield from _all(child)


def _set_warning(schema: JSONSchema) -> str:
    items = schema.get("items")
    if schema.get("x-kubernetes-list-type") != "set" or not isinstance(items, dict):
        return ""
    kind = items.get("type")
    if kind not in ("object", "array"):
        return ""
    return (
        f"x-kubernetes-list-type: set for items of type {quote(kind)} "
        "is not supported by server-side apply or CEL validation rules"
    )
