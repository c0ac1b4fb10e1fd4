"""Reads CEL source into a tree.

Precedence climbing over the grammar of the CEL specification, with optional syntax (`a.?b`, `a[?k]`,
`[?x]`, `{?k: v}`). Macros are recognised here (see `macros`), as everywhere in CEL: `x.all(i, p)` is never
a call. The first syntax error ends parsing; its text follows ANTLR's as kube-apiserver shows it.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.cel import macros
from steersman.cluster.cel.lexer import EOF, Token, tokenize
from steersman.cluster.cel.source import Issues
from steersman.cluster.cel.syntax import (
    Call,
    Expr,
    Ident,
    ListLiteral,
    Literal_,
    MapLiteral,
    Select,
    StructLiteral,
)
from steersman.cluster.cel.words import RESERVED

__all__ = ["DEPTH_LIMIT", "parse"]

#: cel-go's limits, which kube-apiserver leaves as they are.
DEPTH_LIMIT: Final = 250
_SIZE_LIMIT: Final = 100_000

_OPERANDS: Final = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', "
    "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_BINARY: Final = {
    "||": 1, "&&": 2,
    "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3, "in": 3,
    "+": 4, "-": 4,
    "*": 5, "/": 5, "%": 5,
}  # fmt: skip
_LOGICAL: Final = {"||", "&&"}


class _Stop(Exception):
    """A syntax error was reported; there is no tree."""


def parse(text: str, issues: Issues) -> Expr | None:
    """The tree of an expression, or None when `issues` says why there is none."""
    if len(text) > _SIZE_LIMIT:
        issues.add(0, f"expression code point size exceeds limit: size: {len(text)}, limit {_SIZE_LIMIT}")
        return None
    parser = _Parser(text, issues)
    try:
        tree = parser.expression()
        parser.finish()
    except _Stop:
        return None
    except RecursionError:
        issues.add(0, f"expression recursion limit exceeded: {DEPTH_LIMIT}")
        return None
    return None if issues.found else tree


class _Parser:
    def __init__(self, text: str, issues: Issues) -> None:
        self.issues = issues
        self.tokens = tokenize(text, issues)
        self.next = 0
        self.depth = 0

    # -- tokens -------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.next]

    def sees(self, *texts: str) -> bool:
        token = self.tokens[self.next]
        return token.kind == "op" and token.text in texts

    def take(self) -> Token:
        token = self.tokens[self.next]
        self.next += 1
        return token

    def accept(self, text: str) -> Token | None:
        return self.take() if self.sees(text) else None

    def fail(self, message: str, at: int | None = None) -> _Stop:
        self.issues.add(self.token.at if at is None else at, message)
        return _Stop()

    def syntax(self, message: str) -> _Stop:
        return self.fail("Syntax error: " + message)

    def expect(self, text: str) -> Token:
        if self.sees(text):
            return self.take()
        if self.token.kind == EOF:
            raise self.syntax(f"missing '{text}' at '{EOF}'")
        raise self.syntax(f"mismatched input '{self.token.text}' expecting '{text}'")

    def finish(self) -> None:
        if self.token.kind == EOF:
            return
        extra = self.token.text
        if self.tokens[self.next + 1].kind == EOF:
            raise self.syntax(f"extraneous input '{extra}' expecting {EOF}")
        raise self.syntax(
            f"mismatched input '{extra}' expecting {{{EOF}, '==', '!=', 'in', '<', '<=', '>=', '>', "
            "'&&', '||', '[', '{', '.', '-', '?', '+', '*', '/', '%'}"
        )

    # -- expressions --------------------------------------------------------------------------------

    def expression(self) -> Expr:
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise self.fail(f"expression recursion limit exceeded: {DEPTH_LIMIT}", 0)
        condition = self.binary(1)
        if self.sees("?"):
            question = self.take()
            then = self.binary(1)
            self.expect(":")
            otherwise = self.expression()
            condition = Call(question.at, "_?_:_", None, [condition, then, otherwise])
        self.depth -= 1
        return condition

    def binary(self, lowest: int) -> Expr:
        left = self.unary()
        chain = 0
        while self.token.kind == "op" and (level := _BINARY.get(self.token.text, 0)) >= lowest:
            operator = self.take()
            if operator.text in _LOGICAL:
                left = self.logical(left, operator, level)
                continue
            right = self.binary(level + 1)
            name = "@in" if operator.text == "in" else f"_{operator.text}_"
            left = Call(operator.at, name, None, [left, right])
            chain += 1
            if chain > DEPTH_LIMIT:
                raise self.fail(f"expression recursion limit exceeded: {DEPTH_LIMIT}", 0)
        return left

    def logical(self, first: Expr, operator: Token, level: int) -> Expr:
        """A run of one logical operator, as a balanced tree so that long runs are not deep."""
        terms, operators = [first], [operator]
        terms.append(self.binary(level + 1))
        while self.sees(operator.text):
            operators.append(self.take())
            terms.append(self.binary(level + 1))

        def balanced(low: int, high: int) -> Expr:
            if low == high:
                return terms[low]
            middle = (low + high) // 2
            return Call(
                operators[middle].at,
                f"_{operator.text}_",
                None,
                [balanced(low, middle), balanced(middle + 1, high)],
            )

        return balanced(0, len(terms) - 1)

    def unary(self) -> Expr:
        first = self.token
        if not self.sees("-", "!"):
            return self.member(self.primary())
        count = 0
        while self.sees(first.text):
            if first.text == "-" and self._number_follows():
                break
            self.take()
            count += 1
        operand = self.member(self.negative()) if self.sees("-") else self.operand_of_unary()
        if count % 2 == 0:
            return operand
        return Call(first.at, "-_" if first.text == "-" else "!_", None, [operand])

    def operand_of_unary(self) -> Expr:
        return self.unary() if self.sees("-", "!") else self.member(self.primary())

    def _number_follows(self) -> bool:
        value = self.tokens[self.next + 1].value
        return self.tokens[self.next + 1].kind == "literal" and type(value) in {int, float}

    def negative(self) -> Expr:
        sign, number = self.take(), self.take()
        return Literal_(sign.at, -number.value)

    def member(self, left: Expr) -> Expr:
        chain = 0
        while True:
            chain += 1
            if chain > DEPTH_LIMIT:
                raise self.fail(f"expression recursion limit exceeded: {DEPTH_LIMIT}", 0)
            if self.sees("."):
                left = self.dotted(left)
            elif self.sees("["):
                opening = self.take()
                optional = self.accept("?") is not None
                index = self.expression()
                self.expect("]")
                left = Call(opening.at, "_[?_]" if optional else "_[_]", None, [left, index])
            elif self.sees("{") and (name := _qualified(left)):
                left = self.struct(name)
            else:
                return left

    def dotted(self, left: Expr) -> Expr:
        dot = self.take()
        optional = self.accept("?") is not None
        name = self.token
        if name.kind == "escaped":
            raise self.fail("unsupported syntax: '`'")
        if name.kind == EOF:
            raise self.syntax("no viable alternative at input '.'")
        if name.kind != "ident":
            raise self.syntax(f"mismatched input '{name.text}' expecting IDENTIFIER")
        self.take()
        if not optional and self.sees("("):
            opening = self.take()
            args = self.arguments(")")
            call = Call(opening.at, name.text, left, args)
            return macros.expand(call, self.issues) or call
        return Select(dot.at, left, name.text, optional=optional)

    def arguments(self, closing: str) -> list[Expr]:
        args: list[Expr] = []
        while not self.sees(closing):
            args.append(self.expression())
            if not self.accept(","):
                break
        self.expect(closing)
        return args

    def primary(self) -> Expr:
        token = self.token
        if token.kind == "literal":
            self.take()
            if token.value == 2**63 and type(token.value) is int:
                raise self.fail("invalid int literal", token.at)
            return Literal_(token.at, token.value)
        if token.kind == "ident" or (self.sees(".") and self.tokens[self.next + 1].kind == "ident"):
            return self.identifier()
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.sees("["):
            return self.list_literal()
        if self.sees("{"):
            return self.map_literal()
        if token.kind == "op" and self._operand_at(self.next + 1):
            raise self.syntax(f"extraneous input '{token.text}' expecting {_OPERANDS}")
        raise self.syntax(f"mismatched input '{token.text}' expecting {_OPERANDS}")

    def _operand_at(self, index: int) -> bool:
        token = self.tokens[min(index, len(self.tokens) - 1)]
        return token.kind in {"ident", "literal"} or token.text in {"(", "[", "{", "-", "!"}

    def identifier(self) -> Expr:
        self.accept(".")  # a leading dot means the root, and there is no container here
        name = self.take()
        if name.text in RESERVED:
            raise self.fail(f"reserved identifier: {name.text}", name.at)
        if self.sees("("):
            opening = self.take()
            call = Call(opening.at, name.text, None, self.arguments(")"))
            return macros.expand(call, self.issues) or call
        return Ident(name.at, name.text)

    def list_literal(self) -> Expr:
        opening = self.take()
        items: list[Expr] = []
        optional: set[int] = set()
        while not self.sees("]"):
            if self.accept("?"):
                optional.add(len(items))
            items.append(self.expression())
            if not self.accept(","):
                break
        self.expect("]")
        return ListLiteral(opening.at, items, frozenset(optional))

    def map_literal(self) -> Expr:
        opening = self.take()
        entries: list[tuple[int, Expr, Expr, bool]] = []
        while not self.sees("}"):
            optional = self.accept("?") is not None
            key = self.expression()
            colon = self.expect(":")
            entries.append((colon.at, key, self.expression(), optional))
            if not self.accept(","):
                break
        self.expect("}")
        return MapLiteral(opening.at, entries)

    def struct(self, name: str) -> Expr:
        opening = self.take()
        fields: list[tuple[int, str, Expr, bool]] = []
        while not self.sees("}"):
            optional = self.accept("?") is not None
            if self.token.kind != "ident":
                raise self.syntax(f"mismatched input '{self.token.text}' expecting {{'}}', ',', IDENTIFIER}}")
            field = self.take()
            colon = self.expect(":")
            fields.append((colon.at, field.text, self.expression(), optional))
            if not self.accept(","):
                break
        self.expect("}")
        return StructLiteral(opening.at, name, fields)


def _qualified(node: Expr) -> str:
    """`a.b.c` as a type name, or "" when the node is not a chain of names."""
    names: list[str] = []
    while isinstance(node, Select) and not node.test and not node.optional:
        names.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return ""
    return ".".join([node.name, *reversed(names)])
