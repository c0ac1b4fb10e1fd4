"""The static cost estimate of an expression: the maximum over all values that its schema allows.

kube-apiserver rejects rules whose estimate exceeds a limit, so the estimate is part of the interface: sizes
come from `maxItems`, `maxLength` and `maxProperties`, or from the maximum request size. The sums follow
cel-go's over the folds that macros expand to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from steersman.cluster.cel.bounds import ANY_SIZE, MOST, ONE, ZERO, Bounds, exactly
from steersman.cluster.cel.declarations import Declaration
from steersman.cluster.cel.estimate_calls import CALLS, Argument, Estimated
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
from steersman.cluster.cel.types import Type

__all__ = ["estimate"]

Path: TypeAlias = tuple[str, ...]

_SCALARS: Final = {"bool", "double", "duration", "int", "timestamp", "uint"}
_LIST: Final = exactly(10)
_MAP: Final = exactly(30)
_STRUCT: Final = exactly(40)


def estimate(tree: Expr, declarations: Mapping[str, Declaration]) -> Bounds:
    """The least and most an evaluation can cost."""
    return _Estimator(declarations).cost(tree)


@dataclass(slots=True)
class _Local:
    """The size of a macro's variable."""

    path: Path
    size: Bounds | None = None


class _Estimator:
    """Estimates one expression."""

    def __init__(self, declarations: Mapping[str, Declaration]) -> None:
        self.declarations = declarations
        self.locals: dict[str, list[_Local]] = {}
        self.paths: dict[int, Path] = {}
        self.sizes: dict[int, Bounds] = {}
        #: Of containers made by the expression: the size of their items or values.
        self.items: dict[int, Bounds] = {}
        self.costs: dict[type[Expr], Callable[..., Bounds]] = {
            Literal_: lambda _node: ZERO,
            Ident: self.ident,
            Select: self.select,
            Call: self.call,
            ListLiteral: self.list_literal,
            MapLiteral: self.map_literal,
            StructLiteral: lambda node: self.total(value for _, _, value, _ in node.fields) + _STRUCT,
            Comprehension: self.comprehension,
            OptionalMap: self.optional_map,
        }

    def cost(self, node: Expr) -> Bounds:
        return self.costs[type(node)](node)

    def total(self, nodes: object) -> Bounds:
        found = ZERO
        for node in nodes:  # type: ignore[attr-defined]
            found = found + self.cost(node)
        return found

    # -- sizes --------------------------------------------------------------------------------------

    def path(self, node: Expr) -> Path:
        if isinstance(node, Ident) and self.locals.get(node.name):
            return self.locals[node.name][-1].path
        return self.paths.get(id(node), ())

    def declared(self, path: Path) -> Bounds | None:
        if not path:
            return None
        # Whatever is not reached from a variable is taken for `self`, as kube-apiserver does.
        root = self.declarations.get(path[0]) or self.declarations.get("self")
        found = None if root is None else root.at(path[1:])
        return None if found is None else Bounds(0, found.max_elements)

    def size(self, node: Expr) -> Bounds | None:
        if id(node) in self.sizes:
            return self.sizes[id(node)]
        if (literal := _literal_size(node)) is not None:
            return exactly(literal)
        if (declared := self.declared(self.path(node))) is not None:
            self.sizes[id(node)] = declared
            return declared
        if _is_scalar(node.type):
            return ONE
        if isinstance(node, Ident) and self.locals.get(node.name):
            return self.locals[node.name][-1].size
        return None

    def size_or_any(self, node: Expr) -> Bounds:
        return self.size(node) or ANY_SIZE

    def argument(self, node: Expr) -> Argument:
        element = node.type.params[0] if node.type.params else None
        inner = None if element is None else self.declared((*self.path(node), "@items"))
        value = node.value if isinstance(node, Literal_) else None
        return Argument(self.size_or_any(node), node.type, element, inner or ANY_SIZE, value)

    # -- nodes --------------------------------------------------------------------------------------

    def ident(self, node: Ident) -> Bounds:
        self.paths[id(node)] = self.path(node) or (node.name,)
        return ONE

    def select(self, node: Select) -> Bounds:
        if node.variable:
            self.paths[id(node)] = (node.variable,)
            return ONE
        cost = self.cost(node.operand)
        if node.test:
            return cost
        if node.optional:
            return cost + ONE
        self.paths[id(node)] = (*self.path(node.operand), node.field)
        return cost + ONE if node.operand.type.kind in {"map", "object", "param"} else cost

    def list_literal(self, node: ListLiteral) -> Bounds:
        cost = self.total(node.items)
        self.items[id(node)] = self.largest(node.items)
        return cost + _LIST

    def map_literal(self, node: MapLiteral) -> Bounds:
        cost = self.total(part for _, key, value, _ in node.entries for part in (key, value))
        self.items[id(node)] = self.largest([value for _, _, value, _ in node.entries])
        return cost + _MAP

    def largest(self, nodes: list[Expr]) -> Bounds:
        found = Bounds(MOST if nodes else 0, 0)
        for node in nodes:
            found = found.union(self.size_or_any(node))
        return found

    # -- calls --------------------------------------------------------------------------------------

    def call(self, node: Call) -> Bounds:
        args = node.args
        if node.function == "dyn":
            cost = self.cost(args[0]) + ONE
            self.copy(node, args[0])
            return cost
        costs = [self.cost(arg) for arg in args]
        target = ZERO if node.target is None else self.cost(node.target)
        if node.function in {"_&&_", "_||_"}:
            return Bounds(costs[0].least, (costs[0] + costs[1]).most)
        if node.function == "_?_:_":
            return self.conditional(node, costs)
        given = [self.argument(arg) for arg in args]
        receiver = None if node.target is None else self.argument(node.target)
        own = Bounds(MOST, 0)
        result: Bounds | None = None
        for overload in node.overloads:
            found = CALLS(node.function, overload.id, receiver, given) or Estimated(ONE)
            own = own.union(found.cost)
            if found.result is not None:
                result = found.result if result is None else result.union(found.result)
            self.note_index(node, overload.id)
        if node.function == "_+_":
            self.merge_items(node)
        if result is not None:
            self.sizes[id(node)] = result
        for each in costs:
            own = own + each
        return own + target

    def note_index(self, node: Call, overload: str) -> None:
        step = {"index_list": "@items", "index_map": "@values"}.get(overload)
        if step is None:
            return
        self.paths[id(node)] = (*self.path(node.args[0]), step)
        if (items := self.items.get(id(node.args[0]))) is not None:
            self.sizes[id(node)] = items

    def merge_items(self, node: Call) -> None:
        left, right = (self.items.get(id(arg)) for arg in node.args)
        if left is not None and right is not None:
            self.items[id(node)] = left.union(right)

    def conditional(self, node: Call, costs: list[Bounds]) -> Bounds:
        _, then, otherwise = node.args
        self.sizes[id(node)] = self.size_or_any(then).union(self.size_or_any(otherwise))
        left, right = self.items.get(id(then)), self.items.get(id(otherwise))
        if left is not None and right is not None:
            self.items[id(node)] = left.union(right)
        return costs[0] + costs[1].union(costs[2])

    def copy(self, node: Expr, source: Expr) -> None:
        if (size := self.size(source)) is not None:
            self.sizes[id(node)] = size
        if id(source) in self.items:
            self.items[id(node)] = self.items[id(source)]

    # -- macros -------------------------------------------------------------------------------------

    def comprehension(self, node: Comprehension) -> Bounds:
        over = self.cost(node.range)
        count = self.size_or_any(node.range)
        self.enter(node)
        condition = ZERO if node.predicate is None else self.cost(node.predicate)
        transform = ZERO if node.transform is None else self.cost(node.transform)
        made = self.made(node)
        self.leave(node)
        if node.macro == "sortBy":
            return over + self.sorting(node, count, transform)
        start, step, end = _FOLDS[node.macro](condition, transform, node.predicate is not None)
        if made is not None:
            self.sizes[id(node)] = count
            self.items[id(node)] = Bounds(0, made.most)
        return over + start + end + count * step

    def made(self, node: Comprehension) -> Bounds | None:
        """The size of what each round adds to a list; None when no list is made."""
        if node.macro in {"map", "transformList"} and node.transform is not None:
            return self.size_or_any(node.transform)
        if node.macro == "filter":
            local = self.locals[node.first][-1]
            return self.declared(local.path) or local.size or ANY_SIZE
        return None

    def sorting(self, node: Comprehension, count: Bounds, key: Bounds) -> Bounds:
        self.sizes[id(node)] = count
        text = node.transform is not None and node.transform.type.kind in {"string", "bytes"}
        keys = _LIST + ONE + ONE + count * (key + exactly(12))
        return _LIST + ONE + keys + (count * count).times(2.1 if text else 2.0) + exactly(11)

    def enter(self, node: Comprehension) -> None:
        is_list = node.range.type.kind == "list"
        path, items = self.path(node.range), self.items.get(id(node.range))
        if node.second:
            self.push(node.first, (*path, "@indices" if is_list else "@keys"), None)
            self.push(node.second, (*path, "@items" if is_list else "@values"), items)
        else:
            self.push(node.first, (*path, "@items" if is_list else "@keys"), items if is_list else None)

    def leave(self, node: Comprehension) -> None:
        for name in (node.first, node.second):
            if name:
                self.locals[name].pop()

    def push(self, name: str, path: Path, size: Bounds | None) -> None:
        self.locals.setdefault(name, []).append(_Local(path, size))

    def optional_map(self, node: OptionalMap) -> Bounds:
        target = self.cost(node.target)
        self.push(node.name, self.path(node.target), self.size(node.target))
        body = self.cost(node.body)
        self.locals[node.name].pop()
        present = _LIST + target + ONE + body + (ZERO if node.flat else ONE)
        return target + ONE + present.union(ONE)


