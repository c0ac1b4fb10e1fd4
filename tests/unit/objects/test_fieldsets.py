"""The algebra of field sets, against plain sets of paths."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.objects.errors import FieldSetError
from steersman.objects.fieldsets import (
    Fields,
    contains,
    difference,
    excluding,
    fields_of,
    including,
    intersection,
    item_element,
    normalized,
    paths,
    recursive_difference,
    show_path,
    sorted_paths,
    union,
    value_element,
)

Path = tuple[str, ...]

elements = st.sampled_from(["f:a", "f:b", 'k:{"name":"c"}', 'v:"d"'])
path_sets = st.sets(st.lists(elements, min_size=1, max_size=4).map(tuple), max_size=8)


def built(wanted: set[Path]) -> Fields:
    """The set of these paths, made by the definition of the format."""
    made: Fields = {}
    for element in sorted({path[0] for path in wanted}):
        below = built({path[1:] for path in wanted if path[0] == element and len(path) > 1})
        member = (element,) in wanted
        made[element] = {".": {}, **below} if member and below else below
    return made


@given(path_sets)
def test_set_has_the_paths_it_was_made_of(wanted: set[Path]) -> None:
    made = built(wanted)
    assert set(paths(made)) == wanted
    assert all(contains(made, path) for path in wanted)
    assert normalized(made) == made


@given(path_sets, path_sets)
def test_algebra_agrees_with_sets_of_paths(left: set[Path], right: set[Path]) -> None:
    a, b = built(left), built(right)
    assert union(a, b) == built(left | right)
    assert difference(a, b) == built(left - right)
    assert intersection(a, b) == built(left & right)
    below = {path for path in left if any(path[: len(prefix)] == prefix for prefix in right)}
    assert recursive_difference(a, b) == built(left - below)
    assert a == built(left)
    assert b == built(right)


def test_missing_path_is_not_contained() -> None:
    made = built({("f:a", "f:b")})
    assert not contains(made, ("f:a",))
    assert not contains(made, ("f:a", "f:c"))
    assert not contains(made, ())


def test_filters() -> None:
    fields = fields_of("metadata.labels", "spec.replicas", "status.phase", "status")
    assert excluding(fields_of("status"))(fields) == fields_of("metadata.labels", "spec.replicas")
    keep = including({"f:spec": {"f:containers": {"*": {"f:resources": {}}}}})
    containers: Fields = {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:resources": {"f:limits": {}}}}
    assert keep({"f:spec": {"f:containers": containers, "f:x": {}}, "f:status": {}}) == {
        "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:resources": {"f:limits": {}}}}}
    }


@pytest.mark.parametrize(
    ("item", "keys", "element"),
    [
        ({"name": "c", "x": 1}, ("name",), 'k:{"name":"c"}'),
        ({"port": 80, "protocol": "UDP"}, ("port", "protocol"), 'k:{"port":80,"protocol":"UDP"}'),
        ({"port": 80}, ("port", "protocol"), 'k:{"port":80,"protocol":"TCP"}'),
        ({"ip": "::1"}, ("ip", "port"), 'k:{"ip":"::1"}'),
        ({"name": 'a"<é>'}, ("name",), 'k:{"name":"a\\"\\u003cé\\u003e"}'),
        ({"on": True}, ("on",), 'k:{"on":true}'),
        ({"name": None}, ("name",), 'k:{"name":null}'),
    ],
)
def test_item_element(item: dict[str, Any], keys: tuple[str, ...], element: str) -> None:
    assert item_element(item, keys, {"protocol": "TCP"}) == element
    assert normalized({element: {}}) == {element: {}}


def test_items_need_an_identity() -> None:
    with pytest.raises(FieldSetError):
        item_element({"x": 1}, ("name",), {})
    with pytest.raises(FieldSetError):
        item_element("x", ("name",), {})
    items: list[Any] = [None, {}, []]
    for item in items:
        with pytest.raises(FieldSetError):
            value_element(item)
    assert value_element("x&y") == 'v:"x\\u0026y"'
    assert value_element(5) == "v:5"


def test_client_spelling_is_normalized() -> None:
    sent: Fields = {
        'k:{ "b": 1, "a": "x" }': {".": {}},
        "f:x": {".": {}, "f:y": {}},
        "v: 1": {},
        "i:01": {},
        "z:new": {},
    }
    assert normalized(sent) == {'k:{"a":"x","b":1}': {}, "f:x": {".": {}, "f:y": {}}, "v:1": {}, "i:1": {}}


@pytest.mark.parametrize(
    "fields", [[], {"f:a": 1}, {"fa": {}}, {"k:x": {}}, {"v:{": {}}, {"i:x": {}}, {"k:1": {}}]
)
def test_what_is_no_field_set(fields: Any) -> None:
    with pytest.raises(FieldSetError):
        normalized(fields)


def test_path_as_conflicts_show_it() -> None:
    path = ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:names", 'v:"x"', "i:0")
    assert show_path(path) == '.spec.ports[port=80,protocol="TCP"].names[="x"][0]'


@given(path_sets)
def test_sorted_paths_are_all_paths(wanted: set[Path]) -> None:
    assert sorted(sorted_paths(built(wanted))) == sorted(wanted)


def test_sorted_paths_are_level_by_level_and_by_value() -> None:
    fields = {
        "f:b": {".": {}, "f:z": {}},
        "f:a": {"f:x": {}},
        "f:l": {f'k:{{"port":{port}}}': {} for port in (443, 80)}
        | {'v:"s"': {}, "v:true": {}, "v:2": {}, "i:1": {}},
    }
    shown = [show_path(path) for path in sorted_paths(fields)]
    expected = [
        ".b",
        ".a.x",
        ".b.z",
        ".l[port=80]",
        ".l[port=443]",
        ".l[=2]",
        '.l[="s"]',
        ".l[=true]",
        ".l[1]",
    ]
    assert shown == expected


def test_a_whole_number_is_a_key_without_a_point() -> None:
    assert item_element({"port": 80.0}, ("port",), {}) == 'k:{"port":80}'
