"""Pruning, defaulting and validation against twins that are too simple to be wrong in the same way."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steersman.cluster.schema.structural import compile_schema
from steersman.cluster.schema.structural.explain import explain
from steersman.cluster.schema.structural.translate import compile_acceptor
from steersman.objects.fields import Path

Object = dict[str, Any]

_KEYS = st.sampled_from(["a", "b", "c"])
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "x", "yy", "zzz"]))
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def _schemas(draw: st.DrawFn, depth: int = 3) -> Object:
    kind = draw(
        st.sampled_from(["object", "map", "array", "integer", "string"] if depth else ["integer", "string"])
    )
    node: Object = {"type": "object" if kind == "map" else kind}
    if draw(st.booleans()):
        node["nullable"] = True
    if kind == "object":
        node["properties"] = draw(st.dictionaries(_KEYS, _schemas(depth=depth - 1), max_size=3))
        if draw(st.integers(0, 3)) == 0:
            node["x-kubernetes-preserve-unknown-fields"] = True
        node["required"] = draw(st.lists(_KEYS, max_size=1))
    elif kind == "map":
        node["additionalProperties"] = draw(_schemas(depth=depth - 1))
        node["maxProperties"] = draw(st.integers(0, 3))
    elif kind == "array":
        node["items"] = draw(_schemas(depth=depth - 1))
        node["maxItems"] = draw(st.integers(0, 3))
    elif kind == "integer":
        node |= draw(st.sampled_from([{}, {"minimum": 0}, {"default": 2}, {"enum": [1, 2]}, {"maximum": 1}]))
    else:
        node |= draw(
            st.sampled_from([{}, {"maxLength": 1}, {"default": "d"}, {"pattern": "^[xy]+$"}, {"enum": ["x"]}])
        )
    return node


_ROOTS = _schemas().map(lambda node: {"type": "object", "properties": {"spec": node}})


def _prune(schema: Object | None, value: Any) -> Any:
    schema = schema or {}
    if isinstance(value, list):
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return value
        return [_prune(schema.get("items"), item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties", {})
    kept = {}
    for key, item in value.items():
        if key in properties:
            kept[key] = _prune(properties[key], item)
        elif "additionalProperties" in schema:
            kept[key] = _prune(schema["additionalProperties"], item)
        elif schema.get("x-kubernetes-preserve-unknown-fields"):
            kept[key] = item
    return kept


def _without_nulls(schema: Object | None, value: Any) -> Any:
    schema = schema or {}
    if isinstance(value, list):
        return [_without_nulls(schema.get("items"), item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, item in value.items():
        child = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
        if item is None and child is not None and not child.get("nullable") and "default" not in child:
            continue
        kept[key] = _without_nulls(child, item)
    return kept


def _default(schema: Object | None, value: Any) -> Any:
    schema = schema or {}
    if isinstance(value, list):
        items = schema.get("items", {})
        return [_default(items, _unless_null(items, item)) for item in value]
    if not isinstance(value, dict):
        return value
    filled = dict(value)
    for key, child in schema.get("properties", {}).items():
        if "default" in child and (key not in filled or (filled[key] is None and not child.get("nullable"))):
            filled[key] = child["default"]
    for key, item in filled.items():
        if key in schema.get("properties", {}):
            filled[key] = _default(schema["properties"][key], item)
        elif "additionalProperties" in schema:
            values = schema["additionalProperties"]
            filled[key] = _default(values, _unless_null(values, item))
    return filled


def _unless_null(schema: Object, value: Any) -> Any:
    return schema.get("default") if value is None and not schema.get("nullable") else value


def _is_valid(schema: Object, value: Any) -> bool:
    if value is None:
        return bool(schema.get("nullable")) and "enum" not in schema
    kinds: dict[str, type] = {"object": dict, "array": list, "integer": int, "string": str}
    if type(value) is not kinds[schema["type"]] or value not in schema.get("enum", [value]):
        return False
    if isinstance(value, dict):
        children = schema.get("properties", {})
        values = schema.get("additionalProperties")
        return (
            len(value) <= schema.get("maxProperties", 99)
            and all(key in value for key in schema.get("required", ()))
            and all(_is_valid(child, value[key]) for key, child in children.items() if key in value)
            and all(_is_valid(values, item) for key, item in value.items() if values and key not in children)
        )
    if isinstance(value, list):
        return len(value) <= schema["maxItems"] and all(_is_valid(schema["items"], item) for item in value)
    if isinstance(value, str):
        letters_only = "pattern" not in schema or (value != "" and set(value) <= {"x", "y"})
        return len(value) <= schema.get("maxLength", 99) and letters_only
    return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))


def _resource(value: Any) -> Object:
    return {"apiVersion": "a/v1", "kind": "A", "metadata": {}, "spec": value}


_settings = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@_settings
@given(_ROOTS, _VALUES)
def test_pruned_as_the_twin_prunes(schema: Object, value: Any) -> None:
    obj = _resource(deepcopy(value))
    compile_schema(schema).coerce(obj)
    root = {"spec": value}
    expected = _without_nulls(schema, _prune(schema, root))
    assert {key: obj[key] for key in obj if key == "spec"} == expected


@_settings
@given(_ROOTS, _VALUES)
def test_filled_as_the_twin_fills(schema: Object, value: Any) -> None:
    compiled = compile_schema(schema)
    obj = _resource(deepcopy(value))
    compiled.default(obj)
    assert obj == _default(schema, _resource(value))
    again = deepcopy(obj)
    compiled.default(again)
    assert again == obj


@_settings
@given(_ROOTS, _VALUES)
def test_judged_as_the_twin_judges(schema: Object, value: Any) -> None:
    compiled = compile_schema(schema)
    obj = _resource(value)
    errors = compiled.validate_create(obj).errors
    assert bool(errors) is not _is_valid(schema["properties"]["spec"], value)
    if errors:
        assert compiled.validate_update(obj, _resource({"other": 1})).errors
        if not isinstance(value, (dict, list)):
            assert not compiled.validate_update(obj, deepcopy(obj)).errors, "nothing changed"


_CONDITIONS = st.sampled_from(
    [
        {"minimum": 1},
        {"maximum": 1, "exclusiveMaximum": True},
        {"multipleOf": 2},
        {"minimum": 0.5},
        {"enum": [1, "x", 2.0]},
        {"pattern": "^y"},
        {"minLength": 2},
        {"format": "ipv4"},
        {"required": ["a"]},
        {"maxProperties": 1},
        {"minItems": 1},
        {"properties": {"a": {"minimum": 1}}},
        {"items": {"maximum": 2}},
    ]
)
_CLAUSES = st.recursive(
    _CONDITIONS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2).map(lambda clauses: {"anyOf": clauses}),
        st.lists(inner, min_size=1, max_size=2).map(lambda clauses: {"oneOf": clauses}),
        st.lists(inner, min_size=1, max_size=2).map(lambda clauses: {"allOf": clauses}),
        inner.map(lambda clause: {"not": clause}),
    ),
    max_leaves=4,
)


@_settings
@given(_schemas(), _CLAUSES, _VALUES)
def test_the_quick_check_accepts_nothing_that_is_wrong(node: Object, clause: Object, value: Any) -> None:
    schema = {**node, **clause}
    if compile_acceptor(schema)(value):
        assert explain(schema, value, Path()) == []
