"""JSON patches."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.objects.patches import json
from steersman.objects.patches.errors import BadPatch, PatchNotApplicable, PatchTooLarge

OBJECT = {"a": {"b": 1, "c/d": 2, "~": 3, "null": None}, "list": [1, 2, 3], "items": [{"x": 1}, {"x": 2}]}


def op(kind: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **more}


@pytest.mark.parametrize(
    ("operations", "path", "value"),
    [
        ([op("add", "/new", value=1)], ["new"], 1),
        ([op("add", "/a/b", value={"x": 1})], ["a", "b"], {"x": 1}),
        ([op("add", "/list/1", value=9)], ["list"], [1, 9, 2, 3]),
        ([op("add", "/list/-", value=9)], ["list"], [1, 2, 3, 9]),
        ([op("add", "/list/3", value=9)], ["list"], [1, 2, 3, 9]),
        ([op("add", "/list/-1", value=9)], ["list"], [1, 2, 3, 9]),
        ([op("remove", "/list/0")], ["list"], [2, 3]),
        ([op("remove", "/list/-1")], ["list"], [1, 2]),
        ([op("replace", "/a/c~1d", value=9)], ["a", "c/d"], 9),
        ([op("replace", "/a/~0", value=9)], ["a", "~"], 9),
        ([op("replace", "/items/1/x", value=9)], ["items"], [{"x": 1}, {"x": 9}]),
        ([op("move", "/moved", **{"from": "/a/b"})], ["moved"], 1),
        ([op("move", "/list/0", **{"from": "/list/2"})], ["list"], [3, 1, 2]),
        ([op("copy", "/copied", **{"from": "/items"})], ["copied"], [{"x": 1}, {"x": 2}]),
        ([op("test", "/list", value=[1, 2, 3]), op("add", "/ok", value=True)], ["ok"], True),
        ([op("test", "/missing", value=None), op("add", "/ok", value=True)], ["ok"], True),
        ([op("add", "/n")], ["n"], None),
        ([op("add", "ignored/n", value=1)], ["n"], 1),
        ([op("replace", "/a/null", value=1)], ["a", "null"], 1),
        ([op("replace", "/missing", value=1)], ["missing"], 1),
        ([op("copy", "/copied", **{"from": "/missing"})], ["copied"], None),
        ([op("replace", "", value={"z": 1})], [], {"z": 1}),
        ([], ["a", "b"], 1),
    ],
)
def test_apply(operations: list[dict[str, Any]], path: list[str], value: Any) -> None:
    original = deepcopy(OBJECT)
    result = json.apply(original, operations)
    for step in path:
        result = result[step]
    assert result == value
    assert original == OBJECT


def test_copies_are_independent() -> None:
    operations = [
        op("add", "/items/0/x", value=5),
        op("copy", "/twin", **{"from": "/items"}),
        op("add", "/items/0/x", value=6),
        op("copy", "/third", **{"from": "/a"}),
        op("add", "/a/b", value=7),
        op("add", "/twin/0/y", value=8),
    ]
    result = json.apply(OBJECT, operations)
    assert result["items"][0] == {"x": 6}
    assert result["twin"][0] == {"x": 5, "y": 8}
    assert result["third"]["b"] == 1
    assert OBJECT["a"]["b"] == 1  # type: ignore[index]


def test_untouched_parts_are_shared() -> None:
    assert json.apply(OBJECT, [op("add", "/a/b", value=2)])["items"] is OBJECT["items"]


@pytest.mark.parametrize(
    "operation",
    [
        op("test", "/a/b", value=2),
        op("test", "/a/b", value=True),
        op("test", "/a/b", value=1.0),
        op("test", "/missing", value=1),
        op("test", "/list/9", value=None),
        op("test", "/missing/deep", value=1),
        op("test", "", value={}),
        op("remove", "/missing"),
        op("remove", "/list/3"),
        op("remove", "/a/b/c"),
        op("replace", "/missing/deep", value=1),
        op("replace", "/list/7", value=1),
        op("replace", "", value=1),
        op("add", "/missing/deep", value=1),
        op("add", "/a/null/x", value=1),
        op("add", "/list/9", value=1),
        op("add", "/list/x", value=1),
        op("add", "no-slash", value=1),
        op("move", "/x", **{"from": "/missing"}),
        op("move", "/x"),
        op("copy", "/x", **{"from": "/list/9"}),
        op("copy", "/missing/x", **{"from": "/list"}),
        op("patch", "/a"),
        {"op": "add", "value": 1},
        {"path": "/a"},
    ],
    ids=str,
)
def test_operation_that_does_not_apply_fails_the_whole_patch(operation: dict[str, Any]) -> None:
    original = deepcopy(OBJECT)
    with pytest.raises(PatchNotApplicable) as caught:
        json.apply(original, [op("add", "/a/b", value=9), op("add", "/a/b", value=1), operation])
    assert caught.value.code == 422
    assert original == OBJECT


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            op("add", "/no/x", value=1),
            'add operation does not apply: doc is missing path: "/no/x": missing value',
        ),
        (
            op("remove", "/no/x"),
            'remove operation does not apply: doc is missing path: "/no/x": missing value',
        ),
        (
            op("remove", "/no"),
            "error in remove for path: '/no': Unable to remove nonexistent key: no: missing value",
        ),
        (
            op("replace", "/no/x"),
            "replace operation does not apply: doc is missing path: /no/x: missing value",
        ),
        (op("test", "/no/x"), "test operation does not apply: is missing path: /no/x: missing value"),
        (op("test", "/a/b", value=2), "testing value /a/b failed: test failed"),
        (
            op("move", "/x"),
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            op("move", "/x", **{"from": "/no"}),
            "error in move for path: 'no': Unable to remove nonexistent key: no: missing value",
        ),
        (
            op("copy", "/no/x", **{"from": "/a"}),
            "copy operation does not apply: doc is missing destination path: /no/x: missing value",
        ),
        ({"op": "add"}, "add operation failed to decode path: missing value"),
        ({"op": "test"}, "test operation failed to decode path: operation missing path field: missing value"),
        (op("", "/a"), "Unexpected kind: "),
    ],
    ids=str,
)
def test_why_an_operation_does_not_apply(operation: dict[str, Any], message: str) -> None:
    with pytest.raises(PatchNotApplicable) as caught:
        json.apply(OBJECT, [operation])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({}, "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (["x"], "cannot unmarshal string into Go value of type handlers.jsonPatchOp"),
        ([{"op": 1}], "cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        ([{"path": True}], "cannot unmarshal bool into Go struct field jsonPatchOp.path of type string"),
    ],
)
def test_what_is_no_json_patch(patch: Any, message: str) -> None:
    with pytest.raises(BadPatch) as caught:
        json.apply({}, patch)
    assert str(caught.value) == "error decoding patch: json: " + message


def test_limits() -> None:
    with pytest.raises(
        PatchTooLarge, match="The allowed maximum operations in a JSON patch is 10000, got 10001"
    ):
        json.apply({}, [op("add", "/a", value=1)] * 10_001)
    doubling = [op("copy", f"/x/{number}", **{"from": "/x"}) for number in range(30)]
    with pytest.raises(PatchNotApplicable, match="Unable to complete the copy"):
        json.apply({"x": {"y": "z" * 100}}, doubling)


def plainly_applied(document: Any, operations: list[dict[str, Any]]) -> Any:
    """The same operations on a copy of everything, step by step."""
    for operation in operations:
        document = deepcopy(document)
        *steps, last = operation["path"][1:].split("/")
        container = document
        for step in steps:
            container = container[int(step) if isinstance(container, list) else step]
        key = int(last) if isinstance(container, list) else last
        if operation["op"] == "remove":
            del container[key]
        elif operation["op"] == "add" and isinstance(container, list):
            container.insert(key, deepcopy(operation["value"]))
        else:
            container[key] = deepcopy(operation["value"])
    return document


places = st.sampled_from(["/a", "/b", "/a/x", "/a/y", "/l/0", "/l/1", "/l/0/x", "/b/x"])
values = st.sampled_from([1, "s", {"x": 1}, {"x": {"y": 2}}, [1, {"x": 1}]])
random_operations = st.builds(
    lambda kind, path, value: op(kind, path, value=value),
    st.sampled_from(["add", "remove", "replace"]),
    places,
    values,
)


@given(st.lists(random_operations, max_size=6))
def test_sharing_gives_the_same_as_copying_everything(operations: list[dict[str, Any]]) -> None:
    original = {"a": {"x": 1}, "l": [{"x": 1}, 2]}
    before, patch_before = deepcopy(original), deepcopy(operations)
    try:
        wanted = plainly_applied(original, operations)
    except (KeyError, IndexError, TypeError, ValueError):
        wanted = None
    try:
        result = json.apply(original, operations)
    except PatchNotApplicable:
        result = None
    assert original == before
    assert operations == patch_before
    # The plain way also inserts beyond the end of a list, which a patch may not.
    assert result is None or result == wanted
    assert wanted is None or result is not None or any(item["path"].startswith("/l/") for item in operations)
