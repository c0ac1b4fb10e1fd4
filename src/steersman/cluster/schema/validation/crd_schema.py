"""The schema of a custom resource definition, keyword by keyword: what Kubernetes allows in one.

That a schema is structural and its defaults valid is asked elsewhere; here are the limits of each keyword
and the conditions between x-kubernetes extensions. Errors of rules' expressions follow all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from steersman.cluster.schema.structural.node import META_FIELDS, JSONSchema, nested
from steersman.cluster.schema.validation.crd_internal import internal_schema
from steersman.cluster.schema.validation.crd_rules import RuleContext, expression_errors, rule_errors
from steersman.objects.fields import FieldError, Path, forbidden, invalid, not_supported, required

__all__ = ["Strictness", "has_non_atomic_set", "invalid_types", "map_list_errors", "schema_errors"]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = (
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
)
_CORRELATABLE_MAPS: Final = ("", "granular", "atomic")
_UNIQUE: Final = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"


@dataclass(frozen=True, slots=True)
class Strictness:
    """What is asked of schemas; an update is not asked for more than the definition already kept to."""

    valid_types: bool = True
    structural: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    map_keys: bool = True
    expression_cost: bool = True


@dataclass(frozen=True, slots=True)
class _Place:
    """What the schemas around a schema mean for it."""

    strictness: Strictness
    is_root: bool = False
    in_meta: bool = False
    #: Why there may be no default; None when there may be.
    no_default: str | None = None
    uncorrelatable: Path | None = None

    def below(self, path: Path, *, correlatable: bool = True) -> _Place:
        outermost = self.uncorrelatable or (None if correlatable else path)
        return replace(self, is_root=False, uncorrelatable=outermost)


def schema_errors(
    schema: JSONSchema, path: Path, strictness: Strictness, context: RuleContext | None
) -> list[FieldError]:
    """What is wrong with a schema as a whole; with a context, with its rules' expressions too."""
    walk = _Walk()
    walk.visit(schema, path, _Place(strictness, is_root=True), context)
    return walk.schema_errors + walk.rule_errors


class _Walk:
    def __init__(self) -> None:
        self.schema_errors: list[FieldError] = []
        self.rule_errors: list[FieldError] = []

    def visit(self, schema: JSONSchema, path: Path, place: _Place, context: RuleContext | None) -> None:
        errors, before = self.schema_errors, len(self.schema_errors)
        errors += _keyword_errors(schema, path, place)
        self._additional(schema, path, place, context)
        self._properties(schema, path, place, context)
        self._clauses(schema, path, place)
        self._items(schema, path, place, context)
        for key, child in (schema.get("dependencies") or {}).items():
            if isinstance(child, dict):
                self.visit(child, path.child("dependencies").key(key), place.below(path), None)
        errors += _map_type_errors(schema, path)
        errors += _list_type_errors(schema, path, place.strictness)
        errors += rule_errors(schema, path)
        if context is not None and len(errors) == before:
            # Rules are compiled only where the schema below them is right: errors would mislead.
            self.rule_errors += expression_errors(
                context, path, place.uncorrelatable, check_cost=place.strictness.expression_cost
            )

    def _additional(self, schema: JSONSchema, path: Path, place: _Place, context: RuleContext | None) -> None:
        additional = schema.get("additionalProperties")
        if additional is None:
            return
        own = path.child("additionalProperties")
        if schema.get("properties") and additional is not True:
            self.schema_errors.append(
                forbidden(own, "additionalProperties and properties are mutual exclusive")
            )
        if isinstance(additional, dict):
            below = place.below(path)
            if place.in_meta:
                below = replace(below, no_default="inside additionalProperties applying to object metadata")
            self.visit(additional, own, below, context and context.child(context.node.values))

    def _properties(self, schema: JSONSchema, path: Path, place: _Place, context: RuleContext | None) -> None:
        correlatable = schema.get("x-kubernetes-map-type", "") in _CORRELATABLE_MAPS
        is_resource = place.is_root or schema.get("x-kubernetes-embedded-resource")
        for key, child in sorted((schema.get("properties") or {}).items()):
            below = place.below(path, correlatable=correlatable)
            if is_resource and key in META_FIELDS:
                below = replace(below, in_meta=True)
                if place.is_root:
                    below = replace(below, no_default=f"in top-level {key}")
            inner = context and context.child(context.node.properties.get(key))
            self.visit(child, path.child("properties").key(key), below, inner)

    def _clauses(self, schema: JSONSchema, path: Path, place: _Place) -> None:
        below = place.below(path)
        if (negated := schema.get("not")) is not None:
            self.visit(negated, path.child("not"), below, None)
        for keyword in ("allOf", "oneOf", "anyOf"):
            for index, clause in enumerate(schema.get(keyword) or ()):
                self.visit(clause, path.child(keyword).index(index), below, None)
        for key, child in sorted((schema.get("definitions") or {}).items()):
            self.visit(child, path.child("definitions").key(key), below, None)

    def _items(self, schema: JSONSchema, path: Path, place: _Place, context: RuleContext | None) -> None:
        items = schema.get("items")
        # Only items with keys can be found again in the old list.
        below = place.below(path, correlatable=schema.get("x-kubernetes-list-type") == "map")
        if isinstance(items, dict):
            self.visit(items, path.child("items"), below, context and context.child(context.node.items))
        for index, item in enumerate(items if isinstance(items, list) else ()):
            self.visit(item, path.child("items").index(index), below, None)


