"""Field types as a definition says them, and the sentence for those that it cannot say.

That servers take these schemas is shown in tests/integration/custom.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import pytest
from pydantic import Base64Bytes, BaseModel, ConfigDict, SecretStr, create_model

from steersman.objects.custom import (
    CustomResource,
    DefinitionError,
    Duration,
    Field,
    IntOrString,
    Model,
    Quantity,
    Time,
    atomic,
    list_map,
    list_set,
    nullable,
    preserve_unknown,
    rule,
)
from steersman.objects.quantities import Quantity as Amount

Schema = dict[str, Any]

INT_OR_STRING = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}


class Port(Model):
    """A port."""

    name: str
    number: int = 80
    note: str | None = None


class Colours(Model):
    first: Literal["red", "blue"] = "red"


class Tree(Model):
    children: list[Tree] = Field(default_factory=list)


class Http(Model):
    type: Literal["http"]
    path: str = "/"
    size: int = Field(1, le=5)


class Tcp(Model):
    type: Literal["tcp"]
    port: int
    size: int = Field(1, le=7)


class Udp(Model):
    type: Literal["udp"]
    size: str = ""


def field(annotation: Any, default: Any = ...) -> tuple[Schema, bool]:
    """The schema of a field of the spec, and whether it is required."""
    spec = create_model("Spec", __base__=Model, it=(annotation, default))
    made = type(CustomResource)(
        "Thing",
        (CustomResource,),
        {"__module__": __name__, "__annotations__": {"spec": spec}},
        group="example.com",
        version="v1",
    )
    schema = made.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema["properties"]["it"], "it" in schema.get("required", ())


@pytest.mark.parametrize(
    "annotation, schema",
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (Annotated[int, Field(ge=1, lt=5)], {"type": "integer", "minimum": 1, "maximum": 5, "exclusiveMaximum": True}),
        (Annotated[float, Field(gt=0, multiple_of=0.5)], {"type": "number", "minimum": 0, "exclusiveMinimum": True, "multipleOf": 0.5}),
        (Annotated[str, Field(min_length=1, max_length=3, pattern="^a", description="An a.")], {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a", "description": "An a."}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1], {"type": "integer", "enum": [1]}),
        (Literal[True], {"type": "boolean", "enum": [True]}),
        (Literal[1, "a"], {**INT_OR_STRING, "enum": [1, "a"]}),
        (Literal["a", None], {"type": "string", "enum": ["a", None], "nullable": True}),
        (int | str, INT_OR_STRING),
        (IntOrString, INT_OR_STRING),
        (int | float, {"type": "number"}),
        (Annotated[int, Field(ge=1)] | str, {**INT_OR_STRING, "minimum": 1}),
        (Literal["a"] | Literal["b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"] | Annotated[str, Field(min_length=3)], {"type": "string", "anyOf": [{"enum": ["a"]}, {"minLength": 3}]}),
        (Decimal, {"type": "string", "pattern": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (Time, {"type": "string", "format": "date-time"}),
        (Duration, {"type": "string", "format": "duration"}),
        (timedelta, {"type": "string"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (bytes, {"type": "string"}),
        (Base64Bytes, {"type": "string", "format": "byte"}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
        (dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (list[Any], {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}}),
        (Annotated[list[int], Field(max_length=2)], {"type": "array", "items": {"type": "integer"}, "maxItems": 2}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"}),
        (set[tuple[int, ...]], {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        (Annotated[list[str], list_set()], {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
        (Annotated[list[str], atomic()], {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"}),
        (Annotated[dict[str, str], atomic()], {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"}),
        (tuple[int, int], {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}),
        (str | None, {"type": "string", "nullable": True}),
        (list[int | None], {"type": "array", "items": {"type": "integer", "nullable": True}}),
        (Colours, {"type": "object", "properties": {"first": {"type": "string", "enum": ["red", "blue"], "default": "red"}}}),
        (Annotated[Tree, preserve_unknown()], {"x-kubernetes-preserve-unknown-fields": True}),
        (Annotated[str, rule("self != ''"), rule("self != 'a'", "not a")], {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}, {"rule": "self != 'a'", "message": "not a"}]}),
        (Annotated[int, Field(json_schema_extra={"not": {"enum": [3]}})], {"type": "integer", "not": {"enum": [3]}}),
    ],
)  # fmt: skip
def test_required_field(annotation: Any, schema: Schema) -> None:
    assert field(annotation) == (schema, True)


PORT = {
    "type": "object",
    "description": "A port.",
    "properties": {
        "name": {"type": "string"},
        "number": {"type": "integer", "default": 80},
        "note": {"type": "string"},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    "annotation, default, schema",
    [
        (int, 3, {"type": "integer", "default": 3}),
        (str | None, None, {"type": "string"}),
        (int | None, 5, {"type": "integer", "nullable": True, "default": 5}),
        (Annotated[int | None, nullable()], None, {"type": "integer", "nullable": True}),
        (Port | None, None, PORT),
        (Annotated[Port, Field(description="The one.")], Port(name="a"), {**PORT, "description": "The one.", "default": {"name": "a", "number": 80}}),
        (list[Port], [Port(name="a")], {"type": "array", "items": PORT, "default": [{"name": "a", "number": 80}]}),
        (dict[str, Port], {"x": Port(name="a")}, {"type": "object", "additionalProperties": PORT, "default": {"x": {"name": "a", "number": 80}}}),
        (Colours, Colours(), {"type": "object", "properties": {"first": {"type": "string", "enum": ["red", "blue"], "default": "red"}}, "default": {"first": "red"}}),
        (list[str], Field(default_factory=list), {"type": "array", "items": {"type": "string"}, "default": []}),
        (list[str], Field(default_factory=lambda: ["a"]), {"type": "array", "items": {"type": "string"}, "default": ["a"]}),
        (UUID, Field(default_factory=uuid4), {"type": "string", "format": "uuid"}),
        (str, Field(default_factory=lambda: str(uuid4())), {"type": "string"}),
        (Time, Field(default_factory=lambda: datetime.now(UTC)), {"type": "string", "format": "date-time"}),
        (Duration, timedelta(seconds=90), {"type": "string", "format": "duration", "default": "1m30s"}),
        (Time, datetime(2026, 1, 31, tzinfo=UTC), {"type": "string", "format": "date-time", "default": "2026-01-31T00:00:00Z"}),
        (Decimal, Decimal("1.50"), {"type": "string", "pattern": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$", "default": "1.50"}),
        (set[str], {"b", "a"}, {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "default": ["a", "b"]}),
        (Annotated[list[Port] | None, list_map("name")], None, {"type": "array", "items": PORT, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
    ],
)  # fmt: skip
def test_optional_field(annotation: Any, default: Any, schema: Schema) -> None:
    assert field(annotation, default) == (schema, False)


def test_a_quantity_is_a_number_or_a_text() -> None:
    schema, _ = field(Quantity, Amount.parse("100m"))
    assert schema["default"] == "100m"
    assert {key: schema[key] for key in INT_OR_STRING} == INT_OR_STRING
    assert schema["pattern"].startswith(r"^(\+|-)?")


def test_variants_become_one_schema_with_clauses() -> None:
    schema, _ = field(Annotated[Http | Tcp, Field(discriminator="type")])
    assert schema == {
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["http", "tcp"]},
            "path": {"type": "string"},
            "size": {"type": "integer"},
            "port": {"type": "integer"},
        },
        "required": ["type"],
        "oneOf": [
            {"properties": {"type": {"enum": ["http"]}, "size": {"maximum": 5}}},
            {"properties": {"type": {"enum": ["tcp"]}, "size": {"maximum": 7}}, "required": ["port"]},
        ],
    }


def test_rules_of_a_model_and_of_its_field_both_hold() -> None:
    class Range(Model, rules=[rule("self.low <= self.high")]):
        low: int = 0
        high: int = 1

    class Narrow(Range, rules=[rule("self.high < 5")]):
        pass

    schema, _ = field(Annotated[Narrow, rule("self.low > 0")])
    rules = [each["rule"] for each in schema["x-kubernetes-validations"]]
    assert rules == ["self.low <= self.high", "self.high < 5", "self.low > 0"]


class Lookahead(BaseModel):
    model_config = ConfigDict(regex_engine="python-re")
    text: str = Field(pattern="^(?!a)")


class Extra(BaseModel, extra="allow"):
    __pydantic_extra__: dict[str, int]
    known: int = 0


class RuledTcp(Tcp, rules=[rule("self.port > 0")]):
    pass


@pytest.mark.parametrize(
    "annotation, message",
    [
        (Tree, "Thing.spec.it.children[]: Tree contains itself, which a definition cannot say; annotate the field with preserve_unknown()"),
        (tuple[int, str], "Thing.spec.it: a tuple of different types has no form in a definition; use a model"),
        (bool | str, "Thing.spec.it: this union has no form in a definition; use one type, models with a discriminator, or annotate the field with preserve_unknown()"),
        (list[int] | int, "Thing.spec.it: this union has no form"),
        (Http | Udp, "Thing.spec.it.size: the variants of a union must agree on the type of a field they share"),
        (Http | RuledTcp, "Thing.spec.it: rules in a union need a discriminator") ,
        (Literal["a", True], "Thing.spec.it: the values of an enumeration must be of one type"),
        (Callable[[], None], "Thing.spec.it: this type has no JSON form"),
        (list[Callable[[], None]], "Thing.spec.it[]: this type has no JSON form"),
        (SecretStr, "Thing.spec.it: a secret does not belong in an object; refer to a Secret by name"),
        (None, "Thing.spec.it: a field that can only be None has no type"),
        (Annotated[Decimal, Field(ge=0)], "Thing.spec.it: a Decimal cannot have bounds in a definition; use float or a rule()"),
        (dict[Annotated[str, Field(pattern="a")], int], "Thing.spec.it: the keys of a map cannot be constrained; use dict[str, …] and a rule()"),
        (dict[Literal["a", "b"], int], "Thing.spec.it: the keys of a map cannot be constrained"),
        (Lookahead, "Thing.spec.it.text: the server's patterns have no look-around and no back-references"),
        (Extra, "Thing.spec.it: a model with typed extra fields has no form in a definition"),
        (Annotated[list[Port], list_set()], "Thing.spec.it: list_set() is for lists of plain values"),
        (Annotated[list[str], list_map("name")], "Thing.spec.it: list_map() is for lists of models"),
        (Annotated[list[Port], list_map()], "Thing.spec.it: list_map() needs the fields that identify its items"),
        (Annotated[list[Port], list_map("nam")], 'Thing.spec.it: list_map("nam"): its items have no field "nam" (in the JSON)'),
        (Annotated[list[Port], list_map("note")], 'Thing.spec.it: list_map("note"): the key must be required or have a default'),
        (Annotated[str, Field(json_schema_extra={"if": {}})], 'Thing.spec.it: the keyword "if" has no form in a definition'),
    ],
)  # fmt: skip
def test_what_has_no_form_is_a_sentence(annotation: Any, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        field(annotation)
    assert str(caught.value).startswith(message)


def test_a_default_that_does_not_fit_is_named() -> None:
    with pytest.raises(
        DefinitionError, match=r"^Spec\.it: its default does not fit: String should have at least 3"
    ):
        field(Annotated[str, Field(min_length=3)], "a")
