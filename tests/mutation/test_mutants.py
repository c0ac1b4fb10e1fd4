"""Which mutants are made of a piece of source."""

from __future__ import annotations

import ast

import pytest

from tests.mutation.mutants import mutants, sample


@pytest.mark.parametrize(
    ("source", "made"),
    [
        pytest.param("if a: b()", ["if not (a): b()"], id="a-condition-is-negated"),
        pytest.param("x = b if f(a) else c", ["x = b if not (f(a)) else c"], id="in-an-expression"),
        pytest.param("x = [a for a in b if f(a)]", ["x = [a for a in b if not (f(a))]"], id="in-a-loop"),
        pytest.param("if not a: b()", ["if (a): b()"], id="a-not-is-dropped"),
        pytest.param("x = a == 'é'; y()", ["x = (a != 'é'); y()"], id="equality-is-turned-round"),
        pytest.param("if a not in b: c()", ["if (a in b): c()"], id="a-comparison-once-only"),
        pytest.param("x = a and b or c", ["x = ((a and b) and (c))", "x = ((a) or (b)) or c"], id="and-or"),
        pytest.param("if (a := b) is None: c()", ["if ((a := b) is not None): c()"], id="assignment"),
        pytest.param(
            "x = (a or b) == (c or d)",
            [
                "x = ((a or b) != (c or d))",
                "x = (((a) and (b))) == (c or d)",
                "x = (a or b) == (((c) and (d)))",
            ],
            id="operands-keep-their-parentheses",
        ),
        pytest.param("x = a < b < c", [], id="a-chain-is-left-alone"),
        pytest.param("x = f'{a == b}'", [], id="an-f-string-is-left-alone"),
        pytest.param("if TYPE_CHECKING: import a", [], id="imports-for-types-are-left-alone"),
    ],
)
def test_the_mutants_of(source: str, made: list[str]) -> None:
    assert [mutant.source for mutant in mutants(source)] == made


def test_conditions_over_several_lines_stay_valid() -> None:
    source = "x = (\n    a == 1  # why\n    and b\n)\nif (\n    not x\n    or y\n):\n    z()\n"
    found = mutants(source)
    assert len(found) == 5
    for mutant in found:
        ast.parse(mutant.source)


def test_names_tell_the_function_and_are_unique() -> None:
    source = "class A:\n    def b(self):\n        if c: d()\n        if c: e()\n"
    assert [mutant.name for mutant in mutants(source)] == ["A.b: c -> not (c)", "A.b: c -> not (c) #2"]


def test_a_sample_does_not_change_by_edits_elsewhere() -> None:
    source = "".join(f"def f{number}():\n    if a{number}: b()\n" for number in range(9))
    before = [mutant.name for mutant in sample(source, 3)]
    assert len(before) == 3
    assert [mutant.name for mutant in sample("x = 1\n" + source, 3)] == before
