"""Positions in an expression's source, and error messages with them as kube-apiserver prints them."""

from __future__ import annotations

from dataclasses import dataclass, field

from steersman.cluster.cel.errors import CompileError

__all__ = ["Issues"]

#: cel-go stops listing after this many.
_MOST_ISSUES = 100


@dataclass(slots=True)
class Issues:
    """Collects the errors of one expression; positions are code point offsets."""

    text: str
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, at: int, message: str) -> None:
        if len(self.found) < _MOST_ISSUES and (at, message) not in self.found:
            self.found.append((at, message))

    def raise_any(self) -> None:
        if self.found:
            raise CompileError("compilation failed: " + str(self))

    def __str__(self) -> str:
        return "\n".join(self._shown(at, message) for at, message in sorted(self.found, key=lambda f: f[0]))

    def _shown(self, at: int, message: str) -> str:
        before = self.text[:at]
        line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1)
        source = self.text.split("\n")[line - 1]
        # The caret line repeats wide characters with a full-width dot, as cel-go does.
        dots = "".join("．" if ord(c) > 0xFF else "." for c in source[:column])
        caret = "＾" if column < len(source) and ord(source[column]) > 0xFF else "^"
        shown = source.replace("\t", " ")
        return f"ERROR: <input>:{line}:{column + 1}: {message}\n | {shown}\n | {dots}{caret}"
