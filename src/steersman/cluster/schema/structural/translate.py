"""A schema as JSON Schema, for the engine that says in microseconds whether an object is good.

`compile_acceptor` gives a function that is true only for values in which `explain` finds nothing; it may
be stricter than Kubernetes, never laxer, and what it refuses is looked at again by `explain`. Formats and
patterns are the same functions there and here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jsonschema_rs import Draft202012Validator

from steersman.cluster.schema.structural.formats import FORMATS, effective_format
from steersman.cluster.schema.structural.node import JSONSchema, nested
from steersman.cluster.schema.structural.patterns import OPTIONS, translate

__all__ = ["compile_acceptor"]

_SIZES: Final = ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties")
_COPIED: Final = (*_SIZES, "uniqueItems", "required")
#: Beyond these, a JSON number is not an integer for Go, or not one for the format.
_LIMITS: Final = {"": 2**53 - 1, "int64": 2**53 - 1, "int32": 2**31 - 1}
_FORMATS: Final = {f"x-{name}": check for name, check in FORMATS.items()}


def compile_acceptor(schema: JSONSchema) -> Callable[[Any], bool]:
    """A quick check of a whole value. False means that `explain` has to look."""
    if not _is_exact(schema):
        return _never
    return Draft202012Validator(
        json_schema(schema), formats=_FORMATS, validate_formats=True, pattern_options=OPTIONS
    ).is_valid


def _never(value: Any) -> bool:
    return False


def _is_exact(schema: JSONSchema) -> bool:
    """Whether the engine judges as `explain` does. Go compares whole numbers with whole limits only, a format
    without a type refuses values of other types, and sizes below nothing are no schema to the engine."""
    if effective_format(schema) and not schema.get("type") and not schema.get("x-kubernetes-int-or-string"):
        return False
    limits = [schema.get(keyword) for keyword in ("minimum", "maximum", "multipleOf")]
    if any(limit is not None and limit != int(limit) for limit in limits):
        return False
    if (limits[2] is not None and limits[2] <= 0) or any((schema.get(size) or 0) < 0 for size in _SIZES):
        return False
    if len(set(schema.get("required") or ())) != len(schema.get("required") or ()):
        return False
    return all(_is_exact(child) for child in nested(schema))


def json_schema(schema: JSONSchema) -> JSONSchema:
    """One schema and those inside it."""
    out: JSONSchema = {key: schema[key] for key in _COPIED if schema.get(key) is not None}
    _add_type(schema, out)
    _add_range(schema, out)
    if schema.get("enum"):
        # Null never equals a value of an enum.
        out["enum"] = [value for value in schema["enum"] if value is not None]
    if schema.get("pattern"):
        out["pattern"] = translate(schema["pattern"])
    if (name := effective_format(schema).replace("-", "")) in FORMATS:
        out["format"] = f"x-{name}"
    for keyword in ("allOf", "anyOf", "oneOf"):
        if schema.get(keyword):
            out[keyword] = [json_schema(clause) for clause in schema[keyword]]
    if schema.get("not") is not None:
        out["not"] = json_schema(schema["not"])
    if schema.get("properties"):
        out["properties"] = {key: json_schema(child) for key, child in schema["properties"].items()}
    for keyword in ("items", "additionalProperties"):
        if (child := schema.get(keyword)) is not None:
            out[keyword] = json_schema(child) if isinstance(child, dict) else child
    return out


def _add_type(schema: JSONSchema, out: JSONSchema) -> None:
    types = ["integer", "string"] if schema.get("x-kubernetes-int-or-string") else []
    if not types and schema.get("type"):
        types = [schema["type"]]
    if not types:
        return
    out["type"] = [*types, "null"] if schema.get("nullable") else types
    if types[0] == "integer":
        limit = _LIMITS[effective_format(schema)]
        out["minimum"], out["maximum"] = -limit, limit


def _add_range(schema: JSONSchema, out: JSONSchema) -> None:
    for bound, tighter in (("minimum", max), ("maximum", min)):
        if (limit := schema.get(bound)) is not None:
            keyword = f"exclusive{bound.capitalize()}"
            if schema.get(keyword):
                out[keyword] = limit
            else:
                out[bound] = tighter(limit, out.get(bound, limit))
    if (factor := schema.get("multipleOf")) is not None:
        out["multipleOf"] = factor
