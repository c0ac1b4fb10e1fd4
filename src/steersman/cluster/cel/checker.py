"""The type checker: gives every node of an expression its type and every call its overloads.

Type errors are collected, not raised: a user sees all of them at once. Messages are cel-go's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from steersman.cluster.cel import types
from steersman.cluster.cel.functions import Function, Overload
from steersman.cluster.cel.source import Issues
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
from steersman.cluster.cel.types import Substitution, Type
from steersman.cluster.cel.values import Uint

__all__ = ["NameScope", "check"]


@dataclass(frozen=True, slots=True)
class NameScope:
    """The declarations of names in an expression."""

    variables: Mapping[str, Type]
    functions: Mapping[str, Function]
    #: Type names that are values (`type(x) == string`).
    type_names: Mapping[str, Type]
    #: Types that literals like `Object{…}` make.
    struct: Callable[[str], Type | None]


def check(tree: Expr, scope: NameScope, issues: Issues) -> list[Expr]:
    """All nodes of the expression, each annotated unless `issues` has complaints."""
    checker = _Checker(scope, issues)
    try:
        checker.visit(tree)
    except RecursionError:
        issues.add(0, "expression recursion limit exceeded: 250")
        return []
    for node in checker.nodes:
        node.type = checker.known.resolve(node.type, parameters_to_dyn=True)
    return checker.nodes


_LITERALS: Final[dict[type, Type]] = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
}
_DYNAMIC: Final = {"dyn", "any", "error", "param"}
_LOGICAL: Final = {"_&&_", "_||_"}
#: Macros that count what their predicate is true of.
_COUNTING: Final = {"exists_one", "existsOne"}


class _Checker:
    """Checks one expression."""

    def __init__(self, scope: NameScope, issues: Issues) -> None:
        self.scope = scope
        self.issues = issues
        self.known = Substitution()
        self.locals: list[tuple[str, Type]] = []
        self.nodes: list[Expr] = []
        #: Literals may mix types only in what `format` fills in.
        self.within_format = 0
        self.visits: dict[type[Expr], Callable[..., Type]] = {
            Literal_: lambda node: _LITERALS[type(node.value)],
            Ident: self.ident,
            Select: self.select,
            Call: self.call,
            ListLiteral: self.list_literal,
            MapLiteral: self.map_literal,
            StructLiteral: self.struct_literal,
            Comprehension: self.comprehension,
            OptionalMap: self.optional_map,
        }

    def visit(self, node: Expr) -> Type:
        node.type = self.visits[type(node)](node)
        self.nodes.append(node)
        return node.type

    def resolved(self, node: Expr) -> Type:
        return self.known.resolve(self.visit(node))

    # -- names --------------------------------------------------------------------------------------

    def local(self, name: str) -> Type | None:
        return next((kind for known, kind in reversed(self.locals) if known == name), None)

    def ident(self, node: Ident) -> Type:
        found = self.local(node.name) or self.scope.variables.get(node.name)
        if found is not None:
            return found
        if node.name in self.scope.type_names:
            return types.type_of(self.scope.type_names[node.name])
        self.issues.add(node.at, f"undeclared reference to '{node.name}' (in container '')")
        return types.ERROR

    def select(self, node: Select) -> Type:
        name = self.qualified(node)
        if name and not node.test and not node.optional:
            if name in self.scope.variables:
                node.variable = name
                return self.scope.variables[name]
            if name in self.scope.type_names:
                node.variable = name
                return types.type_of(self.scope.type_names[name])
        operand = self.resolved(node.operand)
        was_optional = operand.kind == "optional"
        kind = self.field(node, operand.params[0] if was_optional else operand)
        if node.test:
            return types.BOOL
        if (was_optional or node.optional) and kind.kind != "error":
            return kind if kind.kind == "optional" else types.optional_of(kind)
        return kind

    def qualified(self, node: Expr) -> str:
        """`a.b.c` when the chain starts with a name that is no local variable."""
        names: list[str] = []
        while isinstance(node, Select) and not node.test and not node.optional:
            names.append(node.field)
            node = node.operand
        if not isinstance(node, Ident) or self.local(node.name) is not None:
            return ""
        return ".".join([node.name, *reversed(names)])

    def field(self, node: Select, operand: Type) -> Type:
        if operand.kind == "map":
            return operand.params[1]
        if operand.kind == "object" and operand.field_type is not None:
            found = operand.field_type(node.field)
            if found is not None:
                return found
            self.issues.add(node.at, f"undefined field '{node.field}'")
            return types.ERROR
        if operand.kind == "param":
            self.known.accepts(types.DYN, operand)
            return types.DYN
        if operand.kind in _DYNAMIC:
            return types.ERROR if operand.kind == "error" else types.DYN
        if operand.kind == "opaque":
            # A struct, as its name has it, of which nobody knows the fields.
            self.issues.add(node.at, f"unexpected failed resolution of '{operand}'")
            return types.ERROR
        self.issues.add(node.at, f"type '{operand}' does not support field selection")
        return types.ERROR

    # -- calls --------------------------------------------------------------------------------------

    def call(self, node: Call) -> Type:
        if node.target is not None and (prefix := self.qualified(node.target)):
            name = f"{prefix}.{node.function}"
            if name in self.scope.functions:
                node.function, node.target = name, None
        args = [] if node.target is None else [self.visit(node.target)]
        formats = node.function == "format"
        self.within_format += formats
        args += [self.visit(arg) for arg in node.args]
        self.within_format -= formats
        function = self.scope.functions.get(node.function)
        if function is None:
            self.issues.add(node.at, f"undeclared reference to '{node.function}' (in container '')")
            return types.ERROR
        node.resolved = function
        return self.resolve_overload(node, function, args)

    def resolve_overload(self, node: Call, function: Function, args: list[Type]) -> Type:
        node.overloads = []
        result: Type | None = None
        for overload in function.overloads:
            if overload.member != (node.target is not None) or len(overload.params) != len(args):
                continue
            wanted, yields = self.instantiated(overload)
            if not self.known.accepts_all(wanted, args):
                continue
            node.overloads.append(overload)
            kind = self.known.resolve(yields)
            if result is None:
                result = kind
            elif result.kind != "dyn" and kind != result:
                result = types.DYN
        if result is not None:
            return result
        if node.function in _LOGICAL:
            for arg, kind in zip(node.args, args, strict=True):
                self.expect_bool(arg, kind)
            return types.ERROR
        shown = _signature(
            [self.known.resolve(arg, parameters_to_dyn=True) for arg in args], node.target is not None
        )
        self.issues.add(node.at, f"found no matching overload for '{node.function}' applied to '{shown}'")
        return types.ERROR

    def expect_bool(self, node: Expr, kind: Type) -> None:
        if not self.known.accepts(types.BOOL, kind):
            self.issues.add(node.at, f"expected type 'bool' but found '{self.shown(kind)}'")

    def instantiated(self, overload: Overload) -> tuple[list[Type], Type]:
        """The signature with its type parameters made new, so that calls do not share them."""
        fresh: dict[str, Type] = {}

        def renew(kind: Type) -> Type:
            if kind.kind == "param":
                if kind.name not in fresh:
                    fresh[kind.name] = self.known.fresh()
                return fresh[kind.name]
            if not kind.params:
                return kind
            return Type(kind.kind, kind.name, tuple(renew(p) for p in kind.params), kind.field_type)

        return [renew(kind) for kind in overload.params], renew(overload.result)

    # -- literals -----------------------------------------------------------------------------------

    def joined(self, common: Type | None, at: int, kind: Type) -> Type:
        """Elements of a literal are all of one type."""
        if common is None:
            return kind
        if self.known.accepts(common, kind) and (self.within_format or not self._mixed(common, kind)):
            return self.known.join(common, kind)
        if self.within_format:
            return types.DYN
        self.issues.add(at, f"expected type '{self.shown(common)}' but found '{self.shown(kind)}'")
        return types.ERROR

    def _mixed(self, common: Type, kind: Type) -> bool:
        """Whether one of them can be anything, and the other cannot."""
        kinds = [self.known.resolve(each).kind for each in (common, kind)]
        anything = [each in {"dyn", "any"} for each in kinds]
        return anything[0] != anything[1] and "param" not in kinds and "error" not in kinds

    def shown(self, kind: Type) -> str:
        return str(self.known.resolve(kind, parameters_to_dyn=True))

    def unwrapped(self, node: Expr, optional: bool) -> Type:
        kind = self.visit(node)
        if not optional:
            return kind
        resolved = self.known.resolve(kind)
        if resolved.kind == "optional":
            return resolved.params[0]
        if resolved.kind not in _DYNAMIC:
            self.issues.add(node.at, f"expected type 'optional_type({resolved})' but found '{resolved}'")
        return types.DYN

    def list_literal(self, node: ListLiteral) -> Type:
        common: Type | None = None
        for index, item in enumerate(node.items):
            common = self.joined(common, item.at, self.unwrapped(item, index in node.optional))
        return types.list_of(common or self.known.fresh())

    def map_literal(self, node: MapLiteral) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for _, key, value, optional in node.entries:
            keys = self.joined(keys, key.at, self.visit(key))
            values = self.joined(values, value.at, self.unwrapped(value, optional))
        return types.map_of(keys or self.known.fresh(), values or self.known.fresh())

    def struct_literal(self, node: StructLiteral) -> Type:
        kind = self.scope.struct(node.name)
        for at, name, value, optional in node.fields:
            given = self.unwrapped(value, optional)
            wanted = None if kind is None or kind.field_type is None else kind.field_type(name)
            if kind is None:
                continue
            if wanted is None:
                self.issues.add(at, f"undefined field '{name}'")
            elif not self.known.accepts(wanted, given):
                self.issues.add(
                    at,
                    f"expected type of field '{name}' is '{wanted}' "
                    f"but provided type is '{self.shown(given)}'",
                )
        if kind is None:
            self.issues.add(node.at, f"undeclared reference to '{node.name}' (in container '')")
            return types.ERROR
        return kind

    # -- macros -------------------------------------------------------------------------------------

    def comprehension(self, node: Comprehension) -> Type:
        ranged = self.resolved(node.range)
        first, second = self.loop_variables(node, ranged)
        self.locals.append((node.first, first))
        if node.second:
            self.locals.append((node.second, second))
        tested = types.BOOL if node.predicate is None else self.visit(node.predicate)
        made = types.BOOL if node.transform is None else self.visit(node.transform)
        if node.predicate is not None:
            self.condition(node, node.predicate, tested, first if node.transform is None else made)
        del self.locals[-2 if node.second else -1 :]
        return self.loop_result(node, ranged, first, made)

    def loop_variables(self, node: Comprehension, ranged: Type) -> tuple[Type, Type]:
        if ranged.kind == "list":
            return (types.INT, ranged.params[0]) if node.second else (ranged.params[0], types.DYN)
        if ranged.kind == "map":
            return ranged.params[0], ranged.params[1]
        if ranged.kind not in _DYNAMIC:
            self.issues.add(
                node.range.at,
                f"expression of type '{ranged}' cannot be range of a comprehension "
                "(must be list, map, or dynamic)",
            )
        return types.DYN, types.DYN

    def condition(self, node: Comprehension, predicate: Expr, kind: Type, item: Type) -> None:
        """The predicate is true or false; `item` is what a list is made of."""
        if node.macro in ("all", "exists"):
            self.expect_bool(predicate, kind)
        elif not self.known.accepts(types.BOOL, kind):
            counted = "int" if node.macro in _COUNTING else f"list({self.shown(item)})"
            shown = f"({self.shown(kind)}, {counted}, {counted})"
            self.issues.add(node.at, f"found no matching overload for '_?_:_' applied to '{shown}'")

    def loop_result(self, node: Comprehension, ranged: Type, first: Type, made: Type) -> Type:
        match node.macro:
            case "map" | "transformList":
                return types.list_of(made)
            case "filter":
                return types.list_of(first)
            case "sortBy":
                return ranged if ranged.kind == "list" else types.list_of(types.DYN)
            case "transformMap":
                return types.map_of(first, made)
            case "transformMapEntry":
                if not self.known.accepts(types.map_of(types.DYN, types.DYN), made):
                    self.issues.add(
                        node.at,
                        f"found no matching overload for 'cel.@mapInsert' applied to "
                        f"'(map(dyn, dyn), {self.shown(made)})'",
                    )
                return self.known.resolve(made)
            case _:
                return types.BOOL

    def optional_map(self, node: OptionalMap) -> Type:
        target = self.resolved(node.target)
        if target.kind == "optional":
            inner = target.params[0]
        else:
            inner = types.DYN
            if target.kind not in _DYNAMIC:
                self.issues.add(
                    node.at, f"found no matching overload for 'hasValue' applied to '{target}.()'"
                )
        self.locals.append((node.name, inner))
        body = self.visit(node.body)
        self.locals.pop()
        return body if node.flat else types.optional_of(body)


def _signature(args: list[Type], is_member: bool) -> str:
    if not is_member:
        return f"({', '.join(map(str, args))})"
    return f"{args[0]}.({', '.join(map(str, args[1:]))})"
