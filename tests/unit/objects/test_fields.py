"""Field paths and the words of field errors."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects import fields
from steersman.objects.fields import FieldError, Path

SPEC = Path("spec")


def test_path_is_rendered_as_kubernetes_does() -> None:
    path = SPEC.child("containers").index(0).child("env", "valueFrom")
    assert str(path) == "spec.containers[0].env.valueFrom"
    assert str(Path("data").key("a b")) == "data[a b]"
    assert str(Path().child("spec")) == "spec"
    assert repr(SPEC) == "Path('spec')"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a", '"a"'),
        ('a"\\', '"a\\"\\\\"'),
        ("é\n\x00\x7f\u200b\U000e0001", '"é\\n\\x00\\x7f\\u200b\\U000e0001"'),
        (True, "true"),
        (None, "null"),
        (5, "5"),
        (5.0, "5"),
        (0.5, "0.5"),
        (["a<b"], '["a\\u003cb"]'),
        ({"a": 1}, '{"a":1}'),
    ],
)
def test_values_are_shown_as_go_shows_them(value: Any, shown: str) -> None:
    assert fields.show(value) == shown


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (fields.required(SPEC), "spec: Required value"),
        (fields.required(SPEC, "why"), "spec: Required value: why"),
        (fields.invalid(SPEC, "x", "bad"), 'spec: Invalid value: "x": bad'),
        (fields.type_invalid(SPEC, 1, "bad"), "spec: Invalid value: 1: bad"),
        (
            fields.not_supported(SPEC, "x", ["a", "b"]),
            'spec: Unsupported value: "x": supported values: "a", "b"',
        ),
        (fields.not_supported(SPEC, "x", []), 'spec: Unsupported value: "x"'),
        (fields.forbidden(SPEC, "no"), "spec: Forbidden: no"),
        (fields.duplicate(SPEC, "x"), 'spec: Duplicate value: "x"'),
        (fields.not_found(SPEC, "x"), 'spec: Not found: "x"'),
        (fields.too_long(SPEC, 1), "spec: Too long: may not be more than 1 byte"),
        (fields.too_long(SPEC, 10), "spec: Too long: may not be more than 10 bytes"),
        (fields.too_long(SPEC, -1), "spec: Too long: value is too long"),
        (fields.too_many(SPEC, 3, 2), "spec: Too many: 3: must have at most 2 items"),
        (fields.too_many(SPEC, 3, -1), "spec: Too many: 3: has too many items"),
        (fields.too_few(SPEC, 0, 1), "spec: Too few: 0: must have at least 1 item"),
        (fields.internal(SPEC, "oops"), "spec: Internal error: oops"),
    ],
    ids=str,
)
def test_error_text(error: FieldError, text: str) -> None:
    assert str(error) == text
    assert error.message == text.removeprefix("spec: ")


def test_several_errors_are_one_text_without_repeats() -> None:
    one, two = fields.required(SPEC), fields.forbidden(SPEC, "no")
    assert fields.join([one]) == "spec: Required value"
    assert fields.join([one, two, one]) == "[spec: Required value, spec: Forbidden: no]"
