"""CEL (Common Expression Language) as in Kubernetes: CRD validation rules, admission policies, match
conditions.

    variables = {"self": declare(schema)}
    rule = Environment(variables).compile("self.replicas <= self.max", returns=(BOOL,))
    rule.evaluate({"self": spec}, budget)

The language, its type checker, its cost model and kube-apiserver's libraries are implemented here, in Python.
An evaluator in C++ exists (`cel-expr-python`) but has no types from schemas, no budget to stop a hostile rule
by, no sets, lists or two-variable macros, and pays more for handing an object over than a rule costs here. It
remains the judge in tests: both must agree on the language proper.

How an expression goes: `lexer` → `parser` (with `macros`) → `syntax` tree → `checker` (types, overloads;
functions from `library`) → `planner`, `operators` and `loops` (closures) → `Program.evaluate`. Beside it:
`declarations` (schemas as types and JSON as values), `estimate` (the most a rule can cost).

**Cost.** No rule and no object can hold up the server. Four limits apply:

1. `Program.estimate` bounds the cost by the sizes a schema allows. A definition whose rules pass the limits
   in `limits` is refused before it is stored.
2. Every evaluation has a budget, in the units of kube-apiserver, and counts what it does: by basic block for
   what is certain, at the call for what depends on values. Work that grows with values is charged *before*
   it is done, so a string that would be too long is never made. Where cel-go is cheap by sharing or by
   looking away (adding lists, comparing deep trees, the text that `format` makes) what we really do is
   charged on top, beyond an allowance that keeps the costs of ordinary rules the same.
3. Regular expressions run in linear time and have a bound of steps of their own (`regex`).

4. What a request evaluates on the event loop is bounded much tighter; the rest happens in a thread
   (`loop_budget`, `worker_thread`).

The depth of an expression is bounded by the parser; values are as deep as the decoder let them be.

Must not know: where rules come from, HTTP, storage. Programs are immutable and may run in both threads.
"""

from __future__ import annotations

from steersman.cluster.cel.admission import admission_variables, compile_admission
from steersman.cluster.cel.bounds import Bounds
from steersman.cluster.cel.builtins import declare_builtin
from steersman.cluster.cel.declarations import (
    DYN_DECLARATION,
    Declaration,
    declare,
    declare_fields,
    optional_declaration,
    simple,
)
from steersman.cluster.cel.errors import (
    BudgetExceeded,
    CelError,
    CompileError,
    EvaluationError,
    InstantiationError,
    ResultTypeError,
)
from steersman.cluster.cel.escaping import escape, unescape
from steersman.cluster.cel.library.authorization import (
    AccessQuestion,
    AuthorizerValue,
    CheckResult,
    ResourceCheck,
)
from steersman.cluster.cel.limits import Budget
from steersman.cluster.cel.loop_budget import evaluated, run_within_loop_budget
from steersman.cluster.cel.program import Environment, Program
from steersman.cluster.cel.types import BOOL, DYN, INT, NULL, STRING, Type
from steersman.cluster.cel.values import NONE, LazyMap, Optional
from steersman.cluster.cel.worker_thread import in_worker_thread, on_loop

__all__ = [
    "BOOL",
    "DYN",
    "DYN_DECLARATION",
    "INT",
    "NONE",
    "NULL",
    "STRING",
    "AccessQuestion",
    "AuthorizerValue",
    "Bounds",
    "Budget",
    "BudgetExceeded",
    "CelError",
    "CheckResult",
    "CompileError",
    "Declaration",
    "Environment",
    "EvaluationError",
    "InstantiationError",
    "LazyMap",
    "Optional",
    "Program",
    "ResourceCheck",
    "ResultTypeError",
    "Type",
    "admission_variables",
    "compile_admission",
    "declare",
    "declare_builtin",
    "declare_fields",
    "escape",
    "evaluated",
    "in_worker_thread",
    "on_loop",
    "optional_declaration",
    "run_within_loop_budget",
    "simple",
    "unescape",
]
