"""What objects have and what changed between them."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.comparison import compare, field_set
from steersman.objects.errors import FieldSetError
from steersman.objects.schemas import ANY, Schema

TEXT = Schema("scalar", scalar="string")
TEXTS = Schema("map", values=TEXT)
METADATA = Schema(
    "struct",
    properties={
        "name": TEXT,
        "labels": TEXTS,
        "deletionTimestamp": TEXT,
        "finalizers": Schema("list", values=TEXT, list_type="set"),
    },
)
CONTAINER = Schema(
    "struct",
    properties={
        "name": TEXT,
        "image": TEXT,
        "env": Schema("list", values=Schema("struct"), list_type="map", keys=("name",)),
        "resources": Schema("struct", properties={"limits": TEXTS}),
        "ports": Schema(
            "list",
            values=Schema("struct", properties={"containerPort": TEXT, "protocol": TEXT}),
            list_type="map",
            keys=("protocol", "containerPort"),
            key_defaults={"protocol": "TCP"},
        ),
    },
)
SPEC = Schema(
    "struct",
    properties={
        "selector": Schema("struct", properties={"matchLabels": TEXTS}, atomic=True),
        "strategy": Schema("struct", properties={"type": TEXT}),
        "metadata": METADATA,
        "containers": Schema("list", values=CONTAINER, list_type="map", keys=("name",)),
    },
)
CONFIG_MAP = Schema("struct", properties={"metadata": METADATA, "data": TEXTS})
THING = Schema("struct", properties={"metadata": METADATA, "spec": SPEC})
FREE = Schema(
    "struct", properties={"metadata": METADATA, "spec": Schema("any", preserves_unknown=True), "raw": ANY}
)


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": list(items)}}


def container_fields(fields: dict[str, Any]) -> Any:
    return fields["f:spec"]["f:containers"]


def test_map_entries_are_fields_of_their_own() -> None:
    old = {"data": {"a": "1", "b": "1", "c": "1"}}
    new = {"data": {"a": "1", "b": "2", "d": "1"}}
    assert compare(old, new, CONFIG_MAP) == (
        {"f:data": {"f:d": {}}},
        {"f:data": {"f:b": {}}},
        {"f:data": {"f:c": {}}},
    )
    assert compare(old, old, CONFIG_MAP).empty


def test_absent_container_is_added_itself() -> None:
    assert compare({}, {"data": {"a": "1"}}, CONFIG_MAP).added == {"f:data": {".": {}, "f:a": {}}}
    assert compare({"data": {"a": "1"}}, {}, CONFIG_MAP).removed == {"f:data": {".": {}, "f:a": {}}}


def test_empty_or_null_container_is_there_already() -> None:
    empties: list[dict[str, str] | None] = [{}, None]
    for empty in empties:
        assert compare({"data": empty}, {"data": {"a": "1"}}, CONFIG_MAP).added == {"f:data": {"f:a": {}}}
    assert compare({}, {"data": {}}, CONFIG_MAP).added == {"f:data": {}}
    assert compare({"data": None}, {"data": {}}, CONFIG_MAP).modified == {"f:data": {}}


def test_what_is_the_servers_is_left_out() -> None:
    new = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "uid": "1",
            "generation": 1,
            "labels": {"x": "y"},
            "deletionTimestamp": "t",
        },
    }
    assert compare({}, new, CONFIG_MAP).added == {
        "f:metadata": {"f:labels": {".": {}, "f:x": {}}, "f:deletionTimestamp": {}}
    }
    assert field_set(new, CONFIG_MAP) == {"f:metadata": {"f:labels": {"f:x": {}}, "f:deletionTimestamp": {}}}
    nested = {"spec": {"metadata": {"name": "a"}}}
    assert compare({"spec": {"metadata": {}}}, nested, THING).added == {
        "f:spec": {"f:metadata": {"f:name": {}}}
    }


def test_atoms_change_as_a_whole() -> None:
    old = {"spec": {"selector": {"matchLabels": {"a": "1"}}}}
    new = {"spec": {"selector": {"matchLabels": {"a": "2"}}}}
    assert compare(old, new, THING).modified == {"f:spec": {"f:selector": {}}}


def test_items_are_compared_by_key() -> None:
    old = containers({"name": "a", "image": "1"}, {"name": "b", "image": "1"})
    new = containers({"name": "c", "image": "1"}, {"name": "b", "image": "2"})
    added, modified, removed = compare(old, new, THING)
    assert container_fields(added) == {'k:{"name":"c"}': {".": {}, "f:name": {}, "f:image": {}}}
    assert container_fields(modified) == {'k:{"name":"b"}': {"f:image": {}}}
    assert container_fields(removed) == {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:image": {}}}


def test_order_of_keyed_items_is_no_change() -> None:
    a, b = {"name": "a"}, {"name": "b"}
    assert compare(containers(a, b), containers(b, a), THING).empty


def test_missing_key_has_its_default() -> None:
    old = containers({"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]})
    new = containers({"name": "a", "ports": [{"containerPort": 80}]})
    assert container_fields(compare(old, new, THING).removed) == {
        'k:{"name":"a"}': {"f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {"f:protocol": {}}}}
    }


def test_duplicates_are_one_field() -> None:
    one, two = {"name": "a", "image": "1"}, {"name": "a", "image": "2"}
    element = 'k:{"name":"a"}'
    whole: dict[str, Any] = {".": {}, "f:name": {}, "f:image": {}}
    added, _, removed = compare(containers(one), containers(one, two), THING)
    assert (container_fields(added), container_fields(removed)) == ({element: {}}, {element: whole})
    added, _, removed = compare(containers(one, two), containers(two), THING)
    assert (container_fields(added), container_fields(removed)) == ({element: whole}, {element: {}})
    assert container_fields(compare(containers(one, two), containers(two, one), THING).modified) == {
        element: {}
    }
    assert container_fields(compare(containers(one, one), containers(), THING).removed) == {element: {}}
    assert compare(containers(one, two), containers(one, two), THING).empty


def test_item_without_identity_is_refused() -> None:
    with pytest.raises(FieldSetError):
        compare(containers({"image": "x"}), containers({"image": "y"}), THING)


def test_without_schema_objects_are_maps_and_lists_are_atoms() -> None:
    old = {"spec": {"a": {"b": 1}, "l": [1], "s": 1, "m": {"n": 1}}, "raw": {"x": 1}}
    new = {"spec": {"a": {"b": 2, "c": 1}, "l": [2], "s": {"t": 1}, "m": [1]}, "raw": {"x": 2}}
    added, modified, removed = compare(old, new, FREE)
    assert added == {"f:spec": {"f:a": {"f:c": {}}}}
    assert modified == {
        "f:spec": {"f:a": {"f:b": {}}, "f:l": {}, "f:s": {".": {}, "f:t": {}}, "f:m": {}},
        "f:raw": {},
    }
    assert removed == {"f:spec": {"f:m": {"f:n": {}}}}
    assert field_set(new, FREE) == {
        "f:spec": {
            "f:a": {".": {}, "f:b": {}, "f:c": {}},
            "f:l": {},
            "f:s": {".": {}, "f:t": {}},
            "f:m": {},
        },
        "f:raw": {},
    }


def test_applied_fields_are_owned_through_their_content() -> None:
    applied = {
        "metadata": {"labels": {"a": "b"}, "finalizers": ["x"]},
        "spec": {
            "selector": {"matchLabels": {}},
            "strategy": {},
            "containers": [{"name": "c", "env": [], "resources": {"limits": {"cpu": "1"}}}],
        },
    }
    assert field_set(applied, THING) == {
        "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {'v:"x"': {}}},
        "f:spec": {
            "f:selector": {},
            "f:strategy": {},
            "f:containers": {
                'k:{"name":"c"}': {".": {}, "f:name": {}, "f:resources": {"f:limits": {"f:cpu": {}}}}
            },
        },
    }
