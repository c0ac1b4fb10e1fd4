"""Schemas resolve lazily."""

from __future__ import annotations

from steersman.objects.schemas import ANY, Schema


def test_properties_and_elements_are_made_once_and_on_demand() -> None:
    made: list[Schema] = []

    def make() -> Schema:
        made.append(Schema("scalar"))
        return made[-1]

    schema = Schema("struct", properties={"a": make})
    assert schema.property("b") is None
    assert made == []
    assert schema.property("a") is schema.property("a") is made[0]
    listed = Schema("list", values=make)
    assert listed.element() is listed.element() is made[1]


def test_recursive_types_are_no_trouble() -> None:
    schema = Schema("struct")
    schema.properties["self"] = lambda: schema
    assert schema.property("self") is schema


def test_untyped_list_holds_anything() -> None:
    assert Schema("list").element() is ANY
