"""The words of Go's JSON scanner."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.cluster.schema.json_syntax import json_syntax_error

END = "unexpected end of JSON input"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"", END),
        (b"  ", END),
        (b"{", END),
        (b'{"a"', END),
        (b'{"a":', END),
        (b'{"a":1', END),
        (b'{"a": [1, 2', END),
        (b"[1,", END),
        (b'"abc', END),
        (b"tru", END),
        (b"-", END),
        (b"1.", END),
        (b"1e", END),
        (b"1e+", END),
        (b'"\\u12', END),
        (b"{not json", "invalid character 'n' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"[}", "invalid character '}' looking for beginning of value"),
        (b"<html>", "invalid character '<' looking for beginning of value"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"trux", "invalid character 'x' in literal true (expecting 'e')"),
        (b"falze", "invalid character 'z' in literal false (expecting 's')"),
        (b"nulL", "invalid character 'L' in literal null (expecting 'l')"),
        (b'"a\nb"', "invalid character '\\n' in string literal"),
        (b'"a\x00"', "invalid character '\\x00' in string literal"),
        (b'"\\q"', "invalid character 'q' in string escape code"),
        (b'"\\u12x4"', "invalid character 'x' in \\u hexadecimal character escape"),
        (b"-a", "invalid character 'a' in numeric literal"),
        (b"1.a", "invalid character 'a' after decimal point in numeric literal"),
        (b"1ea", "invalid character 'a' in exponent of numeric literal"),
        (b"01", "invalid character '1' after top-level value"),
        (b"'", "invalid character '\\'' looking for beginning of value"),
        (b"\\", "invalid character '\\\\' looking for beginning of value"),
        (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
        (b"\x80", "invalid character '\\u0080' looking for beginning of value"),
        (b"[" * 10_001, "invalid character '[' exceeded max depth"),
        (b'{"":' * 10_001, "invalid character '{' exceeded max depth"),
        (b"[" * 10_000 + b"]" * 10_000, ""),
    ],
    ids=lambda part: str(part)[:60],
)
def test_the_first_wrong_character_is_named(text: bytes, fault: str) -> None:
    assert json_syntax_error(text) == fault


@settings(max_examples=300)
@given(st.text(alphabet='{}[]:,"\\ntrue0123.e-+ \nu', max_size=20))
def test_exactly_what_is_no_json_has_an_error(text: str) -> None:
    try:
        json.loads(text, parse_constant=lambda _: pytest.fail("constants are not in the alphabet"))
        good = True
    except ValueError:
        good = False
    assert (json_syntax_error(text.encode()) == "") == good


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, st.sampled_from([None, 1]))
def test_json_has_no_error(value: object, indent: int | None) -> None:
    assert json_syntax_error(json.dumps(value, indent=indent).encode()) == ""
