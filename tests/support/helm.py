"""Renders the part of Helm's template language that our chart uses; what it does not know is an error.

Actions: define, include, if / else / end, range, with, comments. Functions: those of `_FUNCTIONS`. Enough to
see that a chart renders and to what; no stand-in for Helm.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+')
_WORDS = ("if", "else", "end", "range", "with", "define")

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "toYaml": lambda value: yaml.safe_dump(value, sort_keys=False, default_flow_style=False).rstrip("\n"),
    "nindent": lambda count, text: "\n" + "\n".join(" " * count + line if line else line for line in text.split("\n")),
    "quote": lambda value: '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"',
    "default": lambda fallback, value: value or fallback,
    "list": lambda *values: list(values),
    "lower": lambda text: text.lower(),
    "not": lambda value: not value,
}  # fmt: skip


def render(
    chart: Path, name: str, namespace: str, values: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The objects of a release, with values over those of the chart."""
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    assert about["apiVersion"] == "v2"
    root = {
        "Values": _merged(yaml.safe_load((chart / "values.yaml").read_text()), values or {}),
        "Release": {"Name": name, "Namespace": namespace},
        "Chart": about,
    }
    templates = [file for file in (chart / "templates").iterdir() if file.suffix in (".tpl", ".yaml")]
    files = sorted(templates, key=lambda file: (file.suffix != ".tpl", file.name))
    renderer = _Renderer(root)
    texts = [renderer.render(file.read_text()) for file in files]
    return [found for text in texts for found in yaml.safe_load_all(text) if found is not None]


def _merged(below: Any, above: Any) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        return {key: _merged(below[key], above[key]) if key in below and key in above else {**below, **above}[key]
                for key in {**below, **above}}  # fmt: skip
    return above


class _Renderer:
    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._defined: dict[str, list[str]] = {}

    def render(self, template: str) -> str:
        return self._block(_parts(template), self._root)

    def _block(self, parts: Sequence[str], dot: Any) -> str:
        """Texts are at even places, actions at odd ones."""
        out, place = [], 0
        while place < len(parts):
            if place % 2 == 0:
                out.append(parts[place])
                place += 1
                continue
            action = parts[place]
            word = action.split(None, 1)[0] if action else ""
            if action.startswith("/*"):
                place += 1
            elif word in _WORDS:
                end, otherwise = _end(parts, place)
                body = parts[place + 1 : otherwise or end]
                rest = parts[otherwise + 1 : end] if otherwise else []
                out.append(self._control(word, action.removeprefix(word), body, rest, dot))
                place = end + 1
            else:
                out.append(_shown(self._value(action, dot)))
                place += 1
        return "".join(out)

    def _control(self, word: str, argument: str, body: Sequence[str], rest: Sequence[str], dot: Any) -> str:
        if word == "define":
            self._defined[argument.strip().strip('"')] = list(body)
            return ""
        assert word in ("if", "with", "range"), f"{word} stands alone"
        value = self._value(argument, dot)
        if not value:
            return self._block(rest, dot)
        if word == "range":
            return "".join(self._block(body, each) for each in value)
        return self._block(body, value if word == "with" else dot)

    def _value(self, text: str, dot: Any) -> Any:
        tokens = _TOKEN.findall(text)
        value = self._pipeline(tokens, dot)
        assert not tokens, f"{text}: what is {tokens}?"
        return value

    def _pipeline(self, tokens: list[str], dot: Any) -> Any:
        """Takes from `tokens` up to their end or a closing parenthesis."""
        value = self._call(tokens, dot, ())
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            value = self._call(tokens, dot, (value,))
        return value

    def _call(self, tokens: list[str], dot: Any, last: tuple[Any, ...]) -> Any:
        name = tokens[0]
        if name not in _FUNCTIONS and name != "include":
            assert not last, f"{name} takes no value"
            return self._operand(tokens, dot)
        tokens.pop(0)
        arguments = []
        while tokens and tokens[0] not in ("|", ")"):
            arguments.append(self._operand(tokens, dot))
        if name == "include":
            template, scope = arguments
            return self._block(self._defined[template], scope)
        return _FUNCTIONS[name](*arguments, *last)

    def _operand(self, tokens: list[str], dot: Any) -> Any:
        token = tokens.pop(0)
        if token == "(":
            value = self._pipeline(tokens, dot)
            assert tokens.pop(0) == ")"
            return value
        if token.startswith('"'):
            return yaml.safe_load(token)
        if token.isdecimal():
            return int(token)
        start, _, path = token.partition(".")
        assert start in ("", "$"), f"unknown function {token}"
        value = self._root if start else dot
        for key in filter(None, path.split(".")):
            assert isinstance(value, dict), f"{token}: {key} of what is no object"
            assert key in value, f"{token} is not among the values"
            value = value[key]
        return value


def _parts(template: str) -> list[str]:
    parts, place, trims = [], 0, False
    for opening in re.finditer(r"\{\{-?(.*?)-?\}\}", template, re.DOTALL):
        text = template[place : opening.start()]
        text = text.lstrip() if trims else text
        parts += [text.rstrip() if opening[0].startswith("{{-") else text, opening[1].strip()]
        trims, place = opening[0].endswith("-}}"), opening.end()
    rest = template[place:]
    return [*parts, rest.lstrip() if trims else rest]


def _end(parts: Sequence[str], start: int) -> tuple[int, int | None]:
    """Where the block that starts there ends, and where its `else` is."""
    depth, otherwise = 0, None
    for place in range(start, len(parts), 2):
        word = parts[place].split(None, 1)[0] if parts[place] else ""
        if word in ("if", "range", "with", "define"):
            depth += 1
        elif word == "else" and depth == 1:
            otherwise = place
        elif word == "end":
            depth -= 1
            if depth == 0:
                return place, otherwise
    raise AssertionError(f"no end: {parts[start]}")


def _shown(value: Any) -> str:
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