#: Of the fold a macro stands for: what its start costs, each round, and its result.
_Fold: TypeAlias = tuple[Bounds, Bounds, Bounds]


def _quantifier(test: int) -> Callable[[Bounds, Bounds, bool], _Fold]:
    # Testing the accumulator, then `@result && condition` of which the right side may not be evaluated.
    return lambda condition, _made, _filtered: (
        ZERO,
        Bounds(test + 1, min(test + 1 + condition.most, MOST)),
        ONE,
    )


def _exists_one(condition: Bounds, _made: Bounds, _filtered: bool) -> _Fold:
    return ZERO, condition + Bounds(1, 2), exactly(2)


def _appending(condition: Bounds, made: Bounds, filtered: bool) -> _Fold:
    step = made + exactly(12)
    return _LIST, condition + step.union(ONE) if filtered else step, ONE


def _inserting(condition: Bounds, made: Bounds, filtered: bool) -> _Fold:
    step = made + exactly(3)
    return _MAP, condition + step.union(ONE) if filtered else step, ONE


_FOLDS: Final[dict[str, Callable[[Bounds, Bounds, bool], _Fold]]] = {
    "all": _quantifier(2),
    "exists": _quantifier(3),
    "exists_one": _exists_one,
    "map": _appending,
    "transformList": _appending,
    "filter": lambda condition, _made, _filtered: _appending(condition, ONE, True),
    "transformMap": _inserting,
    "transformMapEntry": _inserting,
}


def _literal_size(node: Expr) -> int | None:
    if isinstance(node, ListLiteral):
        return len(node.items)
    if isinstance(node, MapLiteral):
        return len(node.entries)
    if isinstance(node, Literal_):
        return len(node.value) if isinstance(node.value, (str, bytes)) else 1
    return None


def _is_scalar(kind: Type) -> bool:
    if kind.kind == "optional":
        return _is_scalar(kind.params[0])
    return kind.kind in _SCALARS
