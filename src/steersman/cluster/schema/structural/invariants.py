"""Whether a schema is structural: every field has a type, and clauses only add conditions on values.

Called when a custom resource definition is validated, and to tell which stored definitions of old are not.
Errors come sorted, as Kubernetes sorts them.
"""

from __future__ import annotations

from typing import Final, Literal

from steersman.cluster.schema.structural.errors import PatternError
from steersman.cluster.schema.structural.node import JSONSchema, Node
from steersman.cluster.schema.structural.patterns import translate
from steersman.objects.fields import FieldError, Path, forbidden, invalid, required

__all__ = ["structural_errors"]

_Level = Literal["root", "item", "field"]

_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_UNTYPED: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
#: What clauses may not say, and the word for what it must be instead.
_NOT_NESTED: Final = (
    ("type", "empty"),
    ("additionalProperties", "undefined"),
    ("default", "undefined"),
    ("title", "empty"),
    ("description", "empty"),
    ("nullable", "false"),
    ("x-kubernetes-preserve-unknown-fields", "false"),
    ("x-kubernetes-embedded-resource", "false"),
    ("x-kubernetes-int-or-string", "false"),
    ("x-kubernetes-list-map-keys", "empty"),
    ("x-kubernetes-list-type", "undefined"),
    ("x-kubernetes-map-type", "undefined"),
    ("x-kubernetes-validations", "empty"),
)
_METADATA: Final = frozenset({"name", "generateName"})


def structural_errors(node: Node, path: Path) -> list[FieldError]:
    """Why a schema is not structural; nothing when it is."""
    errors = _invariants(node, "root", path) + _completeness(node.raw, node, path, path)
    return sorted(errors, key=str)


def _invariants(node: Node, level: _Level, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if node.type == "array" and node.items is None:
        errors.append(required(path.child("items"), "must be specified"))
    if node.items is not None:
        errors += _invariants(node.items, "item", path.child("items"))
    for key, child in node.properties.items():
        errors += _invariants(child, "field", path.child("properties").key(key))
    if node.additional is not None:
        own = path.child("additionalProperties")
        if level == "root":
            errors.append(forbidden(own, "must not be used at the root"))
        if isinstance(node.additional, Node):
            errors += _invariants(node.additional, "field", own)
    errors += _extensions(node, path)
    errors += _clauses(node.raw, path, is_node=True)
    return errors + _type_errors(node, level, path) + _meta_errors(node, level, path)


def _extensions(node: Node, path: Path) -> list[FieldError]:
    if not node.int_or_string:
        return []
    clashing = {
        "x-kubernetes-preserve-unknown-fields": node.preserves_unknown,
        "x-kubernetes-embedded-resource": node.embedded,
    }
    text = "must be false if x-kubernetes-int-or-string is true"
    return [invalid(path.child(name), True, text) for name, is_set in clashing.items() if is_set]


def _type_errors(node: Node, level: _Level, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    own = path.child("type")
    if node.embedded and node.type != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(invalid(own, node.type, text) if node.type else required(own, text))
    elif not node.type and not node.int_or_string and not node.preserves_unknown:
        errors.append(required(own, _UNTYPED[level]))
    if node.embedded and node.additional is not None:
        text = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(forbidden(path.child("additionalProperties"), text))
    if level == "root" and node.type and node.type != "object":
        errors.append(invalid(own, node.type, "must be object at the root"))
    return errors


def _meta_errors(node: Node, level: _Level, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    properties = path.child("properties")
    is_resource = level == "root" or node.embedded
    for key in ("kind", "apiVersion") if is_resource else ():
        if key in node.properties and (kind := node.properties[key].type) != "string":
            errors.append(invalid(properties.key(key).child("type"), kind, "must be string"))
    metadata = node.properties.get("metadata")
    if metadata is not None:
        own = properties.key("metadata")
        if is_resource and metadata.type != "object":
            errors.append(invalid(own.child("type"), metadata.type, "must be object"))
        if level == "root" and not _names_only(metadata):
            text = (
                "must not specify anything other than name and generateName, "
                "but metadata is implicitly specified"
            )
            errors.append(forbidden(own, text))
    if node.embedded and not node.preserves_unknown and not node.properties:
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(required(properties, text))
    return errors


def _names_only(metadata: Node) -> bool:
    said = {key for key, value in metadata.raw.items() if value} - {"type", "default"}
    if metadata.properties and metadata.properties.keys() <= _METADATA:
        said.discard("properties")
    return not said


def _clauses(schema: JSONSchema, path: Path, *, is_node: bool, skip_any: bool = False) -> list[FieldError]:
    """What allOf, anyOf, oneOf and not may not say. int-or-string is spelled with types all the same."""
    errors: list[FieldError] = []
    any_of = schema.get("anyOf") or []
    all_of = schema.get("allOf") or []
    if not skip_any and not (is_node and any_of == _INT_OR_STRING):
        for index, clause in enumerate(any_of):
            errors += _nested(clause, path.child("anyOf").index(index))
    for index, clause in enumerate(all_of):
        spelled = is_node and index == 0 and clause.get("anyOf") == _INT_OR_STRING
        errors += _nested(clause, path.child("allOf").index(index), skip_any=spelled)
    for index, clause in enumerate(schema.get("oneOf") or ()):
        errors += _nested(clause, path.child("oneOf").index(index))
    if (negated := schema.get("not")) is not None:
        errors += _nested(negated, path.child("not"))
    if pattern := schema.get("pattern"):
        try:
            translate(pattern)
        except PatternError as error:
            text = f"must be a valid regular expression, but isn't: {error}"
            errors.append(invalid(path.child("pattern"), pattern, text))
    return errors


def _nested(schema: JSONSchema, path: Path, *, skip_any: bool = False) -> list[FieldError]:
    errors = _clauses(schema, path, is_node=False, skip_any=skip_any)
    if isinstance(items := schema.get("items"), dict):
        errors += _nested(items, path.child("items"))
    for key, child in (schema.get("properties") or {}).items():
        errors += _nested(child, path.child("properties").key(key))
    errors += [
        forbidden(path.child(name), f"must be {word} to be structural")
        for name, word in _NOT_NESTED
        if schema.get(name) or (name in ("additionalProperties", "default") and schema.get(name) == {})
    ]
    if "metadata" in (schema.get("properties") or {}):
        own = path.child("properties").key("metadata")
        errors.append(forbidden(own, "must not be specified in a nested context"))
    return errors


def _completeness(schema: JSONSchema, node: Node, node_path: Path, path: Path) -> list[FieldError]:
    """Whatever a clause speaks of must have its type outside of all clauses."""
    errors: list[FieldError] = []
    if (negated := schema.get("not")) is not None:
        errors += _nested_completeness(negated, node, node_path, path.child("not"))
    for keyword in ("allOf", "anyOf", "oneOf"):
        for index, clause in enumerate(schema.get(keyword) or ()):
            errors += _nested_completeness(clause, node, node_path, path.child(keyword).index(index))
    return errors


def _nested_completeness(
    schema: JSONSchema, node: Node | None, node_path: Path, path: Path
) -> list[FieldError]:
    if node is None:
        return [required(node_path, f"because it is defined in {path}")]
    errors = _completeness(schema, node, node_path, path)
    if isinstance(items := schema.get("items"), dict):
        errors += _nested_completeness(items, node.items, node_path.child("items"), path.child("items"))
    for key, child in (schema.get("properties") or {}).items():
        below = (node_path.child("properties").key(key), path.child("properties").key(key))
        errors += _nested_completeness(child, node.properties.get(key), *below)
    return errors
