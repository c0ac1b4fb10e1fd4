"""Regular expressions: what matches, where, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.cluster.cel.regex import Regex
from steersman.cluster.cel.regex_syntax import SyntaxProblem

MATCHES = [
    ("abc", "xabcx", True),
    ("^abc$", "xabc", False),
    ("^$", "", True),
    ("a|b$", "xb", True),
    ("[a-c]+[^0-9]", "ab!", True),
    (r"\d{2,3}", "1", False),
    (r"^\w+\s\W$", "a_1 !", True),
    ("(?i)ABC", "xabc", True),
    ("a.c", "a\nc", False),
    ("(?s)a.c", "a\nc", True),
    ("(?m)^b$", "a\nb\nc", True),
    (r"\bfoo\b", "a foo b", True),
    (r"\bfoo\b", "afoo", False),
    (r"\pL+\p{Nd}", "ä1", True),
    ("[[:alpha:]]+", "12", False),
    (r"\x41\x{42}\.", "AB.", True),
    (r"\Qa.b\E", "a.b", True),
    ("^(a+)+$", "aaaaaaaaab", False),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), MATCHES)
def test_search(pattern: str, text: str, expected: bool) -> None:
    assert Regex(pattern).search(text)[0] is expected


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("[a", "missing closing ]: `[a`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        (r"\q", r"invalid escape sequence: `\q`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
    ],
)
def test_refusals_are_gos(pattern: str, problem: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        Regex(pattern)
    assert str(caught.value) == f"error parsing regexp: {problem}"


_PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", "^", "$"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "+?", "{0,2}", "{2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@given(_PATTERNS, st.text("abc", max_size=8))
def test_agrees_with_python_on_small_patterns(pattern: str, text: str) -> None:
    expected = re.search(pattern.replace("$", r"\Z"), text)
    regex = Regex(pattern)
    assert regex.search(text)[0] is (expected is not None)
    found = regex.find(text, 0)
    assert (found and found[0]) == (expected and expected.start())
