"""Validation rules run along an object: which run, what they may cost, and what is said when one fails.

Transition rules run only where an old value corresponds. All rules of an object share one budget. What
fails but did not change since the last write is a warning, unless the rule is about the change.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

from steersman.cluster.cel.limits import MESSAGE_SIZE_LIMIT, VALIDATION_BUDGET
from steersman.cluster.schema.structural.correlation import Correlated, MapList
from steersman.cluster.schema.structural.errors import RuleEvaluationError
from steersman.cluster.schema.structural.explain import named
from steersman.cluster.schema.structural.rules import CompiledRule, Program, RuleTree
from steersman.cluster.schema.validation.rules import ValuelessError
from steersman.objects.fields import FieldError, Path, duplicate, forbidden, invalid, quote, required

__all__ = ["Findings", "evaluate"]

_NO_MORE: Final = "no further validation rules will be run"
_UNTYPED: Final = "rule compiler initialization error: failed to convert to declType for CEL validation rules"
_NO_OVERLOAD: Final = (
    "call arguments did not match a supported operator, function or macro signature for rule"
)


class Findings(NamedTuple):
    errors: list[FieldError]
    #: What is wrong, but was before.
    warnings: list[str]
    #: What is left of the budget; nothing when rules had to stop.
    budget: int


def evaluate(
    tree: RuleTree,
    value: Any,
    old: Any = None,
    *,
    path: Path | None = None,
    correlated: Correlated | None = None,
    budget: int = VALIDATION_BUDGET,
) -> Findings:
    """What the rules say about a value and the one it replaces."""
    run = _Run(budget)
    with contextlib.suppress(_Spent):
        run.visit(tree, value, old, _Place(path or Path(), correlated))
    return Findings(run.errors, run.warnings, run.budget)


class _Spent(Exception):
    """No rule may run any more."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A value's path and what it is compared with, for telling whether it changed."""

    path: Path
    current: Correlated | None = None
    parent: Correlated | None = None

    @property
    def unchanged(self) -> bool:
        compared = self.current or self.parent
        return compared is not None and compared.unchanged

    def key(self, path: Path, key: str) -> _Place:
        if self.current is None:
            return _Place(path, None, self.parent)
        if self.parent is None and key in ("apiVersion", "kind"):
            return _Place(path)
        return _Place(path, self.current.key(key), self.current)

    def index(self, index: int) -> _Place:
        path = self.path.index(index)
        if self.current is None:
            return _Place(path, None, self.parent)
        return _Place(path, self.current.index(index), self.current)


@dataclass(frozen=True, slots=True)
class _Call:
    """One rule about to judge one value."""

    compiled: CompiledRule
    program: Program
    kind: str
    value: Any
    old: Any
    place: _Place

    @property
    def path(self) -> Path:
        """Where the rule says the fault is."""
        shown = self.compiled.field_path
        return self.place.path.child(shown) if shown else named(self.place.path)

    def failure(self, detail: str) -> FieldError:
        """The error of a rule that does not hold, by its reason."""
        omitted = self.kind in ("object", "array")
        match self.compiled.rule.get("reason"):
            case "FieldValueForbidden":
                return forbidden(self.path, detail)
            case "FieldValueRequired":
                return required(self.path, detail)
            case "FieldValueDuplicate":
                return _ValuelessDuplicate(self.path) if omitted else duplicate(self.path, self.value)
        return ValuelessError(self.path, detail) if omitted else invalid(self.path, self.value, detail)


class _ValuelessDuplicate(FieldError):
    """A duplicate too large to be shown."""

    __slots__ = ()

    def __init__(self, path: Path) -> None:
        super().__init__("FieldValueDuplicate", str(path))

    @property
    def message(self) -> str:
        return "Duplicate value"


