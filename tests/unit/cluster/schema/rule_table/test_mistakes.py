"""What cannot be compiled is refused when Steersman is built, with the number of the line in rules.txt."""

from __future__ import annotations

import pytest

from steersman.cluster.schema.rule_table.building import compile_rules
from steersman.cluster.schema.rule_table.reading import RuleError
from steersman.cluster.schema.table import table_file

MISTAKES = {
    "no section": ("LeaseSpec", r"line 1: a section \[package\] must come first"),
    "no type": ("[coordination.v1]\n  strategy  required", "line 2: a type must come before its fields"),
    "unknown type": (
        "[coordination.v1]\nLeaseSpecs\n  a  required",
        "line 2: there is no type coordination.v1.Lea",
    ),
    "unknown field": (
        "[coordination.v1]\nLeaseSpec\n  strategies  required",
        "line 3: .*has no field strategies",
    ),
    "unknown field in a condition": (
        '[coordination.v1]\nLeaseSpec\n  strategy  invalid "x" when a is set',
        "line 3: .*has no field a",
    ),
    "unknown rule": ("[coordination.v1]\nLeaseSpec\n  strategy  needed", "line 3: unknown rule 'needed'"),
    "unknown suffix": (
        "[coordination.v1]\nLeaseSpec\n  strategy  required if",
        "line 3: 'if' does not belong to 'required'",
    ),
    "unknown option": ("[coordination.v1]\nLease: quickly", "line 2: unknown option 'quickly'"),
    "unknown format": (
        "[coordination.v1]\nLeaseSpec\n  strategy  format odd",
        "line 3: there is no format odd",
    ),
    "unknown function": (
        "[coordination.v1 coordination]\nLeaseSpec\n  strategy  @odd",
        "line 3: there is no function odd in validation/coordination.py",
    ),
    "unknown block": ("[core.v1]\nPod\n  spec  > PodSpec", "line 3: there are no rules for PodSpec"),
    "another type": ("[core.v1]\nPod\n  spec  > Pod", "line 3: spec is a PodSpec"),
    "a block twice": (
        "[coordination.v1]\nLeaseSpec\n  strategy  required\nLeaseSpec\n  strategy  required",
        "line 4: LeaseSpec .*second time",
    ),
    "a block without rules": ("[coordination.v1]\nLeaseSpec", "line 2: LeaseSpec has no rules"),
    "a field without rules": ("[coordination.v1]\nLeaseSpec\n  strategy", "line 3: strategy has no rules"),
    "no number": (
        "[coordination.v1]\nLeaseSpec\n  leaseTransitions  length few",
        "line 3: 'few' is not a number",
    ),
    "no text": ("[coordination.v1]\nLeaseSpec\n  strategy  invalid", "line 3: invalid needs a text"),
    "a quote that does not end": (
        '[coordination.v1]\nLeaseSpec\n  strategy  invalid "a',
        "line 3: .*a quote is missing",
    ),
    "no condition": (
        '[coordination.v1]\nLeaseSpec\n  .  invalid "a"',
        "line 3: of the object itself a rule needs a condition",
    ),
    "half a condition": (
        '[coordination.v1]\nLeaseSpec\n  .  invalid "a" when strategy',
        "line 3: a condition is",
    ),
    "values that are in enums.txt": (
        "[core.v1]\nServicePort\n  protocol  enum SCTP|TCP|UDP",
        "line 3: enums.txt has the values of protocol already",
    ),
    "no values in enums.txt": (
        "[coordination.v1]\nLeaseSpec\n  strategy  enum",
        "line 3: enums.txt has no values for strategy",
    ),
}


@pytest.mark.parametrize(("text", "problem"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_by_its_line(text: str, problem: str) -> None:
    with pytest.raises(RuleError, match=problem):
        compile_rules(text, table_file())


def test_a_line_may_be_continued_and_commented() -> None:
    text = '# why\n[coordination.v1]\nLeaseSpec\n  # because\n  strategy  required\n       "a \\"b\\""'
    [source] = [each for name, each in compile_rules(text, table_file()).items() if name != "_index"]
    assert 'required(path.child("strategy"), \'a "b"\')' in source
