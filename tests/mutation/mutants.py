"""Mutants of a module: its source with one condition turned round.

Pure text in, text out: edits are made at the positions that `ast` reports, so that all else stays as written.
Running them is `trial.py`'s work.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mutant", "mutants", "sample"]

_INVERSE: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in",
    ast.Is: "is not", ast.IsNot: "is",
    ast.Lt: ">=", ast.GtE: "<",
    ast.Gt: "<=", ast.LtE: ">",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    #: Function, old and new text; says the same after edits elsewhere in the module, unlike a line number.
    name: str
    line: int
    source: str


@dataclass(frozen=True, slots=True)
class _Edit:
    node: ast.expr
    text: str


def mutants(source: str) -> list[Mutant]:
    """Every mutant, in the order of the source."""
    seen: Counter[str] = Counter()
    made = []
    for function, edit in _edits(source):
        name = f"{function}: {_words(_text(source, edit.node))} -> {_words(edit.text)}"
        seen[name] += 1
        if seen[name] > 1:
            name += f" #{seen[name]}"
        made.append(Mutant(name, edit.node.lineno, _replaced(source, edit)))
    return made


def sample(source: str, count: int) -> list[Mutant]:
    """A few of them, chosen by their names: an edit of the module changes only what it touches."""
    chosen = sorted(mutants(source), key=lambda mutant: hashlib.sha256(mutant.name.encode()).digest())
    return sorted(chosen[:count], key=lambda mutant: mutant.line)


def _edits(source: str) -> Iterator[tuple[str, _Edit]]:
    def visit(node: ast.AST, function: str) -> Iterator[tuple[str, _Edit]]:
        # Inside of f-strings, positions are right only from Python 3.12 on.
        if isinstance(node, ast.JoinedStr):
            return
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            function = f"{function}.{node.name}" if function else node.name
        for condition in _conditions(node):
            yield function, _Edit(condition, f"not ({_text(source, condition)})")
        if isinstance(node, ast.expr) and (turned := _turned(source, node)):
            yield function, _Edit(node, turned)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    return visit(ast.parse(source), "")


def _conditions(node: ast.AST) -> list[ast.expr]:
    """The conditions that `node` decides by, without those that `_turned` turns round in its own way."""
    if isinstance(node, ast.If | ast.IfExp):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    else:
        return []
    return [test for test in tests if not _is_inverted(test) and not _is_for_types(test)]


def _turned(source: str, node: ast.expr) -> str | None:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"({_text(source, operand)})"
        case ast.BoolOp(op=operator, values=values):
            other = " or " if isinstance(operator, ast.And) else " and "
            return f"({other.join(f'({_text(source, value)})' for value in values)})"
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return f"({_operand(source, left)} {_INVERSE[type(operator)]} {_operand(source, right)})"
        case _:
            return None


def _is_inverted(test: ast.expr) -> bool:
    """Whether `_turned` makes the same of it as a `not` before it would."""
    match test:
        case ast.Compare(ops=[_]) | ast.UnaryOp(op=ast.Not()):
            return True
        case _:
            return False


def _is_for_types(test: ast.expr) -> bool:
    """`if TYPE_CHECKING`: decides nothing at run time."""
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _text(source: str, node: ast.expr) -> str:
    text = ast.get_source_segment(source, node)
    assert text is not None
    # A position does not include the parentheses around what needs them.
    return f"({text})" if isinstance(node, ast.NamedExpr | ast.Lambda | ast.IfExp) else text


def _operand(source: str, node: ast.expr) -> str:
    """As `_text`, where a comparison would bind tighter than what is in `node`."""
    text = _text(source, node)
    loose = isinstance(node, ast.BoolOp | ast.Compare) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )
    return f"({text})" if loose else text


def _replaced(source: str, edit: _Edit) -> str:
    lines = source.encode().splitlines(keepends=True)
    node = edit.node
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    return (before + edit.text.encode() + after).decode()


def _words(text: str) -> str:
    return " ".join(text.split())
