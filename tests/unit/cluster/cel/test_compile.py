"""What is refused before it runs, and in which words."""

from __future__ import annotations

import pytest

from steersman.cluster.cel import BOOL, STRING, CompileError, ResultTypeError
from tests.unit.cluster.cel.expressions import compiled, with_schema

SCHEMA = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "name": {"type": "string"},
        "items": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "untyped": {"x-kubernetes-preserve-unknown-fields": True},
    },
}
OPERANDS = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"

REFUSED = [
    ("nothing", 1, "undeclared reference to 'nothing' (in container '')"),
    ("self.nothing", 5, "undefined field 'nothing'"),
    ("has(self.nothing)", 4, "undefined field 'nothing'"),
    ("self.untyped", 5, "undefined field 'untyped'"),
    ("self.count + 'a' == 1", 12, "found no matching overload for '_+_' applied to '(int, string)'"),
    ("self.count == self.name", 12, "found no matching overload for '_==_' applied to '(int, string)'"),
    ("self.count.size()", 16, "found no matching overload for 'size' applied to 'int.()'"),
    ("nope(1)", 5, "undeclared reference to 'nope' (in container '')"),
    ("self.count.a", 11, "type 'int' does not support field selection"),
    ("quantity('1').a", 14, "unexpected failed resolution of 'kubernetes.Quantity'"),
    ("self.items.all(i, i.b == '')", 20, "undefined field 'b'"),
    ("self.count.all(i, true)", 5, "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"),
    ("self.items.all(1, true)", 16, "argument must be a simple name"),
    ("has(1)", 5, "invalid argument to has() macro"),
    ("[1, 'a'].size() == 2", 5, "expected type 'int' but found 'string'"),
    ("[dyn(1), 2].size() == 2", 10, "expected type 'dyn' but found 'int'"),
    ("{'a': 1, 'b': dyn(2)}.size() == 2", 18, "expected type 'int' but found 'dyn'"),
    ("self.count == ", 15, f"Syntax error: mismatched input '<EOF>' expecting {OPERANDS}"),
    ("self.count ==* 1", 14, f"Syntax error: extraneous input '*' expecting {OPERANDS}"),
    ("size(self.items", 16, "Syntax error: missing ')' at '<EOF>'"),
    ("self.", 6, "Syntax error: no viable alternative at input '.'"),
    ("1 = 1", 3, "Syntax error: token recognition error at: '= '"),
    ("self.name == 'x' and true", 18, "Syntax error: mismatched input 'and' expecting <EOF>"),
    ("self.name 'x'", 11, "Syntax error: extraneous input ''x'' expecting <EOF>"),
    ("true ? 1", 9, "Syntax error: mismatched input '<EOF>' expecting ':'"),
    ("[1", 3, "Syntax error: mismatched input '<EOF>' expecting {']', ','}"),
    ("[1 2]", 4, "Syntax error: extraneous input '2' expecting {']', ','}"),
    ("[1,", 4, "Syntax error: missing ']' at '<EOF>'"),
    ("{'a' 1}", 6, "Syntax error: missing ':' at '1'"),
    ("size(self.items,)", 17, f"Syntax error: mismatched input ')' expecting {OPERANDS}"),
    ("self..name", 6, "Syntax error: no viable alternative at input '..'"),
    ("'a\\qb'", 1, "Syntax error: token recognition error at: ''a\\q'"),
    ("'''abc", 3, "Syntax error: token recognition error at: ''abc'"),
    ("self.`a-b` == 1", 5, "undefined field 'a-b'"),
    ("self.count == -9223372036854775809", 15, "invalid int literal"),
    ("true && 1", 9, "expected type 'bool' but found 'int'"),
    ("self.items.all(i, 1)", 19, "expected type 'bool' but found 'int'"),
    ("self.items.exists_one(i, 1)", 22, "found no matching overload for '_?_:_' applied to '(int, int, int)'"),
    ("self.items.map(i, 1, i.a) == []", 15, "found no matching overload for '_?_:_' applied to '(int, list(string), list(string))'"),
    ("self.name - nope == ''", 11, "found no matching overload for '_-_' applied to '(string, !error!)'"),
    ("duration(1) == duration('1s')", 9, "found no matching overload for 'duration' applied to '(int)'"),
    ("jsonpatch.escapeKey('a') == 'a'", 1, "undeclared reference to 'jsonpatch' (in container '')"),
    ("self.true == 1", 6, "Syntax error: mismatched input 'true' expecting IDENTIFIER"),
    ("for", 1, "reserved identifier: for"),
    ("duration('1 day') == duration('1h')", 10, "invalid duration argument"),
    ("timestamp('yesterday') == timestamp('now')", 11, "invalid timestamp argument"),
    ("self.name.matches('(')", 19, "invalid matches argument"),
    ("'%s %s'.format([1]) == ''", 15, "index 1 out of range"),
    ("'%s'.format([1, 2]) == ''", 12, "too many arguments supplied to string.format (expected 1, got 2)"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "column", "message"), REFUSED, ids=[case[0] for case in REFUSED])
