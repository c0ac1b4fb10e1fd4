"""The parser: reads CEL source into a syntax tree.

Precedence climbing over the grammar of the CEL specification, with optional syntax (`a.?b`, `a[?k]`,
`[?x]`, `{?k: v}`). Macros are recognised here (see `macros`), as everywhere in CEL: `x.all(i, p)` is never
a call.

Syntax errors are worded and recovered from as ANTLR does it for cel-go, so that the same ones follow: a token
too many is skipped, one that is missing is thought to be there, and otherwise tokens are skipped until one
that can follow what is being read, up to the whole expression. Nothing is reported before a token fits again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.cluster.cel import macros
from steersman.cluster.cel.lexer import EOF, Token, tokenize
from steersman.cluster.cel.reserved_words import RESERVED
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

__all__ = ["DEPTH_LIMIT", "parse"]

#: cel-go's limits, which kube-apiserver leaves as they are.
DEPTH_LIMIT: Final = 250
_SIZE_LIMIT: Final = 100_000

#: What an operand can begin with, as messages list it, among the punctuation that may stand there too.
_PUNCTUATION: Final = ("[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?")
_OPENINGS: Final = frozenset("[{(.-!")
_WORDS: Final = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"
_BINARY: Final = {
    "||": 1, "&&": 2,
    "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3, "in": 3,
    "+": 4, "-": 4,
    "*": 5, "/": 5, "%": 5,
}  # fmt: skip
_LOGICAL: Final = {"||", "&&"}


def _operands(*also: str) -> str:
    marks = ", ".join(f"'{mark}'" for mark in _PUNCTUATION if mark in _OPENINGS or mark in also)
    return f"{{{marks}, {_WORDS}}}"


class _Stop(Exception):
    """Parsing cannot continue."""


class _Mismatch(Exception):
    """A syntax error was reported; the parser resumes after the enclosing part."""


def parse(text: str, issues: Issues) -> Expr | None:
    """The tree of an expression, or None when `issues` says why there is none."""
    if len(text) > _SIZE_LIMIT:
        issues.add(0, f"expression code point size exceeds limit: size: {len(text)}, limit {_SIZE_LIMIT}")
        return None
    parser = _Parser(text, issues)
    try:
        tree = parser.expression()
        parser.finish()
    except (_Stop, _Mismatch):
        return None
    except RecursionError:
        issues.add(0, f"expression recursion limit exceeded: {DEPTH_LIMIT}")
        return None
    return None if issues.found else tree


class _Parser:
    """Parses one expression."""

    def __init__(self, text: str, issues: Issues) -> None:
        self.issues = issues
        self.tokens = tokenize(text, issues)
        self.next = 0
        self.depth = 0
        #: What can end each of the parts that are being read, the outermost first.
        self.closings: list[tuple[str, ...]] = [(EOF,)]
        self.recovering = False
        self.last_error = -1

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
        self.recovering = False
        return token

    def accept(self, text: str) -> Token | None:
        return self.take() if self.sees(text) else None

    def fail(self, message: str, at: int | None = None) -> _Stop:
        self.issues.add(self.token.at if at is None else at, message)
        return _Stop()

    def report(self, message: str) -> None:
        if not self.recovering:
            self.issues.add(self.token.at, "Syntax error: " + message)
        self.recovering = True

    def mismatch(self, expecting: str) -> _Mismatch:
        self.report(f"mismatched input '{self.token.text}' expecting {expecting}")
        return _Mismatch()

    def skip(self, expecting: str) -> None:
        """Leave out a token that is one too many."""
        self.report(f"extraneous input '{self.token.text}' expecting {expecting}")
        self.take()

    def expect(self, text: str) -> Token:
        if self.sees(text):
            return self.take()
        missing = self.token
        if self.follower.text == text and missing.kind != EOF:
            self.skip(f"'{text}'")
            return self.take()
        if self._is_operand(missing) if text == ":" else self._ends_operand(missing):
            self.report(f"missing '{text}' at '{missing.text}'")
            return missing
        raise self.mismatch(f"'{text}'")

    def sync(self, expecting: str, fits: Callable[[Token], bool]) -> None:
        """See to it that the next token fits, if need be without the one before it."""
        if fits(self.token):
            return
        if self.token.kind != EOF and fits(self.follower):
            self.skip(expecting)
            return
        raise self.mismatch(expecting)

    def recover(self, *also: str) -> Expr:
        """Go on with a token that can follow what was being read; what stands for it in the tree."""
        if self.last_error == self.next and self.token.kind != EOF:
            self.next += 1
        self.last_error = self.next
        known = {"?", *also, *(text for closing in self.closings for text in closing)}
        while self.token.kind != EOF and self.token.text not in known and self.token.text not in _BINARY:
            self.next += 1
        return Ident(self.token.at, "")

    @property
    def follower(self) -> Token:
        return self.tokens[min(self.next + 1, len(self.tokens) - 1)]

    def _is_operand(self, token: Token) -> bool:
        return token.kind in {"ident", "literal"} or (token.kind == "op" and token.text in _OPENINGS)

    def _ends_operand(self, token: Token) -> bool:
        if token.kind not in {"op", EOF}:
            return False
        return token.text in {".", "[", "?", *self.closings[-1]} or token.text in _BINARY

    def finish(self) -> None:
        if self.token.kind == EOF:
            return
        if self.follower.kind == EOF:
            self.skip(EOF)
        else:
            self.mismatch(EOF)

    # -- expressions --------------------------------------------------------------------------------

    def expression(self) -> Expr:
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise self.fail(f"expression recursion limit exceeded: {DEPTH_LIMIT}", 0)
        condition = self.binary(1)
        if self.sees("?"):
            question = self.take()
            self.closings.append((":",))
            then = self.binary(1)
            self.closings.pop()
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
        try:
            self.sync(_operands(), self._is_operand)
        except _Mismatch:
            return self.recover()
        return self.signed()

    def signed(self) -> Expr:
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
        return self.signed() if self.sees("-", "!") else self.member(self.primary())

    def _number_follows(self) -> bool:
        value = self.tokens[self.next + 1].value
        return self.tokens[self.next + 1].kind == "literal" and type(value) in {int, float}

    def negative(self) -> Expr:
        sign, number = self.take(), self.take()
        if type(number.value) is int and number.value > 2**63:
            self.issues.add(sign.at, "invalid int literal")
        return Literal_(sign.at, -number.value)

    def member(self, left: Expr) -> Expr:
        try:
            return self.suffixed(left)
        except _Mismatch:
            return self.recover()

    def suffixed(self, left: Expr) -> Expr:
        chain = 0
        while True:
            chain += 1
            if chain > DEPTH_LIMIT:
                raise self.fail(f"expression recursion limit exceeded: {DEPTH_LIMIT}", 0)
            if self.sees("."):
                left = self.dotted(left)
            elif self.sees("["):
                opening = self.take()
                self.sync(_operands("?"), lambda token: self._is_operand(token) or token.text == "?")
                optional = self.accept("?") is not None
                index = self.inside(("]",))
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
            self.take()
            return Select(dot.at, left, name.text.strip("`"), optional=optional)
        if name.kind == "literal":
            raise self.mismatch("IDENTIFIER")
        if name.kind != "ident":
            self.report(f"no viable alternative at input '.{'' if name.kind == EOF else name.text}'")
            raise _Mismatch
        self.take()
        if not optional and self.sees("("):
            opening = self.take()
            args = self.arguments()
            call = Call(opening.at, name.text, left, args)
            return macros.expand(call, self.issues) or call
        return Select(dot.at, left, name.text, optional=optional)

    def inside(self, closing: tuple[str, ...]) -> Expr:
        """An expression that one of these ends."""
        self.closings.append(closing)
        inner = self.expression()
        self.closings.pop()
        return inner

    def arguments(self) -> list[Expr]:
        args: list[Expr] = []
        self.sync(_operands(")"), lambda token: self._is_operand(token) or token.text == ")")
        if not self.sees(")"):
            args.append(self.inside((")", ",")))
            while self.accept(","):
                args.append(self.inside((")", ",")))
        self.expect(")")
        return args

    def primary(self) -> Expr:
        try:
            return self.operand()
        except _Mismatch:
            return self.recover(".", "[")

    def operand(self) -> Expr:
        token = self.token
        if token.kind == "literal":
            self.take()
            if type(token.value) is int and token.value >= 2**63:
                self.issues.add(token.at, "invalid int literal")
            return Literal_(token.at, token.value)
        if token.kind == "ident" or (self.sees(".") and self.tokens[self.next + 1].kind == "ident"):
            return self.identifier()
        if self.accept("("):
            inner = self.inside((")",))
            self.expect(")")
            return inner
        if self.sees("["):
            return self.list_literal()
        if self.sees("{"):
            return self.map_literal()
        if self.accept("."):
            self.report(f"no viable alternative at input '.{self.token.text}'")
            raise _Mismatch
        raise self.mismatch(_operands())

    def identifier(self) -> Expr:
        self.accept(".")  # a leading dot means the root, and there is no container here
        name = self.take()
        if name.text in RESERVED:
            self.issues.add(name.at, f"reserved identifier: {name.text}")
        if self.sees("("):
            opening = self.take()
            call = Call(opening.at, name.text, None, self.arguments())
            return macros.expand(call, self.issues) or call
        return Ident(name.at, name.text)

    def list_literal(self) -> Expr:
        opening = self.take()
        items: list[Expr] = []
        optional: set[int] = set()
        self._opened("]")
        while not self.sees("]", ","):
            if self.accept("?"):
                optional.add(len(items))
            items.append(self.inside(("]", ",")))
            if not self._goes_on("]"):
                break
        self.accept(",")
        self.expect("]")
        return ListLiteral(opening.at, items, frozenset(optional))

    def map_literal(self) -> Expr:
        opening = self.take()
        entries: list[tuple[int, Expr, Expr, bool]] = []
        self._opened("}")
        while not self.sees("}", ","):
            optional = self.accept("?") is not None
            key = self.inside((":",))
            colon = self.expect(":")
            entries.append((colon.at, key, self.inside(("}", ",")), optional))
            if not self._goes_on("}"):
                break
        self.accept(",")
        self.expect("}")
        return MapLiteral(opening.at, entries)

    def _opened(self, closing: str) -> None:
        """Behind a bracket there is something, nothing, or nothing but a comma."""
        also = (closing, ",", "?")
        self.sync(_operands(*also), lambda token: self._is_operand(token) or token.text in also)

    def _goes_on(self, closing: str) -> bool:
        """Whether another item follows the one just read; the last may have a comma, too."""
        self.sync(f"{{'{closing}', ','}}", lambda token: token.text in {closing, ","})
        if not self.sees(",") or self.follower.text == closing or self.follower.kind == EOF:
            return False
        self.take()
        return True

    def struct(self, name: str) -> Expr:
        opening = self.take()
        fields: list[tuple[int, str, Expr, bool]] = []
        while not self.sees("}"):
            optional = self.accept("?") is not None
            if self.token.kind != "ident":
                raise self.mismatch("{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}")
            field = self.take()
            colon = self.expect(":")
            fields.append((colon.at, field.text, self.inside(("}", ",")), optional))
            if not self._goes_on("}"):
                break
        self.accept(",")
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
