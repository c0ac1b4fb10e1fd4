"""The planner: turns a checked tree into closures that evaluate it, with kube-apiserver's runtime costs.

Costs are kept by basic block: what a stretch of an expression certainly costs is summed when it is planned
and charged once when it is entered (the whole expression, the right side of `&&`, a branch of `?:`, one round
of a loop); only costs that depend on values are charged where they arise. So a plain comparison pays for
its accounting once, and a loop cannot outrun it.

Evaluation is a tree of Python calls on trusted structure and hostile values: whatever goes wrong inside must
come out as EvaluationError. TypeError and friends, raised when a dynamic value is not what an operator needs,
mean "no such overload".
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from steersman.cluster.cel import loops
from steersman.cluster.cel.errors import EvaluationError
from steersman.cluster.cel.folding import FOLDED, constant, inner, is_attribute, membership
from steersman.cluster.cel.operators import SPECIAL, Plan, Run, direct, dispatched, no_overload, quick
from steersman.cluster.cel.runtime_types import TYPE_NAMES
from steersman.cluster.cel.syntax import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal_,
    MapLiteral,
    OptionalMap,
    Select,
    StructLiteral,
)
from steersman.cluster.cel.values import NONE, Frame, Optional, Struct, charge, is_map

__all__ = ["Planned", "plan"]

_LIST_COST: Final = 10
_MAP_COST: Final = 30
_STRUCT_COST: Final = 40


@dataclass(frozen=True, slots=True)
class Planned:
    """A closure that evaluates a tree, and its constant cost."""

    run: Run
    #: What it certainly costs, charged before it starts.
    cost: int
    #: The places of a frame: the budget, the variables, the loops' variables.
    frame_size: int
    #: Which variables it reads, and from where.
    inputs: dict[str, int]


def plan(tree: Expr, variables: Iterable[str]) -> Planned:
    planner = _Planner({name: place for place, name in enumerate(variables, start=1)})
    run, cost = planner.visit(tree)
    return Planned(run, cost, planner.frame_size, planner.inputs)


class _Planner:
    """Plans one expression."""

    def __init__(self, slots: dict[str, int]) -> None:
        self.slots = dict(slots)
        self.frame_size = self.first_local = 1 + len(slots)
        self.inputs: dict[str, int] = {}
        self.visits: dict[type[Expr], Callable[..., Plan]] = {
            Literal_: self.literal,
            Ident: self.ident,
            Select: self.select,
            Call: self.call,
            ListLiteral: self.list_literal,
            MapLiteral: self.map_literal,
            StructLiteral: self.struct_literal,
            Comprehension: self.comprehension,
            OptionalMap: self.optional_map,
        }

    def visit(self, node: Expr) -> Plan:
        return self.visits[type(node)](node)

    def bound(self, name: str) -> tuple[int, int | None]:
        """A new place for a local variable, and the one its name had before."""
        slot, before = self.frame_size, self.slots.get(name)
        self.frame_size += 1
        self.slots[name] = slot
        return slot, before

    def unbind(self, name: str, before: int | None) -> None:
        if before is None:
            self.slots.pop(name, None)
        else:
            self.slots[name] = before

    # -- leaves -------------------------------------------------------------------------------------

    def literal(self, node: Literal_) -> Plan:
        value = node.value
        return lambda _frame: value, 0

    def variable(self, name: str) -> Plan:
        slot = self.slots.get(name)
        if slot is None:
            kind = TYPE_NAMES[name]
            return lambda _frame: kind, 0
        if slot < self.first_local:
            self.inputs[name] = slot
        return operator.itemgetter(slot), 1

    def ident(self, node: Ident) -> Plan:
        return self.variable(node.name)

    def select(self, node: Select) -> Plan:
        if node.variable:
            return self.variable(node.variable)
        operand, cost = self.visit(node.operand)
        if not is_attribute(node.operand):
            cost += 1
        key = node.field
        # A field that is null is an absent one; an entry of a map that is null is there.
        typed = node.operand.type.kind == "object"
        if node.test:
            return _has(operand, key, typed), cost
        if node.optional:
            return _optional_select(operand, key, typed), cost + 1

        def run(frame: Frame) -> Any:
            value = operand(frame)
            try:
                found = value[key]
            except (KeyError, TypeError):
                return _select_slowly(value, key)
            if found is None and typed:
                raise EvaluationError(f"no such key: {key}")
            return found

        return run, cost + 1

    # -- literals -----------------------------------------------------------------------------------

    def list_literal(self, node: ListLiteral) -> Plan:
        if (known := constant(node)) is not None:
            return known
        plans = [self.visit(item) for item in node.items]
        runs = [run for run, _ in plans]
        cost = _LIST_COST + sum(c for _, c in plans)
        if not node.optional:
            return lambda frame: [run(frame) for run in runs], cost
        optional = node.optional

        def build(frame: Frame) -> Any:
            values: list[Any] = []
            for index, run in enumerate(runs):
                value = run(frame)
                if index not in optional:
                    values.append(value)
                elif value.present:
                    values.append(value.value)
            return values

        return build, cost

    def map_literal(self, node: MapLiteral) -> Plan:
        if (known := constant(node)) is not None:
            return known
        entries = [(self.visit(key), self.visit(value), optional) for _, key, value, optional in node.entries]
        cost = _MAP_COST + sum(key[1] + value[1] for key, value, _ in entries)
        runs = [(key[0], value[0], optional) for key, value, optional in entries]

        def build(frame: Frame) -> Any:
            made: dict[Any, Any] = {}
            for key_run, value_run, optional in runs:
                key, value = key_run(frame), value_run(frame)
                if optional:
                    if not value.present:
                        continue
                    value = value.value
                if key in made:
                    raise EvaluationError(f"Failed with repeated key {key}")
                made[key] = value
            return made

        return build, cost

    def struct_literal(self, node: StructLiteral) -> Plan:
        plans = [(name, self.visit(value), optional) for _, name, value, optional in node.fields]
        cost = _STRUCT_COST + sum(made[1] for _, made, _ in plans)
        runs = [(name, made[0], optional) for name, made, optional in plans]

        def build(frame: Frame) -> Any:
            made = Struct(node.name)
            for name, run, optional in runs:
                value = run(frame)
                if not optional:
                    made[name] = value
                elif value.present:
                    made[name] = value.value
            return made

        return build, cost

    # -- calls --------------------------------------------------------------------------------------

    def call(self, node: Call) -> Plan:
        special = SPECIAL.get(node.function)
        args = ([] if node.target is None else [node.target]) + node.args
        plans = [self.visit(arg) for arg in args]
        if special is not None:
            if node.function == "_?_:_":
                plans[1:] = [
                    (run, price - inner(arg)) for (run, price), arg in zip(plans, args, strict=True)
                ][1:]
            return special(plans)
        if node.function in FOLDED and (known := constant(node)) is not None:
            return known
        if node.function == "@in" and (member_of := membership(node.args[1])) is not None:
            return member_of(*plans[0])
        runs = [run for run, _ in plans]
        cost = sum(c for _, c in plans)
        if node.function == "_[_]":
            cost += (0 if is_attribute(args[0]) else 1) - inner(args[1])
        overloads = node.overloads
        static = all(arg.type.kind not in {"dyn", "any", "error"} for arg in args)
        if static and len(overloads) == 1:
            shortcut = quick(overloads[0], args)
            if shortcut is not None:
                return shortcut(*runs), cost + 1
            return direct(overloads[0], runs, cost)
        # The static types leave several possible: all overloads of this shape are tried on the values.
        shaped = [
            overload
            for overload in node.resolved.overloads
            if overload.member == (node.target is not None) and len(overload.params) == len(args)
        ]
        if len(shaped) == 1 and all(kind.kind in {"param", "dyn"} for kind in shaped[0].params):
            return direct(shaped[0], runs, cost)
        return dispatched(node.function, shaped, runs), cost

    # -- macros -------------------------------------------------------------------------------------

    def comprehension(self, node: Comprehension) -> Plan:
        over, cost = self.visit(node.range)
        first, before = self.bound(node.first)
        second, before_second = self.bound(node.second) if node.second else (0, None)
        predicate = None if node.predicate is None else self.visit(node.predicate)
        transform = None if node.transform is None else self.visit(node.transform)
        if node.second:
            self.unbind(node.second, before_second)
        self.unbind(node.first, before)
        fixed = isinstance(node.transform, Literal_)
        run, base = loops.plan_loop(node.macro, over, first, second, predicate, transform, fixed=fixed)
        return run, cost + base

    def optional_map(self, node: OptionalMap) -> Plan:
        target, cost = self.visit(node.target)
        slot, before = self.bound(node.name)
        body, body_cost = self.visit(node.body)
        self.unbind(node.name, before)
        flat = node.flat

        def run(frame: Frame) -> Any:
            value = target(frame)
            if type(value) is not Optional:
                raise no_overload()
            if not value.present:
                return NONE
            # The macro asks its target for the value again, and makes an optional of the result.
            charge(frame, body_cost + cost + (1 if flat else 2))
            frame[slot] = value.value
            made = body(frame)
            return made if flat else Optional(made)

        return run, cost + 1


def _has(operand: Run, key: str, typed: bool) -> Run:
    def run(frame: Frame) -> Any:
        value = operand(frame)
        if type(value) is Optional:
            value = value.value if value.present else {}
        if isinstance(value, list | tuple):
            raise _not_an_index()
        return is_map(value) and key in value and not (typed and value[key] is None)

    return run


def _optional_select(operand: Run, key: str, typed: bool) -> Run:
    def run(frame: Frame) -> Any:
        value = operand(frame)
        if type(value) is Optional:
            if not value.present:
                return NONE
            value = value.value
        if isinstance(value, list | tuple):
            raise _not_an_index()
        if not is_map(value) or key not in value or (typed and value[key] is None):
            return NONE
        return Optional(value[key])

    return run


def _select_slowly(value: Any, key: str) -> Any:
    """Selecting failed the usual way: say why, or look through an optional."""
    if type(value) is Optional:
        if not value.present:
            return NONE
        inner = value.value
        return Optional(inner[key]) if is_map(inner) and key in inner else NONE
    raise _not_an_index() if isinstance(value, list | tuple) else EvaluationError(f"no such key: {key}")


def _not_an_index() -> EvaluationError:
    return EvaluationError("unsupported index type 'string' in list")
