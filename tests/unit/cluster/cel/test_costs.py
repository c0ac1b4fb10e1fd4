"""Costs: what rules are charged, how they are estimated, and that no bomb goes off."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

from steersman.cluster.cel import Budget, BudgetExceeded, EvaluationError
from steersman.cluster.cel.limits import CALL_LIMIT, ESTIMATE_LIMIT, cost_error, repeated_cost
from tests.unit.cluster.cel.expressions import compiled, with_schema

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "name": {"type": "string"},
        "short": {"type": "string", "maxLength": 10},
        "list": {"type": "array", "items": {"type": "integer"}},
        "few": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 5}},
    },
}

#: Taken from what kube-apiserver promises to keep stable.
CHARGED = [
    ("x == 1", 2),
    ("x + 1 == 2", 3),
    ("type(x) == int", 3),
    ("double(5) < 10.0", 1),
    ("[1, 2] == [1, 2]", 1),
    ("[1, 2].all(i, i > 0)", 11),
    ("[1, 2].exists(i, i == 1)", 10),
    ("[1, 2].map(i, i + 1).size() == 2", 31),
    ("'abc'.matches('^[a-z]*$')", 2),
    ("quantity('1Gi').isInteger()", 2),
    ("lists.range(4) == [0, 1, 2, 3]", 16),
]


@pytest.mark.parametrize(("expression", "cost"), CHARGED, ids=[case[0] for case in CHARGED])
def test_evaluation_is_charged(expression: str, cost: int) -> None:
    assert compiled(expression).cost({"x": 1}) == cost


ESTIMATED = [
    ("self.count > 1", 3),
    ("self.short == 'a'", 3),
    ("self.name.contains('a')", 314575),
    ("self.few.all(i, i == 'a')", 2 + 1 + 10 * 5),
    ("self.list.all(i, i > 1)", 2 + 1 + 5 * ((3 * 1024 * 1024 - 2) // 2)),
    ("self.list.all(i, self.list.all(j, i < j))", None),
]


@pytest.mark.parametrize(("rule", "most"), ESTIMATED, ids=[case[0] for case in ESTIMATED])
def test_estimate_follows_the_bounds_of_the_schema(rule: str, most: int | None) -> None:
    found = with_schema(SCHEMA).compile(rule).estimate.most
    if most is None:
        assert found > 100 * ESTIMATE_LIMIT
    else:
        assert found == most


def test_refused_estimates_say_how_far_over_they_are() -> None:
    advice = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    assert cost_error("estimated rule cost", 10**10, 10**7) == (
        f"estimated rule cost exceeds budget by factor of more than 100x {advice}"
    )
    assert "factor of 2.5x (" in cost_error("estimated rule cost", 25, 10)
    assert "factor of 1.100000x (" in cost_error("estimated rule cost", 11, 10)
    assert repeated_cost(2**63, 4) == 2**64 - 1


#: Generous: the machine may be slow and busy. Unbounded, each of these would take hours or all memory.
_SOON_S = 3.0
BIG = list(range(20_000))
TEXT = "a" * 1_000_000
DEEP = [[[[i] for i in range(10)] for _ in range(10)] for _ in range(50)]

BOMBS: list[tuple[str, Any]] = [
    ("x.all(a, x.all(b, x.all(c, a + b + c >= 0)))", BIG),
    ("x.map(a, x.map(b, [a, b]))", BIG),
    ("x.map(a, x).flatten().map(a, x).flatten()", BIG),
    ("x.map(a, x + x)", BIG),
    ("lists.range(1000000000)", None),
    ("lists.range(90000).map(i, x).join('')", TEXT),
    ("lists.range(90000).map(i, x + x)", TEXT),
    ("x.replace('', x)", TEXT),
    ("lists.range(90000).all(i, '%s'.format([x]) != '')", BIG),
    ("lists.range(90000).all(i, x == y)", DEEP),
    ("x.distinct()", BIG),
    ("x.sort() == x.reverse()", BIG),
    ("sets.contains(x, x)", BIG),
    ("lists.range(90000).all(i, isURL(x))", "http://a/" + "a" * 1_000_000),
    ("[url(x)].map(u, lists.range(80000).map(i, u.getQuery()))", "http://a/?" + "a=b&" * 100_000),
    ("lists.range(90000).all(i, x.matches('(a|aa)+$'))", TEXT),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "value"), BOMBS, ids=[case[0] for case in BOMBS])
def test_bombs_are_stopped_soon(expression: str, value: Any) -> None:
    program = compiled(expression)
    other = [[[[i] for i in range(10)] for _ in range(10)] for _ in range(50)]
    started = time.process_time()
    with pytest.raises(BudgetExceeded):
        program.evaluate({"x": value, "y": other})
    assert time.process_time() - started < _SOON_S


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("x.matches('^(a+)+$')", "a" * 5_000 + "b"),
        ("x.matches('(a|b)*a(a|b){12}c')", "ab" * 50_000),
        ("x.find('(a*)*(a*)*b') == ''", "a" * 200_000),
        ("x.findAll('a*?b') == []", "a" * 200_000),
        ("x.matches('(?:a?){500}a{500}')", "a" * 500),
    ],
)
def test_patterns_that_make_others_backtrack_do_not_take_long(expression: str, text: str) -> None:
    program = compiled(expression)
    started = time.process_time()
    with contextlib.suppress(BudgetExceeded):
        assert isinstance(program.evaluate({"x": text}), bool)
    assert time.process_time() - started < _SOON_S


def test_texts_too_long_to_convert_are_refused_at_once() -> None:
    with pytest.raises(
        EvaluationError, match=r"type conversion error from 'string' to 'google.protobuf.Duration'"
    ):
        compiled("duration(x)").evaluate({"x": "1s" * 100_000})


def test_budget_is_shared_by_evaluations() -> None:
    program = compiled("x.all(i, i >= 0)")
    budget = Budget(1_000)
    program.evaluate({"x": list(range(100))}, budget)
    assert budget.remaining == 1_000 - program.cost({"x": list(range(100))})
    with pytest.raises(BudgetExceeded) as caught:
        program.evaluate({"x": list(range(200))}, budget)
    assert caught.value.overall
    assert budget.remaining <= 0


def test_limit_of_a_call_leaves_the_rest_of_the_budget() -> None:
    budget = Budget()
    with pytest.raises(BudgetExceeded) as caught:
        compiled("x.all(a, x.all(b, a + b >= 0))").evaluate({"x": BIG}, budget)
    assert not caught.value.overall
    assert budget.remaining == Budget().remaining - CALL_LIMIT


def test_running_out_of_budget_is_not_absorbed() -> None:
    with pytest.raises(BudgetExceeded):
        compiled("x.all(a, x.all(b, a + b >= 0)) || true").evaluate({"x": BIG})
