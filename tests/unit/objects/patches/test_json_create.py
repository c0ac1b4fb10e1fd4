"""The patch from one document to another: applied, it leads there; equal documents need none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.objects.patches.json import apply, create

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("a/~b", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("a/~b", max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(st.text("a/~b", max_size=2), VALUES, max_size=4)


@given(DOCUMENTS, DOCUMENTS)
def test_it_leads_there(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert apply(before, create(before, after)) == after


@given(DOCUMENTS)
def test_nothing_is_to_be_done_for_equal_ones(document: dict[str, Any]) -> None:
    assert create(document, document) == []


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a": [1, 2]}, {"a": [1, 3]}, [{"op": "replace", "path": "/a/1", "value": 3}]),
        ({"a": [1]}, {"a": [1, 2]}, [{"op": "replace", "path": "/a", "value": [1, 2]}]),
        ({"a": {"x/y": 1}}, {"a": {}}, [{"op": "remove", "path": "/a/x~1y"}]),
        ({}, {"m~n": {}}, [{"op": "add", "path": "/m~0n", "value": {}}]),
    ],
    ids=["types differ", "one item", "another length", "removed", "added"],
)
def test_it_says_as_little_as_it_can(before: Any, after: Any, patch: Any) -> None:
    assert create(before, after) == patch
