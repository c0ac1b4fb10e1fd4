"""Regular expressions: what Go accepts, refuses, and matches."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.cluster.cel.regex import Regex
from steersman.cluster.cel.regex_syntax import SyntaxProblem
from steersman.cluster.schema.structural.errors import PatternError
from steersman.cluster.schema.structural.patterns import matches


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"[\w-.]", "-"),
        ("(?i)ABC", "abc"),
        ("(?i)é", "É"),
        ("[[:^alpha:]]", "1"),
        ("[[:alpha:]_]", "_"),
        (r"\bfoo\b", "a foo b"),
        ("{", "{"),
        ("a{,2}", "a{,2}"),
        (r"\Qa.b\E", "a.b"),
        ("^é.$", "éü"),
        (r"^[^\W_]$", "a"),
        (r"^\pL\p{Greek}\P{Greek}$", "éγx"),
        ("(?s)^.$", "\n"),
        ("(?m)^a$", "a\nb"),
        (r"^\x41\x{42}\103\t$", "ABC\t"),
        ("^[]a]$", "]"),
        ("^(?P<n>a)(?<m>b)(?:c)$", "abc"),
        ("^a{2,3}?$", "aaa"),
        ("[a&&b]", "&"),
        (r"^\Qab\E+$", "abb"),
        ("^a(?i)*$", "aaa"),
    ],
)
def test_matches(pattern: str, text: str) -> None:
    assert matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^\d$", "٣"),
        (r"^\s$", "\v"),
        (r"\Qa.b\E", "axb"),
        ("^a$", "a\n"),
        ("[[:alpha:]]", "1"),
        (r"^[^\W_]$", "_"),
        ("^.$", "\n"),
        ("[^a&&b]", "&"),
    ],
)
def test_does_not_match(pattern: str, text: str) -> None:
    assert not matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("[a", "missing closing ]: `[a`"),
        ("(", "missing closing ): `(`"),
        ("b)", "unexpected ): `b)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a|+", "missing argument to repetition operator: `+`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?i", "missing closing ): `(?i`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        (r"\e", r"invalid escape sequence: `\e`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\xg", r"invalid escape sequence: `\xg`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
    ],
)
def test_refuses_with_the_words_of_go(pattern: str, problem: str) -> None:
    with pytest.raises(PatternError) as caught:
        matches(pattern, "")
    assert str(caught.value) == f"error parsing regexp: {problem}"


def test_no_pattern_backtracks() -> None:
    assert not matches("^(a+)+$", "a" * 50_000 + "b")


_PIECES = [
    *"aZé1_.^$|()[]-*+? ", "(?:", "(?i)", "(?s:", "(?m)", "(?U)", "(?P<n>", "[^", "[:alpha:]", "[:^digit:]", r"\d",
    r"\W", r"\s", r"\pL", r"\p{Greek}", r"\P{^Lu}", r"\x41", r"\b", r"\B", r"\A", r"\z", r"\Q", r"\E", "{2}", "{1,}",
]  # fmt: skip


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(_PIECES), max_size=6).map("".join),
    st.sampled_from(["", "a", "éÉ", "1_", "Za\n", "γ--", "aab]"]),
)
def test_expressions_find_the_same_in_rules_and_in_schemas(pattern: str, text: str) -> None:
    try:
        expected: bool | str = Regex(pattern).search(text)[0]
    except SyntaxProblem as problem:
        expected = str(problem)
    try:
        found: bool | str = matches(pattern, text)
    except PatternError as problem:
        found = str(problem)
    assert found == expected
