"""Server-side apply, case by case: what is merged, pruned, owned, in conflict, refused."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.fieldsets import excluding, fields_of
from steersman.objects.patches.apply import (
    Applied,
    Applier,
    ApplyConflict,
    InvalidConfiguration,
    apply,
    would_change,
)
from steersman.objects.patches.errors import BadPatch, PatchFailed
from steersman.objects.schemas import ANY, Schema

Object = dict[str, Any]

TEXT = Schema("scalar", scalar="string")
NUMBER = Schema("scalar", scalar="integer")
FLAG = Schema("scalar", scalar="boolean")
TEXTS = Schema("map", values=TEXT)
PORT = Schema("struct", properties={"port": NUMBER, "protocol": TEXT, "name": TEXT})
PORTS = Schema(
    "list",
    values=PORT,
    list_type="map",
    keys=("port", "protocol"),
    key_defaults={"protocol": "TCP"},
)
CONTAINER = Schema(
    "struct",
    properties={
        "name": TEXT,
        "image": TEXT,
        "args": Schema("list", values=TEXT),
        "ports": PORTS,
        "limits": Schema("map", values=Schema("scalar", scalar="quantity")),
    },
)
SPEC = Schema(
    "struct",
    properties={
        "replicas": NUMBER,
        "paused": FLAG,
        "selector": Schema("struct", properties={"labels": TEXTS}, atomic=True),
        "containers": Schema("list", values=CONTAINER, list_type="map", keys=("name",)),
        "finalizers": Schema("list", values=TEXT, list_type="set"),
        "extra": Schema("any", preserves_unknown=True),
        "raw": ANY,
    },
)
METADATA = Schema(
    "struct",
    properties={
        **dict.fromkeys(("name", "namespace", "uid", "resourceVersion"), TEXT),
        "labels": TEXTS,
        "annotations": TEXTS,
        "managedFields": ANY,
    },
)
THING = Schema(
    "struct",
    properties={
        "apiVersion": TEXT,
        "kind": TEXT,
        "metadata": METADATA,
        "spec": SPEC,
        "data": TEXTS,
        "status": Schema("struct", properties={"phase": TEXT}),
    },
)


def thing(spec: Object | None = None, meta: Object | None = None, **parts: Any) -> Object:
    made: Object = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t", **(meta or {})}, **parts}
    return made if spec is None else {**made, "spec": spec}


class Shared:
    """An object that several managers apply to."""

    def __init__(self, live: Object | None = None, schema: Schema = THING) -> None:
        self.live: Object = live or {"metadata": {}}
        self.schema = schema

    def apply(self, manager: str, config: Object, time: str = "t1", **options: Any) -> Applied:
        applied = apply(self.live, config, self.schema, Applier(manager, "v1", time, **options))
        self.live = applied.object
        return applied

    @property
    def owners(self) -> dict[str, Any]:
        return {entry["manager"]: entry["fieldsV1"] for entry in self.live["metadata"]["managedFields"]}


# --- Merging

MERGES: dict[str, tuple[Any, Any, Any]] = {
    "what is left out stays": (
        {"replicas": 1, "paused": True},
        {"replicas": 2},
        {"replicas": 2, "paused": True},
    ),
    "an atom is replaced": (
        {"selector": {"labels": {"a": "1"}}},
        {"selector": {"labels": {"b": "1"}}},
        {"selector": {"labels": {"b": "1"}}},
    ),
    "an atomic list is replaced": (
        {"containers": [{"name": "c", "args": ["x", "y"]}]},
        {"containers": [{"name": "c", "args": ["y"]}]},
        {"containers": [{"name": "c", "args": ["y"]}]},
    ),
    "items are merged by key": (
        {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]},
        {"containers": [{"name": "b", "image": "2"}]},
        {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]},
    ),
    "a key that is left out has its default": (
        {"containers": [{"name": "c", "ports": [{"port": 80, "protocol": "TCP", "name": "x"}]}]},
        {"containers": [{"name": "c", "ports": [{"port": 80, "name": "y"}]}]},
        {"containers": [{"name": "c", "ports": [{"port": 80, "protocol": "TCP", "name": "y"}]}]},
    ),
    "new items follow the ones they were applied after": (
        {"finalizers": ["a", "x", "b"]},
        {"finalizers": ["a", "n", "b"]},
        {"finalizers": ["a", "x", "n", "b"]},
    ),
    "the order is the configuration's": (
        {"finalizers": ["a", "b", "x"]},
        {"finalizers": ["b", "a"]},
        {"finalizers": ["b", "x", "a"]},
    ),
    "an empty map adds nothing": ({"extra": {"a": 1}}, {"extra": {}}, {"extra": {"a": 1}}),
    "null keeps a map": ({"extra": {"a": 1}}, {"extra": None}, {"extra": {"a": 1}}),
    "null replaces a scalar": ({"replicas": 1}, {"replicas": None}, {"replicas": None}),
    "untyped objects are merged": (
        {"extra": {"a": {"b": 1}, "l": [1, 2]}},
        {"extra": {"a": {"c": 1}, "l": [3]}},
        {"extra": {"a": {"b": 1, "c": 1}, "l": [3]}},
    ),
    "untyped values change their type": (
        {"extra": {"a": {"b": 1}}},
        {"extra": {"a": "x"}},
        {"extra": {"a": "x"}},
    ),
    "opaque values are replaced": ({"raw": {"a": 1}}, {"raw": {"b": 1}}, {"raw": {"b": 1}}),
    "one is not true": ({"raw": {"a": [1]}}, {"raw": {"a": [True]}}, {"raw": {"a": [True]}}),
}


@pytest.mark.parametrize(("live", "config", "expected"), MERGES.values(), ids=list(MERGES))
def test_a_configuration_is_merged_by_schema(live: Any, config: Any, expected: Any) -> None:
    merged = apply(thing(live), thing(config), THING, Applier("one", "v1")).object["spec"]
    assert merged == expected
    assert repr(merged) == repr(expected), "1 and true are equal to Python only"


def test_items_that_a_list_has_twice_are_replaced_by_the_applied_one() -> None:
    live = thing({"containers": [{"name": "a", "image": "1"}, {"name": "b"}, {"name": "a", "image": "2"}]})
    config = thing({"containers": [{"name": "a", "image": "3"}]})
    merged = apply(live, config, THING, Applier("one", "v1")).object["spec"]["containers"]
    assert merged == [{"name": "a", "image": "3"}, {"name": "b"}]


def test_items_that_a_list_has_twice_stay_when_they_are_not_applied() -> None:
    items = [{"name": "a", "image": "1"}, {"name": "a", "image": "2"}]
    applied = apply(thing({"containers": items}), thing({"replicas": 1}), THING, Applier("one", "v1"))
    assert applied.object["spec"]["containers"] == items


# --- Owning


def test_what_is_mentioned_is_owned() -> None:
    shared = Shared()
    ports = [{"port": 80, "name": "http"}]
    config = thing(
        {"replicas": 1, "containers": [{"name": "c", "ports": ports, "args": ["a"]}], "finalizers": ["f"]},
        {"labels": {"l": "1"}, "annotations": {}},
    )
    shared.apply("one", config)
    assert shared.owners["one"] == {
        "f:metadata": {"f:annotations": {}, "f:labels": {"f:l": {}}},
        "f:spec": {
            "f:replicas": {},
            "f:containers": {
                'k:{"name":"c"}': {
                    ".": {},
                    "f:name": {},
                    "f:args": {},
                    "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:name": {}}},
                }
            },
            "f:finalizers": {'v:"f"': {}},
        },
    }


def test_an_endpoint_owns_only_what_it_may() -> None:
    shared = Shared()
    shared.apply("one", thing({"replicas": 1}, status={"phase": "x"}), keep=excluding(fields_of("status")))
    assert shared.owners == {"one": {"f:spec": {"f:replicas": {}}}}


def test_the_time_moves_only_with_the_object() -> None:
    shared = Shared()
    shared.apply("one", thing({"replicas": 1}), "t1")
    assert not shared.apply("one", thing({"replicas": 1}), "t2").changed
    assert not shared.apply("two", thing({"replicas": 1}), "t3").changed
    times = {entry["manager"]: entry.get("time") for entry in shared.live["metadata"]["managedFields"]}
    assert times == {"one": "t1", "two": None}
    assert shared.apply("one", thing({"replicas": 1, "paused": True}), "t4").changed
    assert shared.live["metadata"]["managedFields"][1]["time"] == "t4"


def test_a_manager_owns_what_it_applied_last_in_whatever_version() -> None:
    live = apply({"metadata": {}}, thing({"replicas": 1}), THING, Applier("one", "v1", "t1")).object
    config = {**thing({"replicas": 1}), "apiVersion": "v1"}
    after = apply(live, config, THING, Applier("one", "v2", "t2")).object
    assert [entry["apiVersion"] for entry in after["metadata"]["managedFields"]] == ["v2"]


def test_parts_of_what_became_an_atom_are_owned_as_the_atom() -> None:
    granular = Schema("struct", properties={**THING.properties, "data": TEXTS})
    atomic = Schema(
        "struct", properties={**THING.properties, "data": Schema("map", values=TEXT, atomic=True)}
    )
    shared = Shared(schema=granular)
    shared.apply("one", thing(data={"a": "1"}))
    shared.apply("two", thing(data={"b": "1"}))
    shared.schema = atomic
    with pytest.raises(ApplyConflict) as caught:
        shared.apply("one", thing(data={"a": "2"}))
    assert [(each.manager, each.field) for each in caught.value.conflicts] == [("two", ".data")]


# --- Pruning


def test_what_is_no_longer_applied_goes() -> None:
    shared = Shared()
    shared.apply("one", thing({"replicas": 1, "containers": [{"name": "a"}, {"name": "b"}]}, data={"k": "v"}))
    shared.apply("one", thing({"containers": [{"name": "b"}]}))
    assert shared.live["spec"] == {"containers": [{"name": "b"}]}
    assert "data" not in shared.live


def test_a_struct_goes_with_the_defaults_in_it() -> None:
    shared = Shared()
    shared.apply("one", thing({"replicas": 1}))
    shared.live["spec"]["paused"] = False
    shared.apply("one", thing())
    assert "spec" not in shared.live


def test_metadata_never_goes() -> None:
    shared = Shared()
    shared.apply("one", thing(meta={"labels": {"a": "1"}}))
    shared.apply("one", thing())
    assert shared.live["metadata"] == {"name": "t"}


def test_what_others_own_stays() -> None:
    shared = Shared()
    shared.apply("one", thing({"containers": [{"name": "c", "image": "1"}], "replicas": 1}))
    shared.apply("two", thing({"containers": [{"name": "c", "args": ["x"]}]}))
    shared.apply("one", thing())
    assert shared.live["spec"] == {"containers": [{"name": "c", "args": ["x"]}]}
    assert list(shared.owners) == ["two"]


def renamed(obj: Object, version: str) -> tuple[Object, Schema] | None:
    """Versions that differ in how they call the replicas."""
    if version not in ("v1", "v2"):
        return None
    names = {"replicas": "count"} if version == "v2" else {"count": "replicas"}
    spec = {names.get(name, name): value for name, value in (obj.get("spec") or {}).items()}
    schema = Schema("struct", properties={**THING.properties, "spec": RENAMED}) if version == "v2" else THING
    return {**obj, "apiVersion": version, "spec": spec}, schema


RENAMED = Schema("struct", properties={**SPEC.properties, "count": NUMBER})


def test_what_was_applied_in_another_version_is_pruned_there() -> None:
    live = apply({"metadata": {}}, thing({"replicas": 1, "paused": True}), THING, Applier("one", "v1")).object
    v2 = renamed(live, "v2")
    assert v2 is not None
    applier = Applier("one", "v2", convert=renamed)
    after = apply(v2[0], {**thing({"paused": True}), "apiVersion": "v2"}, v2[1], applier).object
    assert after["spec"] == {"paused": True}


def test_conflicts_are_found_through_versions() -> None:
    live = apply({"metadata": {}}, thing({"replicas": 1}), THING, Applier("one", "v1")).object
    v2 = renamed(live, "v2")
    assert v2 is not None
    config = {**thing({"count": 2}), "apiVersion": "v2"}
    with pytest.raises(ApplyConflict) as caught:
        apply(v2[0], config, v2[1], Applier("two", "v2", convert=renamed))
    assert [each.field for each in caught.value.conflicts] == [".spec.replicas"]


def test_managers_of_a_version_that_is_gone_are_forgotten() -> None:
    live = apply({"metadata": {}}, thing({"replicas": 1}), THING, Applier("one", "v0")).object
    after = apply(live, thing({"replicas": 2}), THING, Applier("two", "v1", convert=renamed)).object
    assert [entry["manager"] for entry in after["metadata"]["managedFields"]] == ["two"]


# --- Conflicts


def test_conflicts_are_listed_as_kubernetes_lists_them() -> None:
    shared = Shared()
    items = [{"name": "b", "image": "1"}, {"name": "a", "image": "1"}]
    shared.apply("one", thing({"containers": items, "replicas": 1}, data={"z": "1", "a": "1"}))
    changed = [{"name": "b", "image": "2"}, {"name": "a", "image": "2"}]
    with pytest.raises(ApplyConflict) as caught:
        shared.apply("two", thing({"containers": changed, "replicas": 2}, data={"z": "2", "a": "2"}))
    assert [each.field for each in caught.value.conflicts] == [
        ".data.a",
        ".data.z",
        ".spec.replicas",
        '.spec.containers[name="a"].image',
        '.spec.containers[name="b"].image',
    ]


def test_conflicts_with_a_subresource_say_so() -> None:
    shared = Shared()
    shared.apply("one", thing(status={"phase": "a"}), subresource="status")
    with pytest.raises(
        ApplyConflict, match=r'conflict with "one" with subresource "status": \.status\.phase'
    ):
        shared.apply("two", thing(status={"phase": "b"}))


def test_after_a_conflict_nothing_changed() -> None:
    shared = Shared()
    shared.apply("one", thing({"replicas": 1}))
    before = repr(shared.live)
    with pytest.raises(ApplyConflict):
        shared.apply("two", thing({"replicas": 2}))
    assert repr(shared.live) == before


# --- Refusals

PROBLEMS: dict[str, tuple[Object, str]] = {
    "unknown field": (thing({"foo": 1}), ".spec.foo: field not declared in schema"),
    "no map": (thing(data="x"), ".data: expected map, got &{x}"),
    "no list": (thing({"finalizers": {}}), ".spec.finalizers: expected list, got &{map[]}"),
    "no number": (thing({"replicas": "1"}), ".spec.replicas: expected numeric (int or float), got string"),
    "no number but a flag": (
        thing({"replicas": True}),
        ".spec.replicas: expected numeric (int or float), got bool",
    ),
    "no text": (
        thing(data={"a": {"b": [1, None, 1234567]}}),
        '.data.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"b":'
        "[]interface {}{1, interface {}(nil), 1.234567e+06}}}",
    ),
    "no flag": (thing({"paused": "yes"}), ".spec.paused: expected boolean, got &{yes}"),
    "no scalar": (
        thing({"containers": [{"name": "c", "limits": {"cpu": []}}]}),
        '.spec.containers[name="c"].limits.cpu: expected any scalar, got &{[]}',
    ),
    "inside an atom": (
        thing({"selector": {"labels": {"a": 1}}}),
        ".spec.selector.labels.a: expected string, got &value.valueUnstructured{Value:1}",
    ),
    "an item of an atomic list": (
        thing({"containers": [{"name": "c", "args": [1]}]}),
        '.spec.containers[name="c"].args[0]: expected string, got &value.valueUnstructured{Value:1}',
    ),
    "an item without keys": (
        thing({"containers": [{"image": "x"}]}),
        ".spec.containers: element 0: associative list with keys has an element that omits all key fields "
        '["name"] (and doesn\'t have default values for any key fields)',
    ),
    "a null item": (
        thing({"containers": [None]}),
        ".spec.containers: element 0: associative list with keys may not have a null element",
    ),
    "an item that is no object": (
        thing({"containers": ["x"]}),
        ".spec.containers: element 0: associative list with keys may not have non-map elements",
    ),
    "a set of objects": (
        thing({"finalizers": [{}]}),
        ".spec.finalizers: element 0: associative list without keys has an element that's a map type",
    ),
    "an item twice": (
        thing({"finalizers": ["a", "b", "a"]}),
        '.spec.finalizers: duplicate entries for key [="a"]',
    ),
    "several": (
        thing({"replicas": "1", "paused": 1}),
        "errors:\n  .spec.replicas: expected numeric (int or float), got string\n"
        "  .spec.paused: expected boolean, got &{1}",
    ),
}


@pytest.mark.parametrize(("config", "problem"), PROBLEMS.values(), ids=list(PROBLEMS))
def test_a_configuration_must_have_its_types_form(config: Object, problem: str) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        apply({"metadata": {}}, config, THING, Applier("one", "v1"))
    assert str(caught.value) == f"failed to create typed patch object (/t; /v1, Kind=Thing): {problem}"


def test_managed_fields_are_not_applied() -> None:
    with pytest.raises(BadPatch, match=r"metadata\.managedFields must be nil"):
        apply({"metadata": {}}, thing(meta={"managedFields": []}), THING, Applier("one", "v1"))


def test_a_live_object_that_cannot_be_merged_is_told_apart_from_a_bad_configuration() -> None:
    live = thing({"containers": [{"image": "x"}]})
    with pytest.raises(PatchFailed, match="failed to create typed live object"):
        apply(live, thing({"containers": [{"name": "c"}]}), THING, Applier("one", "v1"))


# --- Worth a write?


def test_would_change_sees_values_and_owners_but_not_times() -> None:
    shared = Shared()
    shared.apply("one", thing({"replicas": 1}))

    def change(manager: str, config: Object) -> bool:
        return would_change(shared.live, config, THING, Applier(manager, "v1"))

    assert not change("one", thing({"replicas": 1}))
    assert change("two", thing({"replicas": 1})), "it would be an owner"
    assert change("one", thing({"replicas": 2}))
    assert change("one", thing())


def test_would_change_forgives_what_normalizing_undoes() -> None:
    def normal(obj: Object) -> Object:
        spec = {**obj["spec"], "containers": [{"name": "c", "limits": {"cpu": "1"}}]}
        return {**obj, "spec": spec}

    shared = Shared()
    config = thing({"containers": [{"name": "c", "limits": {"cpu": "1000m"}}]})
    shared.apply("one", config)
    shared.live = normal(shared.live)
    applier = Applier("one", "v1")
    assert would_change(shared.live, config, THING, applier)
    assert not would_change(shared.live, config, THING, applier, normal=normal)
