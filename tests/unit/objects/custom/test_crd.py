"""Definitions: names, versions, columns and subresources."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.custom import (
    AGE,
    CustomResource,
    DefinitionError,
    Field,
    Model,
    PrinterColumn,
    Scale,
    crd,
)

Object = dict[str, Any]


class Spec(Model):
    replicas: int = Field(1, ge=0)
    ratio: float = 0.5
    paused: bool = False
    options: dict[str, str] = Field(default_factory=dict)


class Status(Model):
    replicas: int = 0
    ready: bool = False


class Thing(
    CustomResource,
    group="example.com",
    version="v1",
    short_names=["th"],
    categories=["all"],
    columns=[
        PrinterColumn("Replicas", ".spec.replicas", description="How many."),
        PrinterColumn("Ratio", ".spec.ratio", priority=1),
        PrinterColumn("Paused", ".spec.paused"),
        PrinterColumn("Option", ".spec.options.size"),
        PrinterColumn("First", ".status.conditions[0].status", "string"),
        AGE,
    ],
    scale=Scale(),
    selectable_fields=[".spec.paused"],
):
    """A thing."""

    spec: Spec = Spec()
    status: Status = Status()


class ThingV2(
    Thing, version="v2", short_names=["thing2"], deprecated="v2 goes away", served=False, scale=Scale()
):
    pass


def version(cls: type[CustomResource] = Thing) -> Object:
    found: Object = cls.crd()["spec"]["versions"][0]
    return found


def test_a_definition_has_the_names_of_its_class() -> None:
    made = Thing.crd()
    assert (made["apiVersion"], made["kind"]) == ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert made["metadata"] == {"name": "things.example.com"}
    assert {key: made["spec"][key] for key in ("group", "scope", "names")} == {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {
            "kind": "Thing",
            "listKind": "ThingList",
            "plural": "things",
            "singular": "thing",
            "shortNames": ["th"],
            "categories": ["all"],
        },
    }


def test_columns_have_the_types_of_their_fields() -> None:
    assert version()["additionalPrinterColumns"] == [
        {"name": "Replicas", "type": "integer", "description": "How many.", "jsonPath": ".spec.replicas"},
        {"name": "Ratio", "type": "number", "priority": 1, "jsonPath": ".spec.ratio"},
        {"name": "Paused", "type": "boolean", "jsonPath": ".spec.paused"},
        {"name": "Option", "type": "string", "jsonPath": ".spec.options.size"},
        {"name": "First", "type": "string", "jsonPath": ".status.conditions[0].status"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]


def test_subresources_and_selectable_fields() -> None:
    made = version()
    assert made["subresources"] == {
        "status": {},
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    }
    assert made["selectableFields"] == [{"jsonPath": ".spec.paused"}]


def test_a_status_has_no_defaults_and_a_spec_has() -> None:
    schema = version()["schema"]["openAPIV3Schema"]
    assert schema["properties"]["status"] == {
        "type": "object",
        "properties": {"replicas": {"type": "integer"}, "ready": {"type": "boolean"}},
    }
    assert schema["properties"]["spec"]["default"] == {
        "replicas": 1,
        "ratio": 0.5,
        "paused": False,
        "options": {},
    }
    assert schema["description"] == "A thing."
    assert "required" not in schema


def test_a_class_without_status_has_no_subresource() -> None:
    class Plain(CustomResource, group="example.com", version="v1"):
        data: dict[str, str] = {}  # noqa: RUF012

    assert "subresources" not in version(Plain)


def test_versions_are_merged_into_one_definition() -> None:
    made = crd(Thing, ThingV2, storage="v2")["spec"]
    assert [(each["name"], each["served"], each["storage"]) for each in made["versions"]] == [
        ("v1", True, False),
        ("v2", False, True),
    ]
    assert (made["versions"][1]["deprecated"], made["versions"][1]["deprecationWarning"]) == (
        True,
        "v2 goes away",
    )
    assert made["names"]["shortNames"] == ["th", "thing2"]
    assert "conversion" not in made


def test_the_stored_version_may_say_so_itself() -> None:
    class ThingV3(Thing, version="v3", storage=True):
        pass

    assert [each["storage"] for each in crd(Thing, ThingV3)["spec"]["versions"]] == [False, True]


def test_a_conversion_webhook_is_named() -> None:
    made = crd(Thing, ThingV2, storage="v1", conversion_webhook={"url": "https://here/convert"})
    assert made["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://here/convert"}, "conversionReviewVersions": ["v1"]},
    }


class Other(CustomResource, group="example.com", version="v2"):
    pass


@pytest.mark.parametrize(
    "classes, storage, message",
    [
        ([], None, "a definition needs at least one version"),
        (
            [Thing, ThingV2],
            None,
            "Thing: name the version to store, by storage=True or storage=",
        ),
        ([Thing, ThingV2], "v3", 'Thing: the stored version "v3" is not among its versions'),
        ([Thing, Thing], "v1", "Thing: a version is given twice: v1, v1"),
        ([Thing, Other], "v1", "Thing: its versions differ in kind: Thing, Other"),
    ],
)
def test_versions_that_make_no_definition(
    classes: list[type[CustomResource]], storage: str | None, message: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        crd(*classes, storage=storage)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "keywords, message",
    [
        (
            {"columns": [PrinterColumn("Size", ".spec.size")]},
            'Wrong: column "Size": there is no field at ".spec.size" (in the JSON)',
        ),
        (
            {"columns": [PrinterColumn("Size", "spec.size")]},
            'Wrong: column "Size": the path "spec.size" must start with a dot',
        ),
        (
            {"scale": Scale(label_selector=".status.selector")},
            'Wrong: scale: there is no field at ".status.selector" (in the JSON)',
        ),
        (
            {"selectable_fields": [".spec.colour"]},
            'Wrong: selectable field: there is no field at ".spec.colour" (in the JSON)',
        ),
    ],
    ids=["column", "no path", "scale", "selectable"],
)
def test_a_misspelt_path_is_an_error(keywords: Object, message: str) -> None:
    wrong = type(CustomResource)("Wrong", (Thing,), {"__module__": __name__}, **keywords)
    with pytest.raises(DefinitionError) as caught:
        wrong.crd()
    assert str(caught.value) == message
