"""JSON merge patches."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.objects.patches import merge
from steersman.objects.patches.errors import BadPatch


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None, "z": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": 1}, {"a": {"b": None, "c": 2}}, {"a": {"c": 2}}),
        ({"e": 1}, {}, {"e": 1}),
    ],
)
def test_apply(original: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]) -> None:
    before, given_patch = deepcopy(original), deepcopy(patch)
    assert merge.apply(original, patch) == result
    assert original == before
    assert patch == given_patch


def test_untouched_parts_are_shared() -> None:
    original = {"a": {"b": {}}, "c": {"d": 1}}
    result = merge.apply(original, {"c": {"d": 2}})
    assert result["a"] is original["a"]


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ([], "cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "cannot unmarshal string into Go value of type map[string]interface {}"),
        (None, "Invalid JSON Patch"),
    ],
)
def test_patch_must_be_an_object(patch: Any, message: str) -> None:
    with pytest.raises(BadPatch) as caught:
        merge.apply({}, patch)
    assert str(caught.value) in (message, f"error decoding patch: json: {message}")
    assert caught.value.code == 400


scalars = st.one_of(st.booleans(), st.integers(0, 3), st.sampled_from(["", "x", "y"]), st.just(1.5))
objects = st.recursive(
    st.dictionaries(st.sampled_from("abcd"), scalars, max_size=3),
    lambda children: st.dictionaries(
        st.sampled_from("abcd"), st.one_of(scalars, children, st.lists(children, max_size=2)), max_size=4
    ),
    max_leaves=12,
)


@given(objects, objects)
def test_created_patch_turns_one_object_into_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    patch = merge.create(old, new)
    assert merge.apply(old, patch) == new
    assert merge.create(old, deepcopy(old)) == {}


def test_true_is_not_one() -> None:
    assert merge.create({"a": 1, "b": [1]}, {"a": True, "b": [True]}) == {"a": True, "b": [True]}


def test_three_way_patch_removes_only_what_the_author_removed() -> None:
    original = {"metadata": {"labels": {"mine": "1", "gone": "1"}}, "spec": {"replicas": 1}}
    modified = {"metadata": {"labels": {"mine": "2"}}, "spec": {"replicas": 1}}
    current = {
        "metadata": {"labels": {"mine": "1", "gone": "1", "theirs": "1"}},
        "spec": {"replicas": 5, "other": True},
    }
    patch = merge.create_three_way(original, modified, current)
    assert patch == {"metadata": {"labels": {"mine": "2", "gone": None}}, "spec": {"replicas": 1}}
    assert merge.apply(current, patch) == {
        "metadata": {"labels": {"mine": "2", "theirs": "1"}},
        "spec": {"replicas": 1, "other": True},
    }


def test_three_way_patch_sets_what_became_empty() -> None:
    assert merge.create_three_way({}, {"a": {}}, {}) == {"a": {}}
    assert merge.create_three_way({"a": 1}, {}, {"a": 1, "b": 2}) == {"a": None}
