"""YAML is read as Kubernetes reads it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.cluster.codec import Malformed, yaml


@pytest.mark.parametrize(
    "text, value",
    [
        ("yes", True),
        ("Off", False),
        ("y", True),
        ("'yes'", "yes"),
        ("~", None),
        ("", None),
        ("null", None),
        ("12", 12),
        ("-5", -5),
        ("0x1F", 31),
        ("0b101", 5),
        ("0777", 511),
        ("0o17", 15),
        ("1_000", 1000),
        ("08", 8.0),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.2.3", "1.2.3"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("12:30:45", "12:30:45"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("-", [None]),
        ("+x", "+x"),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        ("{1: a, true: b, 1.5: c, null: d}", {"1": "a", "true": "b", "1.5": "c", "null": "d"}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ("a: 1\n---\nb: 2", {"a": 1}),
        ('{"a": [1, "b"]}', {"a": [1, "b"]}),
    ],
)
def test_values(text: str, value: Any) -> None:
    parsed, repeated = yaml.parse(text.encode())
    assert parsed == value
    assert type(parsed) is type(value)
    assert repeated == []


def test_repeated_keys_are_reported_with_their_line() -> None:
    value, repeated = yaml.parse(b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n")
    assert value == {"a": 3, "b": {"c": 2}}
    assert repeated == [
        'yaml: unmarshal errors:\n  line 4: key "c" already set in map\n  line 5: key "a" already set in map'
    ]


@pytest.mark.parametrize(
    "text, fault",
    [
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("x: 1\na: b: c", "yaml: line 2: mapping values are not allowed in this context"),
        ("{", "yaml: line 1: did not find expected node content"),
        ("[1", "yaml: line 1: did not find expected ',' or ']'"),
        ("a: *nope", "found undefined alias"),
        ("{a: [1, 2}", "did not find expected"),
        ("&a [*a]", "anchor contains itself"),
        ("? [a]\n: b", "invalid map key"),
        ("a: .inf", "unsupported value: +Inf"),
        ("a: .nan", "unsupported value: NaN"),
        ("a: {<<: 5}", "map merge requires map or sequence of maps"),
    ],
)
def test_faults(text: str, fault: str) -> None:
    with pytest.raises(Malformed) as caught:
        yaml.parse(text.encode())
    assert fault in str(caught.value)


def test_alias_bombs_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(Malformed, match="excessive aliasing"):
        yaml.parse("\n".join(lines).encode())


WORDS = [
    "yes",
    "y",
    "off",
    "1",
    "1e3",
    "0o17",
    "08",
    ".inf",
    "",
    "null",
    "2024-01-01",
    "1:2:3",
    "<<",
    "a\nb\n",
    "a: b",
    " x ",
]


def test_what_is_written_is_read_again() -> None:
    shared = {"x": "y"}
    value = {"b": [1, 1.5, True, None, *WORDS], "a": shared, "c": shared}
    text = yaml.dump(value)
    assert text.startswith(b"a:\n")
    assert b"&" not in text
    assert yaml.parse(text)[0] == value


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=40) | st.text(alphabet="ab:-{}[]&*!|>'\"\n #,?%<1.", max_size=30).map(str.encode))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(Malformed):
        yaml.parse(body)
