"""Objects from one version to another."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.custom import (
    ConversionError,
    CustomResource,
    DefinitionError,
    Field,
    Model,
    ObjectMeta,
    Versions,
)
from steersman.objects.custom.versions import KEPT_ANNOTATION

Object = dict[str, Any]


class SpecV1(Model):
    size: int = 1
    legacy: str | None = None


class SpecV2(Model):
    width: int = 1
    height: int = 1


class SpecV3(Model):
    area: dict[str, int] = Field(default_factory=dict)


class BoxV1(CustomResource, group="example.com", version="v1", kind="Box"):
    spec: SpecV1


class BoxV2(CustomResource, group="example.com", version="v2", kind="Box"):
    spec: SpecV2


class BoxV3(CustomResource, group="example.com", version="v3", kind="Box"):
    spec: SpecV3


V1, V2, V3 = "example.com/v1", "example.com/v2", "example.com/v3"


def boxes(*, lossless: bool = False) -> Versions:
    """v2 is the hub."""
    made = Versions(BoxV1, BoxV2, BoxV3, storage="v2", lossless=lossless)

    @made.converts(BoxV1, BoxV2)
    def up(old: BoxV1) -> BoxV2:
        return BoxV2(spec=SpecV2(width=old.spec.size, height=old.spec.size))

    @made.converts(BoxV2, BoxV1)
    def down(new: BoxV2) -> BoxV1:
        return BoxV1(spec=SpecV1(size=new.spec.width))

    @made.converts(BoxV2, BoxV3)
    def on(old: BoxV2) -> BoxV3:
        return BoxV3(spec=SpecV3(area={"w": old.spec.width, "h": old.spec.height}))

    @made.converts(BoxV3, BoxV2)
    def back(new: BoxV3) -> BoxV2:
        return BoxV2(spec=SpecV2(width=new.spec.area["w"], height=new.spec.area["h"]))

    return made


def box(api_version: str, **spec: Any) -> Object:
    metadata = {"name": "a", "uid": "1", "resourceVersion": "7", "labels": {"a": "b"}, "managedFields": [{}]}
    return {"apiVersion": api_version, "kind": "Box", "metadata": metadata, "spec": spec}


def test_one_step() -> None:
    obj = box(V1, size=2)
    assert boxes().convert(obj, V2) == box(V2, width=2, height=2)
    assert obj == box(V1, size=2)


def test_a_chain_of_steps() -> None:
    assert boxes().convert(box(V1, size=2), V3) == box(V3, area={"w": 2, "h": 2})
    assert boxes().convert(box(V3, area={"w": 2, "h": 3}), V1) == box(V1, size=2)


def test_the_same_version_is_left_as_it_is() -> None:
    assert boxes().convert(box(V1, size=2, unknown=True), V1) == box(V1, size=2, unknown=True)


def test_a_function_may_set_labels_and_annotations_only() -> None:
    made = Versions(BoxV1, BoxV2, storage="v1")

    @made.converts(BoxV1, BoxV2)
    def up(old: BoxV1) -> BoxV2:
        return BoxV2(
            metadata=ObjectMeta(name="other", labels={"c": "d"}, annotations={"e": "f"}), spec=SpecV2()
        )

    metadata = made.convert(box(V1), V2)["metadata"]
    assert metadata == {**box(V1)["metadata"], "labels": {"c": "d"}, "annotations": {"e": "f"}}


def test_a_round_trip_loses_nothing_when_asked() -> None:
    versions = boxes(lossless=True)
    stored = versions.convert(box(V1, size=2, legacy="kept"), V2)
    assert KEPT_ANNOTATION in stored["metadata"]["annotations"]
    assert versions.convert(stored, V1) == box(V1, size=2, legacy="kept")


def test_what_was_changed_in_between_stays_changed() -> None:
    versions = boxes(lossless=True)
    stored = versions.convert(box(V1, size=2, legacy="kept"), V2)
    stored["spec"] = {"width": 5, "height": 5}
    assert versions.convert(stored, V1) == box(V1, size=5, legacy="kept")


def test_what_a_third_version_sees_comes_back_too() -> None:
    versions = boxes(lossless=True)
    there = versions.convert(versions.convert(box(V1, size=2, legacy="kept"), V2), V3)
    assert there["spec"] == {"area": {"w": 2, "h": 2}}
    assert versions.convert(there, V1) == box(V1, size=2, legacy="kept")


def test_nothing_is_kept_when_nothing_would_be_lost() -> None:
    versions = boxes(lossless=True)
    assert versions.convert(box(V2, width=1, height=2), V3) == box(V3, area={"w": 1, "h": 2})


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"apiVersion": []}',
        '{"apiVersion": "example.com/v9"}',
        '{"apiVersion": "example.com/v1"}',
        '{"apiVersion": "example.com/v1", "spec": {"size": "big"}}',
    ],
)
def test_a_spoilt_annotation_is_ignored(text: str) -> None:
    obj = box(V2, width=2, height=2)
    obj["metadata"]["annotations"] = {KEPT_ANNOTATION: text, "other": "stays"}
    made = boxes(lossless=True).convert(obj, V1)
    assert made["spec"] == {"size": 2}
    assert made["metadata"]["annotations"] == {"other": "stays"}


def test_versions_make_a_definition() -> None:
    made = boxes().crd(conversion_webhook={"url": "https://here"})
    assert [each["name"] for each in made["spec"]["versions"] if each["storage"]] == ["v2"]
    assert made["spec"]["conversion"]["strategy"] == "Webhook"


def test_a_class_of_another_kind_has_no_place() -> None:
    class Other(CustomResource, group="example.com", version="v1"):
        pass

    with pytest.raises(DefinitionError, match=r"^Other is not one of these versions$"):
        boxes().converts(BoxV1, Other)


def broken() -> Versions:
    made = Versions(BoxV1, BoxV2, BoxV3, storage="v1")
    made.converts(BoxV1, BoxV2)(lambda old: BoxV2(spec=SpecV2(width=10 // old.spec.size)))
    made.converts(BoxV1, BoxV3)(lambda old: BoxV1(spec=old.spec))  # type: ignore[arg-type, return-value]
    return made


@pytest.mark.parametrize(
    "obj, target, message",
    [
        (
            box("example.com/v9"),
            V1,
            '"example.com/v9" is none of the versions example.com/v1, example.com/v2',
        ),
        (box(V1), "example.com/v9", '"example.com/v9" is none of the versions'),
        (box(V2), V1, "no conversion leads from example.com/v2 to example.com/v1"),
        (
            box(V1, size="big"),
            V2,
            "from example.com/v1 to example.com/v2: Box a: spec.size: Input should be a valid",
        ),
        (box(V1, size=0), V2, "from example.com/v1 to example.com/v2: ZeroDivisionError: integer division"),
        (box(V1), V3, "the conversion to example.com/v3 made example.com/v1"),
    ],
    ids=["unknown source", "unknown target", "no way", "unreadable", "failing", "wrong result"],
)
def test_what_cannot_be_converted_says_why(obj: Object, target: str, message: str) -> None:
    with pytest.raises(ConversionError) as caught:
        broken().convert(obj, target)
    assert str(caught.value).startswith(message)
