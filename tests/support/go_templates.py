"""The part of Helm's templates that our charts use, rendered: where no `helm` is at hand.

    {{ EXPR }}   {{- if EXPR }} … {{- else }} … {{- end }}   {{- with EXPR }} … {{- end }}

An expression is a pipeline of fields (`.Values.a.b`, `.`), strings, numbers and the functions below. Whatever
else appears in a template is an error here, though Helm may know it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

__all__ = ["render"]

_TOKEN = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.DOTALL)
_WORD = re.compile(r'"[^"]*"|\S+')
_MISSING = object()


@dataclass
class _Block:
    """`if` and `with` and the whole template; `parts` are texts, expressions and blocks."""

    kind: str
    expression: str = ""
    parts: list[Any] = field(default_factory=list)
    otherwise: list[Any] = field(default_factory=list)
    in_otherwise: bool = False

    def add(self, part: Any) -> None:
        (self.otherwise if self.in_otherwise else self.parts).append(part)


def render(template: str, context: Mapping[str, Any]) -> str:
    return "".join(_rendered(_parsed(template).parts, context, context))


def _parsed(template: str) -> _Block:
    stack = [_Block("template")]
    position, trim = 0, False
    for token in _TOKEN.finditer(template):
        text = template[position : token.start()]
        text = text.lstrip() if trim else text
        stack[-1].add(text.rstrip() if token[1] else text)
        position, trim = token.end(), bool(token[3])
        keyword, _, rest = token[2].partition(" ")
        if keyword in ("if", "with"):
            stack.append(_Block(keyword, rest))
        elif keyword == "else" and not rest:
            stack[-1].in_otherwise = True
        elif keyword == "end" and not rest:
            block = stack.pop()
            stack[-1].add(block)
        else:
            stack[-1].add(("expression", token[2]))
    stack[-1].add(template[position:].lstrip() if trim else template[position:])
    assert len(stack) == 1, f"{stack[-1].kind} {stack[-1].expression} has no end"
    return stack[0]


def _rendered(parts: list[Any], dot: Any, root: Mapping[str, Any]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, tuple):
            value = _value(part[1], dot, root)
            yield "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        else:
            value = _value(part.expression, dot, root)
            inner = value if part.kind == "with" and value else dot
            yield from _rendered(part.parts if value else part.otherwise, inner, root)


def _value(pipeline: str, dot: Any, root: Mapping[str, Any]) -> Any:
    value: Any = _MISSING
    for stage in pipeline.split("|"):
        words = _WORD.findall(stage)
        given = [_operand(word, dot, root) for word in words[1:]]
        if value is not _MISSING:
            given.append(value)
        value = _FUNCTIONS[words[0]](*given) if words[0] in _FUNCTIONS else _operand(words[0], dot, root)
    return value


def _operand(word: str, dot: Any, root: Mapping[str, Any]) -> Any:
    if word.startswith('"'):
        return word[1:-1]
    if word.isdigit():
        return int(word)
    assert word.startswith("."), f"what is {word}?"
    value = dot
    for name in filter(None, word.split(".")):
        value = value[name]
    return value


def _to_yaml(value: Any) -> str:
    text: str = yaml.safe_dump(value, sort_keys=True)
    return text.removesuffix("...\n").rstrip("\n")


def _nindent(count: int, text: str) -> str:
    return "".join(f"\n{' ' * count}{line}" for line in text.splitlines())


_FUNCTIONS: dict[str, Any] = {
    "default": lambda other, value: value or other,
    "nindent": _nindent,
    "toYaml": _to_yaml,
}
