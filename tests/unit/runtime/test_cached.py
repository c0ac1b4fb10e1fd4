"""What is kept of an object, and how it is read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from steersman.objects.resource_type import ResourceType
from steersman.runtime.cached import OPAQUE, Cached, Intake
from steersman.runtime.keys import Key

CONFIG_MAPS = ResourceType("", "v1", "ConfigMap", "configmaps")


def entry(manager: str) -> dict[str, Any]:
    return {"manager": manager, "operation": "Apply", "fieldsV1": {"f:data": {"f:a": {}}}}


def config_map(managers: Any = None, **metadata: Any) -> dict[str, Any]:
    managed = {} if managers is None else {"managedFields": managers}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "namespace": "x",
            "uid": "u1",
            "resourceVersion": "7",
            **managed,
            **metadata,
        },
        "data": {"a": "b"},
    }


def read(obj: Mapping[str, Any], **options: Any) -> Cached:
    return Intake(CONFIG_MAPS, **options).read(orjson.dumps(obj))


@pytest.mark.parametrize(
    "key, text",
    [(Key("x", "a"), "x/a"), (Key("", "a"), "a")],
    ids=["namespaced", "cluster-wide"],
)
def test_keys_are_written_as_people_write_them(key: Key, text: str) -> None:
    assert str(key) == text
    assert Key.parse(text) == key
    assert Key.of({"metadata": {"name": key.name, "namespace": key.namespace}}) == key


def test_the_identity_of_an_object_is_at_hand() -> None:
    cached = read(config_map())
    assert (cached.key, cached.uid, cached.resource_version, cached.version) == (Key("x", "a"), "u1", 7, "7")


def test_an_object_is_decoded_anew_for_each_reader() -> None:
    cached = read(config_map())
    cached.object()["data"]["a"] = "changed"
    assert cached.object() == config_map()
    assert cached.metadata() == config_map()["metadata"]


@pytest.mark.parametrize(
    "managers",
    [[entry("kubectl"), entry("other")], [entry("kubectl")], [], None],
    ids=["several", "one", "empty", "null"],
)
@pytest.mark.parametrize("place", ["first", "middle", "last", "alone"])
@pytest.mark.parametrize("pretty", [False, True], ids=["compact", "pretty"])
def test_managed_fields_are_dropped_wherever_they_stand(managers: Any, place: str, pretty: bool) -> None:
    names = {"name": "a", "uid": "u1"}
    metadata = {
        "first": {"managedFields": managers, **names},
        "middle": {"name": "a", "managedFields": managers, "uid": "u1"},
        "last": {**names, "managedFields": managers},
        "alone": {"managedFields": managers},
    }[place]
    obj = {"metadata": metadata, "data": {"managedFields": "mine"}}
    data = orjson.dumps(obj, option=orjson.OPT_INDENT_2 if pretty else 0)
    found = Intake(CONFIG_MAPS).read(data).object()
    assert not found["metadata"].pop("managedFields", None)
    left = {"metadata": {} if place == "alone" else names, "data": {"managedFields": "mine"}}
    assert found == {"apiVersion": "v1", "kind": "ConfigMap", **left}


@pytest.mark.parametrize("pretty", [False, True], ids=["compact", "pretty"])
def test_the_entries_of_the_kept_manager_stay(pretty: bool) -> None:
    obj = config_map([entry("kubectl"), entry("mine"), entry("other")])
    data = orjson.dumps(obj, option=orjson.OPT_INDENT_2 if pretty else 0)
    cached = Intake(CONFIG_MAPS, kept_managers=["mine"]).read(data)
    assert cached.object() == config_map([entry("mine")])


def test_bytes_are_kept_as_they_came() -> None:
    data = b'{"kind":"ConfigMap","metadata":{"name":"a"},"number":1.0000000000000000001,"text":"\\u00e9"}'
    assert Intake(CONFIG_MAPS).read(data).data == data


@pytest.mark.parametrize(
    "data, kept",
    [
        (b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}', b'{"metadata":{"name":"a"}}'),
        (b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}', b'{"metadata":{"name":"a"}}'),
        (b'{"metadata":{"name":"a"}}', None),
        (b'{"metadata":{"name":"a"},"kind":"ConfigMap","apiVersion":"v1"}', None),
        (b'{ "kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"} }', None),
        (b' \n{"metadata":{"name":"a"}}', b'{"metadata":{"name":"a"}}'),
    ],
    ids=["first", "the other way round", "missing", "last", "with spaces", "after spaces"],
)
def test_what_all_objects_of_a_resource_begin_with_is_not_kept_in_each(
    data: bytes, kept: bytes | None
) -> None:
    cached = Intake(CONFIG_MAPS).read(data)
    assert cached.data == (kept or data)
    assert cached.object() == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def test_an_object_of_another_version_stays_what_it_is() -> None:
    data = b'{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"a"}}'
    assert Intake(CONFIG_MAPS).read(data).object() == orjson.loads(data)


def test_metadata_says_what_it_is_the_metadata_of() -> None:
    partial = {**config_map(), "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    del partial["data"]
    cached = read(partial, metadata_only=True)
    assert (cached.object()["apiVersion"], cached.object()["kind"]) == ("v1", "ConfigMap")


def test_a_written_object_is_reduced_to_its_metadata_where_only_that_is_kept() -> None:
    cached = Intake(CONFIG_MAPS, metadata_only=True).read_object(config_map())
    assert set(cached.object()) == {"apiVersion", "kind", "metadata"}


def test_labels_and_owners_are_read_without_the_rest() -> None:
    cached = read(config_map(labels={"app": "web"}, ownerReferences=[{"uid": "o1"}, {"uid": "o2"}]))
    assert cached.labels() == {"app": "web"}
    assert cached.owner_uids() == ["o1", "o2"]
    assert (read(config_map()).labels(), read(config_map(ownerReferences=None)).owner_uids()) == ({}, [])


def test_the_class_of_a_resource_gets_the_whole_object() -> None:
    class Typed:
        resource_type = CONFIG_MAPS

        def __init__(self, obj: Mapping[str, Any]) -> None:
            self.obj = obj

        @classmethod
        def from_object(cls, obj: Mapping[str, Any], /) -> Typed:
            return cls(obj)

        def to_object(self) -> dict[str, Any]:
            return dict(self.obj)

    assert read(config_map()).as_type(Typed).obj == config_map()


@pytest.mark.parametrize(
    "one, other, same, older",
    [
        ("7", "7", True, False),
        ("7", "10", False, True),
        ("10", "7", False, False),
        ("abc", "abc", True, False),
        ("abc", "abd", False, False),
        ("abc", "7", False, False),
        ("7", "abc", False, False),
        ("9" * 5000, "7", False, False),
    ],
    ids=lambda value: str(value)[:8],
)
def test_versions_are_compared_as_numbers_or_not_at_all(
    one: str, other: str, same: bool, older: bool
) -> None:
    first, second = read(config_map(resourceVersion=one)), read(config_map(resourceVersion=other))
    assert (first.same_version(second), first.older_than(second)) == (same, older)
    assert first.version == one


def test_a_version_that_is_no_number_is_opaque() -> None:
    assert read(config_map(resourceVersion="abc")).resource_version == OPAQUE


def test_a_state_that_is_known_is_not_made_again() -> None:
    intake = Intake(CONFIG_MAPS)
    known = intake.read(orjson.dumps(config_map()))
    again = config_map([entry("a")], resourceVersion="7")

    def find(key: tuple[str, str]) -> Cached | None:
        return known if key == ("x", "a") else None

    assert intake.read(orjson.dumps(again), find) is known
    assert intake.read_object(again, known) is known


@pytest.mark.parametrize(
    "before, after",
    [
        ({}, {"resourceVersion": "8"}),
        ({}, {"uid": "u2"}),
        ({}, {"name": "b"}),
        ({"resourceVersion": "7a"}, {"resourceVersion": "7a"}),
    ],
    ids=["another version", "another object of that name", "another name", "versions that are no numbers"],
)
def test_another_state_is_made(before: dict[str, Any], after: dict[str, Any]) -> None:
    intake = Intake(CONFIG_MAPS)
    known = intake.read(orjson.dumps(config_map(**before)))
    obj = config_map(**after)

    def find(key: tuple[str, str]) -> Cached | None:
        return known if key == ("x", "a") else None

    for made in (intake.read(orjson.dumps(obj), find), intake.read_object(obj, find(Key.of(obj)))):
        assert made is not known
        assert made.object() == obj


@pytest.mark.parametrize("kept", [(), ("us",), ("us", "them"), ('q"uoted',)])
def test_bytes_and_objects_are_reduced_alike(kept: tuple[str, ...]) -> None:
    obj = config_map([entry(name) for name in ("us", "other", "them", 'q"uoted', "us")])
    intake = Intake(CONFIG_MAPS, kept_managers=kept)
    of_bytes, of_object = intake.read(orjson.dumps(obj)), intake.read_object(obj)
    assert of_bytes.object() == of_object.object()
    managed = of_bytes.object()["metadata"].get("managedFields", [])
    assert [one["manager"] for one in managed] == [
        name for name in ("us", "other", "them", 'q"uoted', "us") if name in kept
    ]
    assert len(obj["metadata"]["managedFields"]) == 5
