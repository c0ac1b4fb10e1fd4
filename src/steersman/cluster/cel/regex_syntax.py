"""Reads a regular expression in RE2's syntax (Go's), with Go's complaints.

Python's own `re` backtracks, so that a rule or object could hang the server; expressions are run by `regex`
instead, which needs them as a tree.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = ["Alternate", "Assert", "Chars", "Concat", "Node", "Repeat", "SyntaxProblem", "parse"]

Test: TypeAlias = Callable[[str], bool]


class SyntaxProblem(Exception):
    """Go's text, from "error parsing regexp" on."""

    def __init__(self, problem: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{part}`")


@dataclass(frozen=True, slots=True)
class Chars:
    """One character for which the test holds."""

    test: Test


@dataclass(frozen=True, slots=True)
class Assert:
    """A place: `^` start, `$` end, `(?m)` line-start and line-end, `\\b` boundary, `\\B` inside."""

    place: str


@dataclass(frozen=True, slots=True)
class Concat:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternate:
    choices: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    part: Node
    low: int
    high: int | None
    greedy: bool


Node: TypeAlias = Chars | Assert | Concat | Alternate | Repeat

_MOST_REPEATS: Final = 1000
_MOST_NESTED: Final = 100
_ESCAPES: Final = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_PERL: Final[dict[str, Test]] = {
    "d": lambda c: "0" <= c <= "9",
    "s": lambda c: c in "\t\n\f\r ",
    "w": lambda c: c.isascii() and (c.isalnum() or c == "_"),
}
_POSIX: Final[dict[str, Test]] = {
    "alnum": lambda c: c.isascii() and c.isalnum(),
    "alpha": lambda c: c.isascii() and c.isalpha(),
    "ascii": str.isascii,
    "blank": lambda c: c in "\t ",
    "cntrl": lambda c: c < " " or c == "\x7f",
    "digit": _PERL["d"],
    "graph": lambda c: "!" <= c <= "~",
    "lower": lambda c: "a" <= c <= "z",
    "print": lambda c: " " <= c <= "~",
    "punct": lambda c: "!" <= c <= "~" and not c.isalnum(),
    "space": lambda c: c in "\t\n\v\f\r ",
    "upper": lambda c: "A" <= c <= "Z",
    "word": _PERL["w"],
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}


def parse(text: str) -> Node:
    """The tree of an expression. Raises SyntaxProblem."""
    return _Parser(text).whole()


def _negated(test: Test) -> Test:
    return lambda c: not test(c)


def _any_of(tests: list[Test]) -> Test:
    return lambda c: any(test(c) for test in tests)


def _folded(test: Test) -> Test:
    return lambda c: test(c) or test(c.lower()[:1]) or test(c.upper()[:1])


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.flags: frozenset[str] = frozenset()

    def sees(self, part: str) -> bool:
        return self.text.startswith(part, self.at)

    def accept(self, part: str) -> bool:
        if not self.sees(part):
            return False
        self.at += len(part)
        return True

    def whole(self) -> Node:
        node = self.alternatives()
        if self.at < len(self.text):
            raise SyntaxProblem("unexpected )", self.text)
        return node

    def alternatives(self) -> Node:
        choices = [self.sequence()]
        while self.accept("|"):
            choices.append(self.sequence())
        return choices[0] if len(choices) == 1 else Alternate(tuple(choices))

    def sequence(self) -> Node:
        parts: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            begin = self.at
            node = self.atom()
            if node is not None:
                parts.append(self.repeated(node, begin))
        return parts[0] if len(parts) == 1 else Concat(tuple(parts))

    def repeated(self, node: Node, begin: int) -> Node:
        before: int | None = None
        while self.at < len(self.text):
            here = self.at
            bounds = self.bounds()
            if bounds is None:
                break
            greedy = not self.accept("?")
            if before is not None:
                raise SyntaxProblem("invalid nested repetition operator", self.text[before : self.at])
            before = here
            node = Repeat(node, *bounds, greedy != ("U" in self.flags))
        return node

    def bounds(self) -> tuple[int, int | None] | None:
        for symbol, limits in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.accept(symbol):
                return limits
        if not self.sees("{"):
            return None
        end = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not low.isdecimal() or (high and not high.isdecimal()) or len(low + high) > 12:
            return None
        least = int(low)
        most = least if not comma else (int(high) if high else None)
        self.at = end + 1
        if least > _MOST_REPEATS or (most is not None and (most > _MOST_REPEATS or most < least)):
            raise SyntaxProblem("invalid repeat count", "{" + low + comma + high + "}")
        return least, most

    def atom(self) -> Node | None:
        char = self.text[self.at]
        if char in "*+?":
            end = self.at + 1
            raise SyntaxProblem("missing argument to repetition operator", self.text[self.at : end])
        if char == "(":
            return self.group()
        if char == "[":
            return Chars(self.bracket())
        if char == "\\":
            return self.escape()
        self.at += 1
        if char == ".":
            return Chars(lambda c: True) if "s" in self.flags else Chars(lambda c: c != "\n")
        if char == "^":
            return Assert("line-start" if "m" in self.flags else "start")
        if char == "$":
            return Assert("line-end" if "m" in self.flags else "end")
        return self.literal(char)

    def literal(self, char: str) -> Node:
        if "i" in self.flags:
            return Chars(_folded(lambda c: c == char))
        return Chars(char.__eq__)

    def group(self) -> Node | None:
        begin = self.at
        self.at += 1
        outer = self.flags
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise SyntaxProblem("expression nests too deeply", self.text)
        if self.accept("?") and not self.named(begin) and self.switched(begin):
            self.depth -= 1
            return None
        node = self.alternatives()
        if not self.accept(")"):
            raise SyntaxProblem("missing closing )", self.text)
        self.flags = outer
        self.depth -= 1
        return node

    def named(self, begin: int) -> bool:
        if not (self.accept("P<") or self.accept("<")):
            return False
        end = self.text.find(">", self.at)
        name = self.text[self.at : end] if end >= 0 else ""
        if not name or not name.replace("_", "a").isalnum():
            raise SyntaxProblem(
                "invalid named capture", self.text[begin : end + 1] if end >= 0 else self.text[begin:]
            )
        self.at = end + 1
        return True

    def switched(self, begin: int) -> bool:
        """Flags; True when they hold for the rest of the group and there is nothing inside."""
        flags, on = set(self.flags), True
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char in "imsU":
                (flags.add if on else flags.discard)(char)
            elif char == "-" and on:
                on = False
            elif char in ":)":
                self.flags = frozenset(flags)
                return char == ")"
            else:
                break
        raise SyntaxProblem("invalid or unsupported Perl syntax", self.text[begin : self.at])

    def escape(self) -> Node | None:
        following = self.text[self.at + 1 : self.at + 2]
        places = {"A": "start", "z": "end", "b": "boundary", "B": "inside"}
        if following in places and following:
            self.at += 2
            return Assert(places[following])
        if following == "Q":
            end = self.text.find("\\E", self.at)
            quoted = self.text[self.at + 2 : end if end >= 0 else len(self.text)]
            self.at = end + 2 if end >= 0 else len(self.text)
            return Concat(tuple(self.literal(char) for char in quoted))
        test = self.class_escape()
        if test is not None:
            return Chars(test)
        return self.literal(self.escaped_char())

    def class_escape(self) -> Test | None:
        """`\\d`, `\\W`, `\\pL`, `\\P{Lu}`; None when the escape is of a single character."""
        letter = self.text[self.at + 1 : self.at + 2]
        if letter.lower() in _PERL and letter:
            self.at += 2
            test = _PERL[letter.lower()]
            return _negated(test) if letter.isupper() else test
        if letter not in {"p", "P"}:
            return None
        begin = self.at
        self.at += 2
        if self.accept("{"):
            end = self.text.find("}", self.at)
            name = self.text[self.at : end] if end >= 0 else ""
            self.at = end + 1 if end >= 0 else len(self.text)
        else:
            name = self.text[self.at : self.at + 1]
            self.at += 1
        negative = (letter == "P") != name.startswith("^")
        known = _category(name.removeprefix("^"))
        if known is None:
            raise SyntaxProblem("invalid character class range", self.text[begin : self.at])
        return _negated(known) if negative else known

    def escaped_char(self) -> str:
        begin = self.at
        self.at += 1
        if self.at >= len(self.text):
            raise SyntaxProblem("trailing backslash at end of expression", "")
        char = self.text[self.at]
        self.at += 1
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "x":
            return self.hexadecimal(begin)
        if char in "01234567":
            digits = char
            while len(digits) < 3 and self.at < len(self.text) and self.text[self.at] in "01234567":
                digits += self.text[self.at]
                self.at += 1
            if char == "0" or len(digits) > 1:
                return chr(int(digits, 8))
        elif char < "\x80" and not char.isalnum():
            return char
        raise SyntaxProblem("invalid escape sequence", self.text[begin : self.at])

    def hexadecimal(self, begin: int) -> str:
        if self.accept("{"):
            end = self.text.find("}", self.at)
            digits = self.text[self.at : end] if end >= 0 else ""
            self.at = end + 1 if end >= 0 else len(self.text)
        else:
            digits = self.text[self.at : self.at + 2]
            self.at += 2
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            raise SyntaxProblem("invalid escape sequence", self.text[begin : self.at]) from None

    def bracket(self) -> Test:
        begin = self.at
        self.at += 1
        negative = self.accept("^")
        tests: list[Test] = []
        first = True
        while first or not self.sees("]"):
            if self.at >= len(self.text):
                raise SyntaxProblem("missing closing ]", self.text[begin:])
            first = False
            tests.append(self.bracket_item())
        self.at += 1
        test = tests[0] if len(tests) == 1 else _any_of(tests)
        if "i" in self.flags:
            test = _folded(test)
        return _negated(test) if negative else test

    def bracket_item(self) -> Test:
        if self.sees("[:") and (end := self.text.find(":]", self.at)) >= 0:
            name = self.text[self.at + 2 : end]
            whole = self.text[self.at : end + 2]
            known = _POSIX.get(name.removeprefix("^"))
            if known is None:
                raise SyntaxProblem("invalid character class range", whole)
            self.at = end + 2
            return _negated(known) if name.startswith("^") else known
        if self.sees("\\") and (test := self.class_escape()) is not None:
            return test
        begin = self.at
        low = self.bracket_char()
        if not self.sees("-") or self.text[self.at + 1 : self.at + 2] in {"]", ""}:
            return low.__eq__
        self.at += 1
        high = self.bracket_char()
        if high < low:
            raise SyntaxProblem("invalid character class range", self.text[begin : self.at])
        return lambda c: low <= c <= high

    def bracket_char(self) -> str:
        if self.sees("\\"):
            return self.escaped_char()
        self.at += 1
        return self.text[self.at - 1]


_SCRIPTS: Final = (
    "Latin",
    "Greek",
    "Cyrillic",
    "Han",
    "Arabic",
    "Hebrew",
    "Hiragana",
    "Katakana",
    "Thai",
    "Hangul",
)


def _category(name: str) -> Test | None:
    """A Unicode category (`L`, `Lu`) or one of the scripts whose characters' names tell them."""
    if name == "Any":
        return lambda c: True
    if name in _SCRIPTS:
        begins = "CJK" if name == "Han" else name.upper()
        return lambda c: unicodedata.name(c, "").startswith(begins)
    if 1 <= len(name) <= 2 and name[0] in "LMNPSZC":
        return lambda c: unicodedata.category(c).startswith(name)
    return None
