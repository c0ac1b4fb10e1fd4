"""JSON Schema → the structural schema of a definition, in which every field has a type of its own.

References are put in place, null becomes `nullable`, constants become enumerations, unions what `unions`
makes of them. Whatever a definition cannot say is a DefinitionError naming the field, so what leaves
here is structural by construction. Called by `crd`; knows nothing of resources.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from steersman.objects.custom import unions
from steersman.objects.custom.errors import DefinitionError
from steersman.objects.custom.markers import ATOMIC, PRESERVE, RULES
from steersman.objects.custom.scalars import INT_OR_STRING

__all__ = ["UNSUPPORTED", "structural"]

Schema = dict[str, Any]

#: Marks a schema that stands for a type without one; its value is the sentence that says so.
UNSUPPORTED: Final = "x-unsupported"

#: Said in a definition as in JSON Schema. `format` is looked at.
_KEPT: Final = frozenset(
    {
        "default",
        "description",
        "enum",
        "maximum",
        "maxItems",
        "maxLength",
        "maxProperties",
        "minimum",
        "minItems",
        "minLength",
        "minProperties",
        "multipleOf",
        "nullable",
        "pattern",
        "type",
    }
)
#: Says nothing about values.
_DROPPED: Final = frozenset(
    {
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "deprecated",
        "discriminator",
        "example",
        "examples",
        "externalDocs",
        "readOnly",
        "title",
    }
)
#: Dealt with by name below.
_TRANSLATED: Final = frozenset(
    {
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "minItems",
        "not",
        "oneOf",
        "prefixItems",
        "properties",
        "required",
        "uniqueItems",
    }
)
#: The formats that Kubernetes checks; others would only earn a warning.
_FORMATS: Final = frozenset(
    {
        "byte",
        "cidr",
        "date",
        "date-time",
        "double",
        "duration",
        "email",
        "float",
        "hostname",
        "int32",
        "int64",
        "ipv4",
        "ipv6",
        "mac",
        "uri",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
    }
)
#: The one that has another name there.
_FORMAT_NAMES: Final = {"base64": "byte"}
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})
_ONLY_BACKTRACKING: Final = re.compile(r"(?<!\\)(?:\\\\)*(?:\(\?(?:[=!]|<[=!]|P=|>)|\\[1-9])")


def structural(schema: Schema, name: str) -> Schema:
    """The structural form of a schema; `name` is what errors call it. Raises DefinitionError."""
    return _Translation(schema.get("$defs") or {}).node(
        {key: value for key, value in schema.items() if key != "$defs"}, name, ()
    )


class _Translation:
    """`path` is for errors, `trail` are the models around, to notice one that contains itself."""

    def __init__(self, models: Schema) -> None:
        self._models = models

    def node(self, schema: Schema, path: str, trail: tuple[str, ...]) -> Schema:
        schema, trail = self._in_place(schema, path, trail)
        if UNSUPPORTED in schema:
            raise DefinitionError(f"{path}: {schema[UNSUPPORTED]}")
        if "type" not in schema and not schema.get("x-kubernetes-int-or-string"):
            choices = schema.get("anyOf") or schema.get("oneOf")
            if choices:
                return self._union(schema, choices, path, trail)
            if "const" not in schema and "enum" not in schema:
                return {**_said(schema, path), PRESERVE: True}
        made = _said(schema, path)
        if "const" in schema:
            made["enum"] = [schema["const"]]
        if "enum" in made:
            made = _typed_enum(made, path)
        build = self._builders.get(made.get("type", ""))
        if build is None:
            return _scalar(schema, made, path)
        made = build(self, schema, made, path, trail)
        if "default" in made:
            made["default"] = _completed(made["default"], made)
        return made

    def _in_place(self, schema: Schema, path: str, trail: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
        """A schema without reference at its top."""
        while (reference := schema.get("$ref")) is not None:
            name = reference.rpartition("/")[2]
            if name in trail:
                raise DefinitionError(
                    f"{path}: {name} contains itself, which a definition cannot say; "
                    "annotate the field with preserve_unknown()"
                )
            own = {key: value for key, value in schema.items() if key != "$ref"}
            schema, trail = _overlaid(self._models[name], own), (*trail, name)
        return schema, trail

    def _union(self, schema: Schema, choices: list[Schema], path: str, trail: tuple[str, ...]) -> Schema:
        own = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        some = [choice for choice in choices if choice.get("type") != "null"]
        # None as the default means absence, which needs no null.
        if len(some) < len(choices) and not ("default" in own and own["default"] is None):
            own["nullable"] = True
        if own.get("default", ...) is None:
            del own["default"]
        if len(some) == 1:
            only, inside = self._in_place(some[0], path, trail)
            return self.node(_overlaid(only, own), path, inside)
        made = [self.node(choice, path, trail) for choice in some]
        tag = (own.get("discriminator") or {}).get("propertyName", "")
        return _overlaid(unions.merged(made, tag, path), _said(own, path))

    def _object(self, schema: Schema, made: Schema, path: str, trail: tuple[str, ...]) -> Schema:
        properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        if properties:
            made["properties"] = {
                key: self.node(child, f"{path}.{key}", trail) for key, child in properties.items()
            }
        if isinstance(extra, dict) and extra:
            if properties:
                raise DefinitionError(f"{path}: a model with typed extra fields has no form in a definition")
            made["additionalProperties"] = self.node(extra, f"{path}[]", trail)
        elif extra or extra == {}:
            made[PRESERVE] = True
        if schema.get("required"):
            made["required"] = list(schema["required"])
        if schema.get(ATOMIC):
            made["x-kubernetes-map-type"] = "atomic"
        return made | _clauses(schema)

    def _array(self, schema: Schema, made: Schema, path: str, trail: tuple[str, ...]) -> Schema:
        places = [self.node(place, f"{path}[]", trail) for place in schema.get("prefixItems") or ()]
        if places:
            if any(place != places[0] for place in places) or schema.get("items"):
                raise DefinitionError(
                    f"{path}: a tuple of different types has no form in a definition; use a model"
                )
            made["items"], made["minItems"], made["maxItems"] = places[0], len(places), len(places)
        else:
            made["items"] = self.node(schema.get("items") or {}, f"{path}[]", trail)
        if schema.get("uniqueItems") and made["items"].get("type") in _SCALARS:
            made["x-kubernetes-list-type"] = "set"
        if schema.get(ATOMIC):
            made["x-kubernetes-list-type"] = "atomic"
        _check_list(made, path)
        return made | _clauses(schema)

    _builders: Final[dict[str, Callable[..., Schema]]] = {"object": _object, "array": _array}


def _overlaid(schema: Schema, own: Schema) -> Schema:
    """A schema with what is said where it is used; rules of both hold."""
    rules = [*schema.get(RULES, ()), *own.get(RULES, ())]
    return {**schema, **own, **({RULES: rules} if rules else {})}


def _said(schema: Schema, path: str) -> Schema:
    """The keywords that need no translation."""
    made: Schema = {}
    for key, value in schema.items():
        if key in _KEPT or (key.startswith("x-kubernetes-") and key != ATOMIC):
            made[key] = value
        elif key == "writeOnly":
            raise DefinitionError(f"{path}: a secret does not belong in an object; refer to a Secret by name")
        elif key in ("patternProperties", "propertyNames"):
            raise DefinitionError(
                f"{path}: the keys of a map cannot be constrained; use dict[str, …] and a rule()"
            )
        elif key not in _TRANSLATED and key not in _DROPPED and key != ATOMIC:
            raise DefinitionError(f'{path}: the keyword "{key}" has no form in a definition')
    given: str = schema.get("format", "")
    if (name := _FORMAT_NAMES.get(given, given)) in _FORMATS:
        made["format"] = name
    if _ONLY_BACKTRACKING.search(made.get("pattern", "")):
        raise DefinitionError(f"{path}: the server's patterns have no look-around and no back-references")
    if made.get("default", ...) is None:
        del made["default"]
    return made


def _scalar(schema: Schema, made: Schema, path: str) -> Schema:
    if made.get("type") == "null":
        raise DefinitionError(f"{path}: a field that can only be None has no type")
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if exclusive in schema:
            made[bound], made[exclusive] = schema[exclusive], True
    return made | _clauses(schema)


def _clauses(schema: Schema) -> Schema:
    """Conditions beside a type, as authors add them with json_schema_extra, are theirs to get right."""
    return {key: schema[key] for key in ("allOf", "anyOf", "oneOf", "not") if key in schema}


def _typed_enum(schema: Schema, path: str) -> Schema:
    """An enumeration with the type of its values; None among them is null."""
    values = [value for value in schema["enum"] if value is not None]
    made = {**schema, "enum": values}
    if len(values) < len(schema["enum"]):
        made["nullable"] = True
        made["enum"] = [*values, None]
    kinds = {type(value) for value in values}
    for known, name in (({str}, "string"), ({bool}, "boolean"), ({int}, "integer"), ({int, float}, "number")):
        if kinds <= known:
            return {**made, "type": name}
    if kinds == {int, str}:
        made.pop("type", None)
        return {**made, **INT_OR_STRING}
    raise DefinitionError(f"{path}: the values of an enumeration must be of one type")


def _completed(value: Any, schema: Schema) -> Any:
    """A default with the defaults inside of it: rules judge it before the server would fill them in."""
    if isinstance(value, list):
        return [_completed(item, schema["items"]) for item in value] if "items" in schema else value
    if not isinstance(value, dict):
        return value
    fields, others = schema.get("properties") or {}, schema.get("additionalProperties") or {}
    made = {key: _completed(item, fields.get(key) or others) for key, item in value.items()}
    missing = {
        key: field["default"] for key, field in fields.items() if "default" in field and key not in made
    }
    return {**made, **missing}


def _check_list(made: Schema, path: str) -> None:
    kind, items = made.get("x-kubernetes-list-type"), made["items"]
    if kind == "set" and items.get("type") in ("object", "array"):
        raise DefinitionError(f"{path}: list_set() is for lists of plain values")
    if kind != "map":
        return
    if items.get("type") != "object":
        raise DefinitionError(f"{path}: list_map() is for lists of models")
    keys = made["x-kubernetes-list-map-keys"]
    if not keys:
        raise DefinitionError(f"{path}: list_map() needs the fields that identify its items")
    for key in keys:
        field = (items.get("properties") or {}).get(key)
        if field is None:
            raise DefinitionError(f'{path}: list_map("{key}"): its items have no field "{key}" (in the JSON)')
        if field.get("type") not in _SCALARS:
            raise DefinitionError(f'{path}: list_map("{key}"): the key must be a plain value')
        if key not in items.get("required", ()) and "default" not in field:
            raise DefinitionError(f'{path}: list_map("{key}"): the key must be required or have a default')
