"""JSON parsing: Go's words for broken text, duplicates, and what Go takes that the fast parser does not."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.cluster.codec import Malformed, json
from steersman.cluster.schema.findings import Literal, Repeated


@pytest.mark.parametrize(
    "text, fault",
    [
        (b"", "unexpected end of JSON input"),
        (b"{not json", "invalid character 'n' looking for beginning of object key string"),
        (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
        (b"[" * 10_001, "invalid character '[' exceeded max depth"),
    ],
)
def test_broken_text_is_explained_as_go_does(text: bytes, fault: str) -> None:
    with pytest.raises(Malformed) as caught:
        json.parse(text)
    assert str(caught.value) == fault


@pytest.mark.parametrize(
    "text, value",
    [
        (b'"\xff"', "\ufffd"),
        (b'"\\ud800"', "\ufffd"),
        (b'"\\ud83d\\ude00"', "😀"),
        (b"[" * 600 + b"]" * 600, None),
    ],
    ids=["broken UTF-8", "lone surrogate", "pair", "deep"],
)
def test_what_go_takes_is_taken(text: bytes, value: Any) -> None:
    parsed = json.parse(text)
    assert value is None or parsed == value


def test_endless_numbers_do_not_hang() -> None:
    assert isinstance(json.parse_exactly(b"1" * 100_000), Literal)


def test_too_deep_for_python_is_refused() -> None:
    with pytest.raises(Malformed, match="exceeded max depth"):
        json.parse(b"[" * 9_000 + b"]" * 9_000)


def test_duplicates_are_kept_on_request_only() -> None:
    text = b'{"a": {"x": 1, "x": 2}, "b": 1}'
    assert type(json.parse(text)["a"]) is dict
    found = json.parse(text, duplicates=True)
    assert type(found) is dict
    assert isinstance(found["a"], Repeated)
    assert found["a"].repeated == ("x",)
    assert found == {"a": {"x": 2}, "b": 1}


def test_repeated_fields_come_as_they_are_written() -> None:
    text = b'{"a": {"x": 1, "x": 2}, "a": {"y": [{"z": 1, "z": 1}]}, "a": 1}'
    assert json.repeated_fields(json.parse(text, duplicates=True)) == [
        'duplicate field "a.x"',
        'duplicate field "a"',
        'duplicate field "a.y[0].z"',
    ]


def test_repeated_objects_are_laid_over_each_other() -> None:
    text = b'{"a": {"x": 1, "y": {"p": 1}}, "a": {"y": {"q": 2}, "z": 3}, "b": [1], "b": [2]}'
    assert json.parse(text, duplicates=True) == {"a": {"x": 1, "y": {"p": 1, "q": 2}, "z": 3}, "b": [2]}


@pytest.mark.parametrize(
    "number", ["1" * 20, "1" * 500, "1e400", "18446744073709551615", "-9223372036854775808"]
)
def test_all_that_is_parsed_can_be_written(number: str) -> None:
    orjson.dumps(json.parse(f'{{"a": {number}, "a": {number}, "b": "\\ud800"}}'.encode(), duplicates=True))


@pytest.mark.parametrize("space", ["", "\n", " \r\n\t"], ids=["none", "newline", "mixed"])
def test_space_at_the_end_hides_no_duplicates(space: str) -> None:
    assert type(json.parse(f'{{"a":{{"x":1}}}}{space}'.encode(), duplicates=True)) is dict
    assert isinstance(json.parse(f'{{"a":1,"a":1}}{space}'.encode(), duplicates=True), Repeated)


def test_escaped_quotes_are_no_duplicates() -> None:
    assert type(json.parse(rb'{"a": "\"", "b\"": 1, "c": "\u0022"}', duplicates=True)) is dict


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.text(alphabet='a"\\', max_size=2), st.text(alphabet='"\\b', max_size=3)), max_size=4
    ),
    st.booleans(),
)
def test_duplicates_are_found_however_quotes_are_written(pairs: list[tuple[str, str]], escaped: bool) -> None:
    def write(text: str) -> str:
        quote = "\\u0022" if escaped else '\\"'
        return '"' + text.replace("\\", "\\\\").replace('"', quote) + '"'

    text = "{" + ",".join(f"{write(key)}:{write(value)}" for key, value in pairs) + "}"
    found = json.parse(text.encode(), duplicates=True)
    assert isinstance(found, Repeated) == (len(dict(pairs)) < len(pairs))
    assert found == dict(pairs)


def test_nesting_deeper_than_the_fast_writer_goes_is_read() -> None:
    depth = 300
    body = b'{"a":' * depth + b"1" + b"}" * depth
    value = json.parse(body, duplicates=True)
    for _ in range(depth):
        value = value["a"]
    assert value == 1