def test_refusal_says_where_and_why(expression: str, column: int, message: str | None) -> None:
    with pytest.raises(CompileError) as caught:
        with_schema(SCHEMA).compile(expression)
    first, _, rest = str(caught.value).partition("\n")
    assert first.startswith(f"compilation failed: ERROR: <input>:1:{column}: ")
    if message is not None:
        assert first == f"compilation failed: ERROR: <input>:1:{column}: {message}"
        assert rest.startswith(f" | {expression}\n | {'.' * (column - 1)}^")


def test_all_type_errors_are_listed_in_order() -> None:
    with pytest.raises(CompileError) as caught:
        compiled("a == 1 && b == 2")
    assert str(caught.value) == (
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n"
        " | a == 1 && b == 2\n"
        " | ^\n"
        "ERROR: <input>:1:11: undeclared reference to 'b' (in container '')\n"
        " | a == 1 && b == 2\n"
        " | ..........^"
    )


def test_errors_on_a_later_line_show_that_line() -> None:
    with pytest.raises(
        CompileError, match=r"<input>:2:3: undeclared reference to 'a'.*\n \|   a\n \| \.\.\^"
    ):
        compiled("1 ==\n  a")


def test_result_must_be_of_a_type_asked_for() -> None:
    environment = with_schema(SCHEMA)
    assert environment.compile("self.count > 1", returns=(BOOL,)).result_type == BOOL
    with pytest.raises(ResultTypeError, match=r"^must evaluate to bool$"):
        environment.compile("self.count", returns=(BOOL,))
    with pytest.raises(ResultTypeError, match=r"^must evaluate to one of \[bool string\]$"):
        environment.compile("self.count", returns=(BOOL, STRING))
    with pytest.raises(ResultTypeError):
        compiled("x").__class__ and with_schema(SCHEMA).compile("dyn(self.name)", returns=(STRING,))


def test_program_tells_which_variables_it_reads() -> None:
    environment = with_schema(SCHEMA)
    assert environment.compile("self.count > oldSelf.count").reads == {"self", "oldSelf"}
    assert environment.compile("self.items.all(oldSelf, oldSelf.a == '')").reads == {"self"}


def test_mixed_lists_are_for_format_only() -> None:
    assert compiled("'%s-%d'.format(['a', 1])").evaluate({}) == "a-1"


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 300 + "1" + ")" * 300,
        "1" + " + 1" * 400,
        "x" + ".a" * 400,
        "!" * 3 + "[" * 260 + "]" * 260,
        "a" * 100_001,
    ],
    ids=["parentheses", "sum", "path", "lists", "length"],
)
def test_too_deep_or_long_expressions_are_refused(expression: str) -> None:
    with pytest.raises(CompileError, match="limit"):
        compiled(expression)


def test_long_conjunctions_are_not_deep() -> None:
    assert compiled(" && ".join(["x == 1"] * 1000)).evaluate({"x": 1}) is True


def test_literal_patterns_of_find_are_checked_when_compiled() -> None:
    with pytest.raises(
        CompileError, match=r"^program instantiation failed: error parsing regexp: unexpected \): `\)`$"
    ):
        compiled("'a'.find(')')")


@pytest.mark.parametrize(
    ("expression", "messages"),
    [
        ("in", ["1:1: Syntax error: mismatched input 'in'", "1:3: Syntax error: mismatched input '<EOF>'"]),
        (
            "/* x */ true",
            [
                "1:1: Syntax error: mismatched input '/'",
                "1:2: Syntax error: extraneous input '*'",
                "1:7: Syntax error: extraneous input '/'",
            ],
        ),
        (
            "x.all(i i == 'a')",
            ["1:9: Syntax error: mismatched input 'i'", "1:17: Syntax error: extraneous input ')'"],
        ),
        (
            "let y = 1",
            [
                "1:1: reserved identifier: let",
                "1:5: Syntax error: mismatched input 'y'",
                "1:7: Syntax error: token recognition error at: '= '",
            ],
        ),
        ("x === 'a'", ["1:5: Syntax error: token recognition error at: '= '"]),
    ],
)
def test_reading_goes_on_behind_a_syntax_error(expression: str, messages: list[str]) -> None:
    with pytest.raises(CompileError) as caught:
        compiled(expression)
    lines = [line for line in str(caught.value).split("\n") if "<input>:" in line]
    assert [
        line.partition("<input>:")[2][: len(text)] for line, text in zip(lines, messages, strict=True)
    ] == (messages)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("bool('x')", "type conversion error from 'string' to 'bool'"),
        ("uint(-1) == 1u", "unsigned integer overflow"),
        ("x.find('(') == ''", "error parsing regexp: missing closing ): `(`"),
    ],
)
def test_what_is_known_to_fail_is_refused(expression: str, why: str) -> None:
    with pytest.raises(CompileError) as caught:
        compiled(expression)
    assert str(caught.value) == f"program instantiation failed: {why}"
