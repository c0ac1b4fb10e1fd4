"""What of a model is written: what was set, in whatever way, and nothing else."""

# ruff: noqa: RUF012 (defaults of models are copied)

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, RootModel, computed_field

from steersman.objects.custom import Field, Model, ObjectMeta, OwnerReference, dump, nullable


class Part(Model):
    size: int = 1
    name: str | None = None


class Names(RootModel[list[str]]):
    root: list[str] = []


class Whole(Model):
    title: str = "none"
    part: Part = Part()
    other: Part | None = None
    parts: list[Part] = []
    by_name: dict[str, Part] = Field(default_factory=dict)
    five: int | None = 5
    null: Annotated[int | None, nullable()] = None
    names: Names = Names()
    factory: list[str] = Field(default_factory=lambda: ["a"])

    @computed_field  # type: ignore[prop-decorator]
    @property
    def computed(self) -> int:
        return 1


def with_part(size: int) -> Whole:
    whole = Whole()
    whole.part.size = size
    return whole


def appended(field: str, value: Any) -> Whole:
    whole = Whole()
    getattr(whole, field).append(value)
    return whole


def with_key() -> Whole:
    whole = Whole()
    whole.by_name["a"] = Part(size=2)
    return whole


@pytest.mark.parametrize(
    "whole, written",
    [
        pytest.param(Whole(), {}, id="nothing was set"),
        pytest.param(Whole(title="none"), {"title": "none"}, id="the default was given"),
        pytest.param(with_part(2), {"part": {"size": 2}}, id="a default was changed in place"),
        pytest.param(with_part(1), {"part": {"size": 1}}, id="a default was set in place to itself"),
        pytest.param(Whole(part=Part()), {"part": {}}, id="an empty part was given"),
        pytest.param(Whole(other=None), {}, id="None for absence"),
        pytest.param(Whole(other=Part(name=None)), {"other": {}}, id="None for absence below"),
        pytest.param(appended("parts", Part(name="a")), {"parts": [{"name": "a"}]}, id="a list was added to"),
        pytest.param(Whole(parts=[Part(), Part(size=1)]), {"parts": [{}, {"size": 1}]}, id="items"),
        pytest.param(with_key(), {"byName": {"a": {"size": 2}}}, id="a key was added"),
        pytest.param(Whole(by_name={"a": Part()}), {"byName": {"a": {}}}, id="values"),
        pytest.param(appended("factory", "b"), {"factory": ["a", "b"]}, id="a factory's list was added to"),
        pytest.param(Whole(five=None), {"five": None}, id="None instead of a default"),
        pytest.param(Whole(null=None), {"null": None}, id="None as a value of its own"),
        pytest.param(Whole(names=Names(["a"])), {"names": ["a"]}, id="a root model"),
    ],
)
def test_only_what_was_set_is_written(whole: Whole, written: dict[str, Any]) -> None:
    assert dump(whole) == written


def test_writing_changes_nothing() -> None:
    whole = with_part(2)
    before = whole.model_copy(deep=True)
    dump(whole)
    assert (whole, whole.model_fields_set) == (before, before.model_fields_set)


def test_empty_metadata_is_not_written() -> None:
    owner = OwnerReference(api_version="v1", kind="Pod", name="a", uid="1", controller=True)
    meta = ObjectMeta(name="a", namespace="", labels={}, owner_references=[owner])
    assert dump(meta) == {
        "name": "a",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1", "controller": True}],
    }


def test_unknown_fields_are_written_where_they_are_kept() -> None:
    class Open(BaseModel, extra="allow"):
        known: int = 0

    assert dump(Open.model_validate({"known": 1, "other": {"a": None}})) == {"known": 1, "other": {"a": None}}
