"""The words of Go's JSON decoder."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.cluster.schema.validation.go_json import json_syntax_error

ERRORS = {
    "": "unexpected end of JSON input",
    "   ": "unexpected end of JSON input",
    "{": "unexpected end of JSON input",
    '{"a": [1, 2': "unexpected end of JSON input",
    "x": "invalid character 'x' looking for beginning of value",
    "'a'": r"invalid character '\'' looking for beginning of value",
    "{not": "invalid character 'n' looking for beginning of object key string",
    '{"a" 1}': "invalid character '1' after object key",
    '{"a":1 "b"}': "invalid character '\"' after object key:value pair",
    '{"a":1,}': "invalid character '}' looking for beginning of object key string",
    "[1 2]": "invalid character '2' after array element",
    "[1,]": "invalid character ']' looking for beginning of value",
    "{} {}": "invalid character '{' after top-level value",
    "trie": "invalid character 'i' in literal true (expecting 'u')",
    "01": "invalid character '1' after top-level value",
    "-x": "invalid character 'x' in numeric literal",
    "1.x": "invalid character 'x' after decimal point in numeric literal",
    "1ex": "invalid character 'x' in exponent of numeric literal",
    '"\\x"': "invalid character 'x' in string escape code",
    '"\\u12g"': "invalid character 'g' in \\u hexadecimal character escape",
    '"a\nb"': r"invalid character '\n' in string literal",
    "\\": r"invalid character '\\' looking for beginning of value",
}


@pytest.mark.parametrize("text, expected", ERRORS.items())
def test_first_wrong_character_is_named(text: str, expected: str) -> None:
    assert json_syntax_error(text.encode()) == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, st.sampled_from([None, 1]))
def test_json_has_no_error(value: object, indent: int | None) -> None:
    assert json_syntax_error(json.dumps(value, indent=indent).encode()) == ""


def test_depth_has_a_limit() -> None:
    assert json_syntax_error(b"[" * 10_000 + b"]" * 10_000) == ""
    assert json_syntax_error(b"[" * 10_001) == "invalid character '[' exceeded max depth"
