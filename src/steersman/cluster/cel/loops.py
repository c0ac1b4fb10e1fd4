"""Comprehensions: the loops that the macros `all`, `exists`, `map`, `filter` and others expand to.

Each round charges what the fold that cel-go expands the macro to would: reading the accumulator, testing it,
adding to it. Named constants below spell those sums out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from steersman.cluster.cel.errors import BudgetExceeded, EvaluationError
from steersman.cluster.cel.library.lists import sort_by_keys
from steersman.cluster.cel.runtime_types import go_type
from steersman.cluster.cel.syntax import Macro
from steersman.cluster.cel.values import Frame, charge, is_map

if TYPE_CHECKING:
    from steersman.cluster.cel.operators import Plan, Run

__all__ = ["plan_loop"]

#: `@not_strictly_false(@result)`; `exists` negates it as well.
_ALL_TEST: Final = 2
_EXISTS_TEST: Final = 3
#: `@result + [x]`: reading it, making a list, adding. A list of a literal is a literal.
_APPEND: Final = 12
_APPEND_LITERAL: Final = 2
#: `cel.@mapInsert(@result, key, x)`; the key is not named when `x` is a whole entry.
_INSERT: Final = 3
_INSERT_ENTRY: Final = 2
_MISMATCH: Final = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError)


def plan_loop(
    macro: Macro,
    over: Run,
    first: int,
    second: int,
    predicate: Plan | None,
    transform: Plan | None,
    *,
    fixed: bool,
) -> Plan:
    """The loop of a macro; `first` and `second` are its variables' places, 0 for none.

    `fixed`: what each round yields is a literal.
    """
    append = _APPEND_LITERAL if fixed else _APPEND
    rounds = _rounds(over, first, second)
    match macro:
        case "all":
            return _quantifier(rounds, predicate, False, _ALL_TEST), 1
        case "exists":
            return _quantifier(rounds, predicate, True, _EXISTS_TEST), 1
        case "exists_one":
            return _exists_one(rounds, predicate), 2
        case "filter":
            return _collect(rounds, predicate, (lambda frame: frame[first], 1), _APPEND), 1
        case "map" | "transformList":
            return _collect(rounds, predicate, transform, append), 1
        case "transformMap":
            return _collect_map(rounds, first, predicate, transform), 1
        case "transformMapEntry":
            return _collect_entries(rounds, predicate, transform), 1
        case "sortBy":
            return _sort(over, first, transform), 3


def _rounds(over: Run, first: int, second: int) -> Callable[[Frame], Iterator[None]]:
    """Steps through the range, putting each element where the loop's variables are."""

    def rounds(frame: Frame) -> Iterator[None]:
        ranged = over(frame)
        if isinstance(ranged, list):
            if second:
                for index, value in enumerate(ranged):
                    frame[first], frame[second] = index, value
                    yield
            else:
                for value in ranged:
                    frame[first] = value
                    yield
        elif is_map(ranged):
            for key in ranged:
                frame[first] = key
                if second:
                    frame[second] = ranged[key]
                yield
        else:
            raise EvaluationError(f"got '{go_type(ranged)}', expected iterable type")

    return rounds


def _given(made: Plan | None) -> Plan:
    assert made is not None, "the parser gives every macro what it needs"
    return made


def _quantifier(
    rounds: Callable[[Frame], Iterator[None]], predicate: Plan | None, decisive: bool, test: int
) -> Run:
    condition, cost = _given(predicate)
    cost += test + 1

    def run(frame: Frame) -> Any:
        failure: EvaluationError | None = None
        decided = False
        for _ in rounds(frame):
            if decided:
                # The fold finds out that it is done when it would begin another round.
                charge(frame, test)
                return decisive
            frame[0] -= cost
            if frame[0] < 0:
                raise BudgetExceeded
            try:
                value = condition(frame)
            except BudgetExceeded:
                raise
            except EvaluationError as error:
                failure = failure or error
                continue
            except _MISMATCH:
                failure = failure or EvaluationError("no such overload")
                continue
            if value is decisive:
                decided = True
            elif type(value) is not bool:
                failure = failure or EvaluationError("no such overload")
        if decided:
            return decisive
        if failure is not None:
            raise failure
        return not decisive

    return run


def _passes(predicate: Plan | None) -> tuple[Run, int]:
    """A filter that says yes or no, and nothing else."""
    if predicate is None:
        return lambda _frame: True, 0
    condition, cost = predicate

    def run(frame: Frame) -> Any:
        value = condition(frame)
        if type(value) is not bool:
            raise EvaluationError("no such overload")
        return value

    return run, cost


def _exists_one(rounds: Callable[[Frame], Iterator[None]], predicate: Plan | None) -> Run:
    condition, cost = _passes(_given(predicate))

    def run(frame: Frame) -> Any:
        count = 0
        for _ in rounds(frame):
            charge(frame, cost)
            if condition(frame):
                charge(frame, 2)
                count += 1
        return count == 1

    return run


def _collect(
    rounds: Callable[[Frame], Iterator[None]], predicate: Plan | None, transform: Plan | None, append: int
) -> Run:
    make, make_cost = _given(transform)
    make_cost += append
    if predicate is None:

        def collect(frame: Frame) -> Any:
            made = []
            for _ in rounds(frame):
                frame[0] -= make_cost
                if frame[0] < 0:
                    raise BudgetExceeded
                made.append(make(frame))
            return made

        return collect
    condition, cost = _passes(predicate)

    def select(frame: Frame) -> Any:
        made = []
        for _ in rounds(frame):
            charge(frame, cost)
            if condition(frame):
                charge(frame, make_cost)
                made.append(make(frame))
        return made

    return select


def _collect_map(
    rounds: Callable[[Frame], Iterator[None]], first: int, predicate: Plan | None, transform: Plan | None
) -> Run:
    make, make_cost = _given(transform)
    condition, cost = _passes(predicate)

    def run(frame: Frame) -> Any:
        made: dict[Any, Any] = {}
        for _ in rounds(frame):
            charge(frame, cost)
            if condition(frame):
                charge(frame, make_cost + _INSERT)
                made[frame[first]] = make(frame)
        return made

    return run


def _collect_entries(
    rounds: Callable[[Frame], Iterator[None]], predicate: Plan | None, transform: Plan | None
) -> Run:
    make, make_cost = _given(transform)
    condition, cost = _passes(predicate)

    def run(frame: Frame) -> Any:
        made: dict[Any, Any] = {}
        for _ in rounds(frame):
            charge(frame, cost)
            if not condition(frame):
                continue
            charge(frame, make_cost + _INSERT_ENTRY)
            entry = make(frame)
            if not is_map(entry):
                raise EvaluationError("no such overload")
            for key in entry:
                if key in made:
                    raise EvaluationError(f"insert failed: key {key} already exists")
                made[key] = entry[key]
        return made

    return run


def _sort(over: Run, first: int, transform: Plan | None) -> Run:
    key, cost = _given(transform)

    def run(frame: Frame) -> Any:
        ranged = over(frame)
        if not isinstance(ranged, list):
            raise EvaluationError("no such overload")
        keys = []
        for value in ranged:
            charge(frame, cost + _APPEND)
            frame[first] = value
            keys.append(key(frame))
        return sort_by_keys(frame, ranged, keys)

    return run