class _Run:
    """One evaluation of all rules, with the budget they share."""

    def __init__(self, budget: int) -> None:
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []
        self.budget = budget

    def visit(self, tree: RuleTree, value: Any, old: Any, place: _Place) -> None:
        if value is None:
            return
        self._judge(tree, value, old, place)
        if isinstance(value, list):
            if tree.items is not None:
                earlier = MapList(tree.node, old)
                for index, item in enumerate(value):
                    self.visit(tree.items, item, earlier.get(item), place.index(index))
        elif isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            if tree.values is not None:
                for key, item in value.items():
                    self.visit(tree.values, item, before.get(key), place.key(place.path.key(key), key))
            for key, child in tree.properties.items():
                if key in value:
                    self.visit(child, value[key], before.get(key), place.key(place.path.child(key), key))

    def _judge(self, tree: RuleTree, value: Any, old: Any, place: _Place) -> None:
        kind = tree.node.type
        if tree.untyped:
            self.errors.append(invalid(named(place.path), kind, _UNTYPED))
        for compiled in tree.rules:
            if self.budget <= 0:
                self._stop(place, kind)
            if compiled.error:
                self.errors.append(invalid(named(place.path), kind, f"rule compile error: {compiled.error}"))
            elif compiled.program is not None:
                self._run(_Call(compiled, compiled.program, kind, value, old, place))

    def _run(self, call: _Call) -> None:
        rule, text = call.compiled.rule, call.compiled.text
        if call.program.uses_old_self and call.old is None and not rule.get("optionalOldSelf"):
            return
        at = named(call.place.path)
        try:
            outcome = call.program.evaluate(call.value, call.old)
        except RuleEvaluationError as error:
            self._spend(error.cost, call)
            if error.cost_exceeded:
                detail = f"'{error}': {_NO_MORE} due to call cost exceeds limit for rule: {text}"
                self.errors.append(invalid(at, call.kind, detail))
                self._end()
            overload = str(error).startswith("no such overload")
            detail = f"'{error}': {_NO_OVERLOAD}: {text}" if overload else f"{error} evaluating rule: {text}"
            self.errors.append(invalid(at, call.kind, detail))
            return
        self._spend(outcome.cost, call)
        if outcome.value is not True:
            self._report(call.failure(self._message(call)), call)

    def _report(self, error: FieldError, call: _Call) -> None:
        if not call.program.uses_old_self and call.place.unchanged:
            self.warnings.append(str(error))
        else:
            self.errors.append(error)

    def _message(self, call: _Call) -> str:
        """What a failed rule says: its expression's text, its message, or the rule itself."""
        rule, program = call.compiled.rule, call.compiled.message
        fallback = call.compiled.text if rule.get("message") else f"failed rule: {call.compiled.text}"
        if program is None:
            return fallback
        try:
            text, cost = program.evaluate(call.value, call.old)
        except RuleEvaluationError as error:
            text, cost = None, error.cost
            if error.cost_exceeded and cost <= self.budget:
                shown = quote(rule["messageExpression"])
                why = f"{_NO_MORE} due to call cost exceeds limit for messageExpression: {shown}"
                self._report(invalid(call.path, call.kind, why), call)
                self._end()
        if cost > self.budget:
            why = f"messageExpression evaluation failed due to running out of cost budget, {_NO_MORE}"
            self._report(invalid(call.path, call.kind, why), call)
            self._end()
        self.budget -= cost
        text = text.strip() if isinstance(text, str) else ""
        return text if text and "\n" not in text and len(text.encode()) <= MESSAGE_SIZE_LIMIT else fallback

    def _spend(self, cost: int, call: _Call) -> None:
        if cost > self.budget:
            self._stop(call.place, call.kind)
        self.budget -= cost

    def _stop(self, place: _Place, kind: str) -> NoReturn:
        why = f"validation failed due to running out of cost budget, {_NO_MORE}"
        self.errors.append(invalid(named(place.path), kind, why))
        self._end()

    def _end(self) -> NoReturn:
        self.budget = 0
        raise _Spent
