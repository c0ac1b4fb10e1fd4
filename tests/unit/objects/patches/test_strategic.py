"""Strategic merge patches."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.objects.patches import strategic
from steersman.objects.patches.errors import BadPatch, PatchError, PatchFailed, PatchNotApplicable
from steersman.objects.schemas import Schema

SCALAR = Schema("scalar", scalar="string")
STRINGS = Schema("map", values=SCALAR)
ENV = Schema("struct", name="v1.EnvVar", properties={"name": SCALAR, "value": SCALAR})
CONTAINER = Schema(
    "struct",
    name="v1.Container",
    properties={
        "name": SCALAR,
        "image": SCALAR,
        "env": Schema("list", values=ENV, patch_strategies=("merge",), patch_merge_key="name"),
        "command": Schema("list", values=SCALAR),
    },
)
SPEC = Schema(
    "struct",
    name="v1.Spec",
    properties={
        "replicas": SCALAR,
        "containers": Schema("list", values=CONTAINER, patch_strategies=("merge",), patch_merge_key="name"),
        "args": Schema("list", values=SCALAR),
        "keyless": Schema("list", values=ENV, patch_strategies=("merge",)),
        "strategy": Schema(
            "struct",
            name="v1.Strategy",
            properties={"type": SCALAR, "rollingUpdate": STRINGS},
            patch_strategies=("retainKeys",),
        ),
        "whole": Schema("struct", properties={"x": SCALAR, "y": SCALAR}, patch_strategies=("replace",)),
    },
)
OBJECT_SCHEMA = Schema(
    "struct",
    name="v1.Thing",
    properties={
        "metadata": Schema(
            "struct",
            name="v1.ObjectMeta",
            properties={
                "labels": STRINGS,
                "finalizers": Schema("list", values=SCALAR, list_type="set", patch_strategies=("merge",)),
            },
        ),
        "spec": SPEC,
    },
)


def named(*items: str) -> list[dict[str, Any]]:
    return [{"name": item} for item in items]


def spec(original: dict[str, Any], patch: dict[str, Any]) -> Any:
    """The spec after a patch of it, checking that nothing given was changed."""
    whole, change = {"spec": original}, {"spec": patch}
    before, change_before = deepcopy(whole), deepcopy(change)
    result = strategic.apply(whole, change, OBJECT_SCHEMA)
    assert whole == before
    assert change == change_before
    return result["spec"]


def metadata(original: dict[str, Any], patch: dict[str, Any]) -> Any:
    return strategic.apply({"metadata": original}, {"metadata": patch}, OBJECT_SCHEMA)["metadata"]


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"replicas": 1}, {"replicas": 2}, {"replicas": 2}),
        ({"replicas": 1}, {"replicas": None}, {}),
        ({}, {"replicas": None}, {}),
        ({"args": ["a"]}, {"args": ["b"]}, {"args": ["b"]}),
        ({"whole": {"x": 1}}, {"whole": {"y": 2}}, {"whole": {"y": 2}}),
        (
            {"containers": [{"name": "a", "image": "1", "env": named("x")}]},
            {"containers": [{"name": "a", "image": "2", "env": [{"name": "x", "value": "v"}]}]},
            {"containers": [{"name": "a", "image": "2", "env": [{"name": "x", "value": "v"}]}]},
        ),
        # New items come where the patch has them, before the server's own that were not there.
        ({"containers": named("c")}, {"containers": named("side")}, {"containers": named("side", "c")}),
        (
            {"containers": named("a", "b", "c")},
            {"containers": named("c", "x")},
            {"containers": named("a", "b", "c", "x")},
        ),
        (
            {"containers": named("a", "b")},
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": named("b")},
        ),
        (
            {"containers": named("a", "b")},
            {"containers": [{"$patch": "replace"}, {"name": "c"}]},
            {"containers": named("c")},
        ),
        ({}, {"containers": [{"name": "a", "$patch": "delete"}, {"name": "b"}]}, {"containers": named("b")}),
        ({"strategy": {"type": "A"}}, {"strategy": {"$patch": "delete"}}, {"strategy": {}}),
        (
            {"strategy": {"type": "A"}},
            {"strategy": {"$patch": "replace", "rollingUpdate": {}}},
            {"strategy": {"rollingUpdate": {}}},
        ),
        (
            {"strategy": {"type": "A", "rollingUpdate": {"x": "1"}}},
            {"strategy": {"$retainKeys": ["type"], "type": "B"}},
            {"strategy": {"type": "B"}},
        ),
        (
            {"containers": named("a", "b", "c")},
            {"$setElementOrder/containers": named("c", "a"), "containers": [{"name": "a", "image": "2"}]},
            {"containers": [{"name": "b"}, {"name": "c"}, {"name": "a", "image": "2"}]},
        ),
        (
            {"containers": named("a", "b")},
            {"$setElementOrder/containers": named("b", "a")},
            {"containers": named("b", "a")},
        ),
        (
            {},
            {"$setElementOrder/containers": named("a"), "containers": named("a")},
            {"containers": named("a")},
        ),
        ({"args": ["a"]}, {"$setElementOrder/containers": []}, {"args": ["a"]}),
        (
            {},
            {"strategy": {"type": "A", "rollingUpdate": None}},
            {"strategy": {"type": "A"}},
        ),
    ],
)
def test_merge(original: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]) -> None:
    assert spec(original, patch) == result


def test_lists_of_scalars_are_merged_as_sets() -> None:
    assert metadata({"finalizers": ["a", "b"]}, {"finalizers": ["c", "b"]}) == {"finalizers": ["c", "a", "b"]}
    assert metadata({"finalizers": ["a", "b", "c"]}, {"$deleteFromPrimitiveList/finalizers": ["b"]}) == {
        "finalizers": ["a", "c"]
    }
    assert metadata({}, {"$deleteFromPrimitiveList/finalizers": ["b"]}) == {}
    ordered = {
        "$setElementOrder/finalizers": ["c", "a"],
        "$deleteFromPrimitiveList/finalizers": ["b"],
        "finalizers": ["c"],
    }
    assert metadata({"finalizers": ["a", "b"]}, ordered) == {"finalizers": ["c", "a"]}


def test_untouched_parts_are_shared() -> None:
    original = {"metadata": {"labels": {}}, "spec": {"args": ["a"]}}
    assert (
        strategic.apply(original, {"spec": {"replicas": 1}}, OBJECT_SCHEMA)["metadata"]
        is original["metadata"]
    )
    assert strategic.apply(original, None, OBJECT_SCHEMA) == original


@pytest.mark.parametrize(
    ("original", "patch", "kind", "message"),
    [
        (
            {"containers": named("a")},
            {"containers": [{"image": "x", "env": [{"name": "b"}]}]},
            PatchFailed,
            "map: map[env:[map[name:b]] image:x] does not contain declared merge key: name",
        ),
        (
            {"containers": named("a")},
            {"containers": [{"$patch": "delete"}]},
            PatchFailed,
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            {"containers": named("a")},
            {"containers": [{"name": "a", "$patch": "merge"}]},
            PatchFailed,
            "merging lists cannot yet be specified in the patch",
        ),
        (
            {"containers": named("a")},
            {"containers": [{"name": "a", "$patch": "zap"}]},
            PatchFailed,
            "unknown patch type: zap in map: map[$patch:zap name:a]",
        ),
        (
            {"strategy": {}},
            {"strategy": {"$patch": 1}},
            PatchFailed,
            "unknown patch type: %!s(int64=1) in map: map[$patch:1]",
        ),
        (
            {"strategy": {}},
            {"strategy": {"$patch": None}},
            PatchFailed,
            "unknown patch type: %!s(<nil>) in map: map[$patch:<nil>]",
        ),
        (
            {"containers": named("a")},
            {"$setElementOrder/containers": [{"name": "a"}, "b"]},
            PatchFailed,
            "value for key 1 is not a map",
        ),
        (
            {"containers": named("a")},
            {"containers": ["x"]},
            PatchFailed,
            "list element types are not identical: [[map[name:a]] [x]]",
        ),
        (
            {"keyless": named("a")},
            {"keyless": named("b")},
            PatchFailed,
            "cannot merge lists without merge key",
        ),
        (
            {"strategy": {"type": "A"}},
            {"strategy": {"$retainKeys": ["x"], "type": "B"}},
            BadPatch,
            "invalid patch format of retainKeys",
        ),
        ({}, {"$retainKeys": "x"}, BadPatch, "invalid patch format of retainKeys"),
        ({}, {"$deleteFromPrimitiveList": []}, BadPatch, "invalid patch format of primitive list"),
        ({}, {"$setElementOrder": []}, BadPatch, "invalid patch format of setElementOrder list"),
        (
            {},
            {"$setElementOrder/containers": {}},
            PatchFailed,
            "expected a []interface {}, but received a map[string]interface {}",
        ),
        (
            {},
            {"$setElementOrder/nope": ["a"]},
            PatchFailed,
            'unable to find api field in struct Spec for the json field "nope"',
        ),
        (
            {"containers": named("a", "b")},
            {"$setElementOrder/containers": named("a"), "containers": named("b")},
            PatchFailed,
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
        (
            {"containers": named("a")},
            {"$setElementOrder/containers": named("a"), "containers": [*named("a"), {"$patch": "replace"}]},
            PatchFailed,
            "The order in patch list:\n[map[name:a] map[$patch:replace]]\n doesn't match $setElementOrder list:\n"
            "[map[name:a]]\n",
        ),
        ({"keyless": [["a"]]}, {"keyless": [["b"]]}, PatchNotApplicable, "lists of lists are not supported"),
    ],
)
def test_errors(
    original: dict[str, Any], patch: dict[str, Any], kind: type[PatchError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        spec(original, patch)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("patch", "left"),
    [
        ({"replicas": "1", "$retainKeys": ["replicas"]}, {"replicas": "1"}),
        ({"strategy": {"type": "x", "$patch": "replace"}}, {"strategy": {"type": "x"}}),
        ({"strategy": {"$patch": "delete"}}, {"strategy": {"$patch": "delete"}}),
        (
            {"$setElementOrder/containers": named("a"), "containers": named("a"), "args": ["x"]},
            {"args": ["x"]},
        ),
        (
            {"containers": [{"name": "a", "image": "x", "$retainKeys": ["name", "image"]}]},
            {"containers": [{"name": "a", "image": "x"}]},
        ),
        (
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": [{"name": "a", "$patch": "delete"}]},
        ),
        ({"whole": {"x": None, "y": "1"}}, {"whole": {"y": "1"}}),
        ({"$deleteFromPrimitiveList/args": ["q"]}, {"$deleteFromPrimitiveList/args": ["q"]}),
    ],
)
def test_what_is_left_of_a_patch(patch: dict[str, Any], left: dict[str, Any]) -> None:
    original = {"containers": named("a"), "strategy": {"type": "y"}, "args": ["q"]}
    assert strategic.left_over(original, patch, SPEC) == left


def test_patch_must_be_an_object() -> None:
    with pytest.raises(BadPatch) as caught:
        strategic.apply({}, [], OBJECT_SCHEMA)
    assert str(caught.value) == "json: cannot unmarshal array into Go value of type map[string]interface {}"


names = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)


@given(names, names)
def test_merged_list_has_all_items_once_and_keeps_both_orders(server: list[str], patch: list[str]) -> None:
    result = spec({"containers": named(*server)}, {"containers": named(*patch)})
    merged = [item["name"] for item in result["containers"]]
    assert sorted(merged) == sorted({*server, *patch})
    assert [name for name in merged if name in patch] == patch
    server_only = [name for name in server if name not in patch]
    assert [name for name in merged if name not in patch] == server_only


@given(names, names)
def test_element_order_is_obeyed(server: list[str], order: list[str]) -> None:
    wanted = [name for name in order if name in server]
    if not server:
        return
    result = spec({"containers": named(*server)}, {"$setElementOrder/containers": named(*order)})
    merged = [item["name"] for item in result["containers"]]
    assert sorted(merged) == sorted(server)
    assert [name for name in merged if name in order] == wanted
