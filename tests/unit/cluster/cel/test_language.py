"""The language proper; Google's implementation in C++ is the judge where it is installed."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from steersman.cluster.cel import CelError, EvaluationError
from steersman.cluster.cel.values import Duration, Uint
from tests.unit.cluster.cel.expressions import evaluate

VALUES: list[tuple[str, Any]] = [
    ("1 + 2 * 3", 7),
    ("(1 + 2) * 3", 9),
    ("-7 / 2", -3),
    ("-7 % 3", -1),
    ("7 % -3", 1),
    ("2u + 3u == 5u", True),
    ("1.5 + 1.5", 3.0),
    ("1.0 / 0.0 > 1e308", True),
    ("'a' + 'b'", "ab"),
    ("b'a' + b'b'", b"ab"),
    ("[1] + [2, 3]", [1, 2, 3]),
    ("{'a': 1}.a", 1),
    ("{'a': 1}['a']", 1),
    ("[1, 2, 3][1]", 2),
    ("1 < 2 && 'a' < 'b' && 1.0 < 2.0", True),
    ("1 < 1.5 && 2u > 1 && 1.5 < 2u", True),
    ("dyn(1) == 1.0", True),
    ("dyn(1) == 'a'", False),
    ("dyn(true) == 1", False),
    ("dyn([1]) == [1.0]", True),
    ("2 in [1, 2]", True),
    ("'b' in {'a': 1}", False),
    ("true ? 1 : 2", 1),
    ("!false && !!true", True),
    ("false && (1 / 0 > 0)", False),
    ("(1 / 0 > 0) && false", False),
    ("true || (1 / 0 > 0)", True),
    ("(1 / 0 > 0) || true", True),
    ("size('äöü') == 3 && size(b'\\x01') == 1 && size([1]) == 1 && {'a': 1}.size() == 1", True),
    ("'abc'.startsWith('ab') && 'abc'.endsWith('bc') && 'abc'.contains('b')", True),
    ("'abc'.matches('^a.c$') && !matches('abc', '^b')", True),
    ("[1, 2, 3].all(i, i > 0)", True),
    ("[1, 2, 3].exists(i, i > 2)", True),
    ("[1, 2, 3].exists_one(i, i > 2)", True),
    ("[1, 2, 3].map(i, i * 2)", [2, 4, 6]),
    ("[1, 2, 3].map(i, i > 1, i * 2)", [4, 6]),
    ("[1, 2, 3].filter(i, i % 2 == 1)", [1, 3]),
    ("{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])", True),
    ("[[1], [2, 3]].all(l, l.exists(i, i > 0))", True),
    ("[1, 0].exists(i, 1 / i > 0)", True),
    ("has({'a': 1}.a) && !has({'a': 1}.b)", True),
    ("int('42') + int(1.9) + int(3u)", 46),
    ("string(1) + string(1.5) + string(true) + string(2u)", "11.5true2"),
    ("double('1.5') + double(1)", 2.5),
    ("string(b'abc')", "abc"),
    ("bool('true')", True),
    ("type(1) == int && type('') == string && type([]) == list && type(int) == type", True),
    ("timestamp('2020-01-02T03:04:05Z').getFullYear()", 2020),
    ("timestamp('2020-01-02T03:04:05Z').getDayOfWeek()", 4),
    ("timestamp('2020-01-02T03:04:05Z').getHours('+02:00')", 5),
    ("timestamp('2020-01-02T00:00:00Z') - timestamp('2020-01-01T00:00:00Z') == duration('24h')", True),
    ("duration('90m').getHours()", 1),
    ("string(duration('1h1.5s'))", "3601.5s"),
    ("string(timestamp('2020-01-02T03:04:05.5Z'))", "2020-01-02T03:04:05.5Z"),
    ("r'\\d' == '\\\\d' && '\\u00e4' == 'ä' && '''a\nb''' == 'a\\nb'", True),
    ("0x1F == 31 && 1e3 == 1000.0 && -1 == 0 - 1", True),
    ("optional.of(1).hasValue() && !optional.none().hasValue()", True),
    ("{'a': 1}.?b.orValue(7)", 7),
    ("{'a': {'b': 2}}.?a.?b.orValue(7)", 2),
    ("optional.of(2).optMap(v, v * 2).value()", 4),
    ("{'a': 1}[?'a'].or(optional.of(9)).value()", 1),
    ("[?optional.none(), ?optional.of(1)]", [1]),
    ("{?'a': optional.none(), 'b': 1}", {"b": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "value"), VALUES, ids=[expression for expression, _ in VALUES])
def test_value_of_an_expression(expression: str, value: Any) -> None:
    found = evaluate(expression)
    assert found == value
    assert type(found) is type(value)


FAILURES = [
    ("1 / 0", "division by zero"),
    ("1 % 0", "modulus by zero"),
    ("9223372036854775807 + 1", "integer overflow"),
    ("-9223372036854775808 - 1", "integer overflow"),
    ("0u - 1u", "unsigned integer overflow"),
    ("{'a': 1}.b", "no such key: b"),
    ("{'a': 1}['b']", "no such key: b"),
    ("[1][2]", "index out of bounds: 2"),
    ("[1][-1]", "index out of bounds: -1"),
    ("x.a", "no such key: a"),
    ("dyn([1]).a", "unsupported index type 'string' in list"),
    ("x + 'a'", "no such overload"),
    ("int('a' + '')", "type conversion error from 'string' to 'int'"),
    ("timestamp('a' + '')", "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
    ("optional.none().value()", "optional.none() dereference"),
    ("[0, 1].all(i, 2 / i > 0)", "division by zero"),
    ("(1 / 0 > 0) || false", "division by zero"),
    ("x && true", "no such overload"),
    ("x.startsWith('a')", "no such overload"),
    ("size(x)", "no such overload: size"),
    ("bool(x)", "no such overload: bool(int)"),
    ("x.lowerAscii()", "no such overload: lowerAscii(int)"),
    ("'a'.indexOf(dyn(5))", "no such overload: indexOf(string, int)"),
    ("duration(dyn(null))", "no such overload: duration(null_type)"),
    ("x.all(i, true)", "got 'types.Int', expected iterable type"),
    ("dyn('a').map(i, i)", "got 'types.String', expected iterable type"),
    ("[1, 2][dyn('a')]", "unsupported index type 'string' in list"),
]


@pytest.mark.parametrize(("expression", "message"), FAILURES, ids=[expression for expression, _ in FAILURES])
def test_evaluation_error(expression: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(expression, x=1)
    assert str(caught.value) == message


#: Where Go and C++ differ: C++ writes milliseconds, and compares numbers of two types only when dynamic.
GO_ONLY = {
    "1 < 1.5 && 2u > 1 && 1.5 < 2u",
    "string(duration('1h1.5s'))",
    "string(timestamp('2020-01-02T03:04:05.5Z'))",
}


@pytest.mark.parametrize("expression", [expression for expression, _ in VALUES if expression not in GO_ONLY])
def test_googles_implementation_agrees(expression: str) -> None:
    cel = pytest.importorskip("cel_expr_python.cel")
    optional = importlib.import_module("cel_expr_python.ext.ext_optional")
    env = cel.NewEnv(
        variables={"x": cel.Type.DYN, "y": cel.Type.DYN},
        extensions=[optional.ExtOptional()],
    )
    theirs = env.compile(expression).eval(data={"x": 1, "y": 1}).plain_value()
    assert theirs == evaluate(expression)


def test_two_variable_macros_see_index_and_value() -> None:
    assert evaluate("[5, 6].all(i, v, v == i + 5)") is True
    assert evaluate("{'a': 1}.exists(k, v, k == 'a' && v == 1)") is True
    assert evaluate("[5, 6].existsOne(i, v, i == 1)") is True
    assert evaluate("[5, 6].transformList(i, v, i * v)") == [0, 6]
    assert evaluate("[5, 6].transformList(i, v, i > 0, v)") == [6]
    assert evaluate("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 2)") == {"b": 4}
    assert evaluate("['a', 'b'].transformMapEntry(i, v, {v: i})") == {"a": 0, "b": 1}


def test_values_of_hostile_types_never_escape_as_python_errors() -> None:
    for expression in (
        "x < y",
        "x + y",
        "x[y]",
        "x.a.b",
        "x.all(i, i)",
        "x.startsWith(y)",
        "-x",
        "y in x",
        "x ? 1 : 2",
    ):
        for x, y in ((None, 1), ([], {}), ({}, []), ("a", None), (1.5, "a"), (True, 1)):
            try:
                evaluate(expression, x=x, y=y)
            except CelError:
                continue


def test_uint_and_duration_keep_their_types() -> None:
    assert type(evaluate("1u + 1u")) is Uint
    assert evaluate("duration('1s') + duration('1s')") == Duration(2 * 10**9)