def _keyword_errors(schema: JSONSchema, path: Path, place: _Place) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = schema.get("type", "")
    if place.strictness.valid_types and kind and kind not in _TYPES:
        errors.append(not_supported(path.child("type"), kind, _TYPES))
    if "default" in schema and place.no_default is not None:
        errors.append(forbidden(path.child("default"), f"must not be set {place.no_default}"))
    for keyword in _UNSUPPORTED:
        if schema.get(keyword) or (
            keyword in schema and keyword in ("additionalItems", "dependencies", "$ref")
        ):
            errors.append(forbidden(path.child(keyword), f"{keyword} is not supported"))
    if kind == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        errors.append(forbidden(path.child("type"), text))
    if isinstance(schema.get("items"), list):
        errors.append(forbidden(path.child("items"), "items must be a schema object and not an array"))
    if place.in_meta and schema.get("x-kubernetes-embedded-resource"):
        own = path.child("x-kubernetes-embedded-resource")
        errors.append(forbidden(own, "must not be used inside of resource meta"))
    if schema.get("uniqueItems"):
        errors.append(forbidden(path.child("uniqueItems"), _UNIQUE))
    return errors


def _map_type_errors(schema: JSONSchema, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        own = path.child("x-kubernetes-preserve-unknown-fields")
        errors.append(invalid(own, False, "must be true or undefined"))
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None:
        errors += _needs_type(schema, path, "object", "x-kubernetes-map-type")
        if map_type not in ("atomic", "granular"):
            own = path.child("x-kubernetes-map-type")
            errors.append(not_supported(own, map_type, ("atomic", "granular")))
    return errors


def _needs_type(schema: JSONSchema, path: Path, wanted: str, keyword: str) -> list[FieldError]:
    kind = schema.get("type", "")
    if kind == wanted:
        return []
    text = f"must be {wanted} if {keyword} is specified"
    own = path.child("type")
    return [invalid(own, kind, text) if kind else required(own, text)]


def _list_type_errors(schema: JSONSchema, path: Path, strictness: Strictness) -> list[FieldError]:
    errors: list[FieldError] = []
    list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or []
    own = path.child("x-kubernetes-list-type")
    if list_type is not None:
        wrong = _needs_type(schema, path, "array", "x-kubernetes-list-type")
        errors += wrong
        if not wrong and strictness.atomic_sets:
            errors += _set_item_errors(schema, path.child("items"))
        if list_type not in ("atomic", "set", "map"):
            errors.append(not_supported(own, list_type, ("atomic", "set", "map")))
    if keys and list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        errors.append(required(own, text) if list_type is None else invalid(own, list_type, text))
    if list_type == "map":
        errors += _map_item_errors(schema, keys, path)
    if strictness.map_keys:
        errors += map_list_errors(schema, path)
    return errors


def _set_item_errors(schema: JSONSchema, path: Path) -> list[FieldError]:
    """The items of a set are compared as a whole, so they must change as a whole."""
    items = schema.get("items")
    if schema["x-kubernetes-list-type"] != "set" or not isinstance(items, dict):
        return []
    list_type, map_type = items.get("x-kubernetes-list-type"), items.get("x-kubernetes-map-type")
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        return [invalid(path.child("x-kubernetes-list-type"), list_type, text)]
    if items.get("type") == "object" and map_type != "atomic":
        # Kubernetes shows the list type of the items here.
        return [invalid(path.child("x-kubernetes-map-type"), list_type, text)]
    return []


def _map_item_errors(schema: JSONSchema, keys: Sequence[str], path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    own, items = path.child("items"), schema.get("items")
    keys_path = path.child("x-kubernetes-list-map-keys")
    if not keys:
        errors.append(required(keys_path, "must not be empty if x-kubernetes-list-type is map"))
    if items is None:
        return [*errors, required(own, "must have a schema if x-kubernetes-list-type is map")]
    if isinstance(items, list):
        shown = {"Schema": None, "JSONSchemas": [internal_schema(item) for item in items]}
        text = "must only have a single schema if x-kubernetes-list-type is map"
        return [*errors, invalid(own, shown, text)]
    kind = items.get("type", "")
    if kind != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        return [*errors, invalid(own.child("type"), kind, text)]
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in properties:
            text = "entries must all be names of item properties"
            errors.append(invalid(keys_path, list(keys), text))
        elif properties[key].get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(invalid(own.child("properties").key(key).child("type"), kind, text))
        if key in keys[:index]:
            errors.append(invalid(keys_path, list(keys), "must not contain duplicate entries"))
    return errors


def map_list_errors(schema: JSONSchema, path: Path) -> list[FieldError]:
    """Items of sets and maps, and the keys of items, must be there and not be null."""
    items, list_type = schema.get("items"), schema.get("x-kubernetes-list-type")
    if not isinstance(items, dict) or list_type not in ("set", "map"):
        return []
    errors: list[FieldError] = []
    own = path.child("items")
    if items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        errors.append(forbidden(own.child("nullable"), text))
    properties, needed = items.get("properties") or {}, items.get("required") or ()
    named = "this property is in x-kubernetes-list-map-keys, so it"
    for key in (schema.get("x-kubernetes-list-map-keys") or ()) if list_type == "map" else ():
        if (child := properties.get(key)) is None:
            continue
        place = own.child("properties").key(key)
        if key not in needed and child.get("default") is None:
            errors.append(
                required(place.child("default"), f"{named} must have a default or be a required property")
            )
        if child.get("nullable"):
            errors.append(forbidden(place.child("nullable"), f"{named} cannot be nullable"))
    return errors


def invalid_types(schema: JSONSchema) -> bool:
    """Whether a schema or one inside it has a type that is none."""
    kind = schema.get("type", "")
    return bool(kind and kind not in _TYPES) or any(map(invalid_types, nested(schema)))


def has_non_atomic_set(schema: JSONSchema) -> bool:
    own = schema.get("x-kubernetes-list-type") == "set" and _set_item_errors(schema, Path())
    return bool(own) or any(map(has_non_atomic_set, nested(schema)))
