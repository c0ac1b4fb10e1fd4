"""Paths of `raw`: what they reach, what they make on the way, what stops them."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.builders import Container, Deployment, Hook
from steersman.objects.builders.errors import BuildError
from steersman.objects.builders.raw_path import parse_path, write


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("spec", ("spec",)),
        (".spec", ("spec",)),
        ("spec.replicas", ("spec", "replicas")),
        ("containers[0].env[12]", ("containers", 0, "env", 12)),
        ("containers.0.env", ("containers", "0", "env")),
        ('annotations["example.com/a.b"]', ("annotations", "example.com/a.b")),
        ("annotations['it]s'].x", ("annotations", "it]s", "x")),
        ("labels.example/name", ("labels", "example/name")),
    ],
)
def test_path_is_read_step_by_step(path: str, steps: tuple[str | int, ...]) -> None:
    assert parse_path(path) == steps


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "must not be empty"),
        ("spec.", "cannot be read from '.' on"),
        ("spec..a", "cannot be read from '..a' on"),
        ("a[b]", "cannot be read from '[b]' on"),
        ("a[0]b", "cannot be read from 'b' on"),
        ('a["b"', "cannot be read from"),
    ],
)
def test_path_that_cannot_be_read_says_where(path: str, problem: str) -> None:
    with pytest.raises(ValueError) as failure:
        parse_path(path)
    assert problem in str(failure.value)


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        ({}, "a.b.c", 1, {"a": {"b": {"c": 1}}}),
        ({}, "a[0].b", 1, {"a": [{"b": 1}]}),
        ({"a": [1]}, "a[1]", 2, {"a": [1, 2]}),
        ({"a": [1]}, "a[0]", 2, {"a": [2]}),
        ({"a": [{"b": 1}]}, "a.0.b", 2, {"a": [{"b": 2}]}),
        ({"a": {"b": 1, "c": 2}}, "a.b", None, {"a": {"c": 2}}),
        ({"a": [1, 2]}, "a[0]", None, {"a": [2]}),
        ({}, "a.b", None, {"a": {}}),
        ({"a": None}, "a.b", 1, {"a": {"b": 1}}),
        ({}, 'a["x.y"]', 1, {"a": {"x.y": 1}}),
    ],
)
def test_value_is_put_where_the_path_leads(
    before: dict[str, Any], path: str, value: Any, after: dict[str, Any]
) -> None:
    write(before, path, value)
    assert before == after


@pytest.mark.parametrize(
    ("before", "path", "problem"),
    [
        ({"a": 1}, "a.b", "1 has no field 'b'"),
        ({"a": 1}, "a.b.c", "1 has no field 'b'"),
        ({"a": []}, "a.b", "a list has no field 'b'"),
        ({"a": []}, "a[1]", "the list has 0 items, so there is no place for number 1"),
        ({"a": {}}, "a[0]", "number 0 of an object; only lists have numbers"),
    ],
)
def test_what_is_in_the_way_is_told(before: dict[str, Any], path: str, problem: str) -> None:
    with pytest.raises(ValueError) as failure:
        write(before, path, 1)
    assert str(failure.value) == problem


def test_raw_sets_any_field_of_an_object_and_of_its_parts() -> None:
    container = Container("app").image("a").raw("terminationMessagePath", "/log")
    made = (
        Deployment("web")
        .container(container)
        .raw("spec.template.spec.containers[0].lifecycle.preStop", Hook.sleep(1))
        .raw('metadata.annotations["example.com/a.b"]', "c")
        .to_object()
    )
    assert made["metadata"]["annotations"] == {"example.com/a.b": "c"}
    assert made["spec"]["template"]["spec"]["containers"] == [
        {
            "name": "app",
            "image": "a",
            "terminationMessagePath": "/log",
            "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
        }
    ]


def test_raw_keeps_its_own_copy_of_the_value() -> None:
    value = {"a": [1]}
    built = Container("app").raw("x", value)
    value["a"].append(2)
    assert built.to_object()["x"] == {"a": [1]}


def test_raw_names_the_object_and_the_path() -> None:
    with pytest.raises(BuildError) as failure:
        Deployment("web").raw("spec..x", 1)
    assert str(failure.value) == "Deployment \"web\": spec..x: cannot be read from '..x' on"
