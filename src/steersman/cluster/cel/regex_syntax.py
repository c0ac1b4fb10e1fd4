"""The parser of regular expressions in RE2's syntax (Go's), with Go's error messages.

Python's own `re` backtracks, so that a rule or object could hang the server. Expressions are therefore run by
`regex`, or written for another engine without backtracking; both need them as a tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from steersman.cluster.cel.unicode_groups import is_group

__all__ = ["Alternate", "Assert", "Chars", "Concat", "Node", "Repeat", "SyntaxProblem", "parse"]


class SyntaxProblem(Exception):
    """Go's error message, from "error parsing regexp" on."""

    def __init__(self, problem: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{part}`")


@dataclass(frozen=True, slots=True)
class Chars:
    """A character class; `negated`: any other character."""

    #: First and last of each range.
    ranges: tuple[tuple[str, str], ...] = ()
    #: Unicode's categories and scripts.
    groups: tuple[str, ...] = ()
    sets: tuple[Chars, ...] = ()
    negated: bool = False
    #: Whether upper and lower case are the same.
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Assert:
    """An assertion: `^` start, `$` end, `(?m)` line-start and line-end, `\\b` boundary, `\\B` inside."""

    place: str


@dataclass(frozen=True, slots=True)
class Concat:
    """A sequence."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternate:
    """Alternatives."""

    choices: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repetition: minimum, maximum, greedy or not."""

    part: Node
    low: int
    high: int | None
    greedy: bool


Node: TypeAlias = Chars | Assert | Concat | Alternate | Repeat

_MOST_REPEATS: Final = 1000
_MOST_NESTED: Final = 200
_COUNTS: Final = re.compile(r"\{(0|[1-9][0-9]{0,7})(?:(,)(0|[1-9][0-9]{0,7})?)?\}")
_NAMED: Final = re.compile(r"\(\?P?<")
_OCTAL: Final = frozenset("01234567")
_HEXADECIMAL: Final = frozenset("0123456789abcdefABCDEF")
_ESCAPES: Final = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_PLACES: Final = {"A": "start", "z": "end", "b": "boundary", "B": "inside"}


def _chars(*ranges: str) -> Chars:
    return Chars(tuple((ends[0], ends[1]) for ends in ranges))


_WORD: Final = _chars("09", "AZ", "az", "__")
_PERL: Final = {"d": _chars("09"), "w": _WORD, "s": _chars("\t\n", "\f\r", "  ")}
_POSIX: Final = {
    "alnum": _chars("09", "AZ", "az"),
    "alpha": _chars("AZ", "az"),
    "ascii": _chars("\0\x7f"),
    "blank": _chars("\t\t", "  "),
    "cntrl": _chars("\0\x1f", "\x7f\x7f"),
    "digit": _chars("09"),
    "graph": _chars("!~"),
    "lower": _chars("az"),
    "print": _chars(" ~"),
    "punct": _chars("!/", ":@", "[`", "{~"),
    "space": _chars("\t\r", "  "),
    "upper": _chars("AZ"),
    "word": _WORD,
    "xdigit": _chars("09", "AF", "af"),
}
_ANY: Final = Chars(negated=True)
_ANY_BUT_NEWLINE: Final = Chars((("\n", "\n"),), negated=True)


def parse(text: str) -> Node:
    """The tree of an expression. Raises SyntaxProblem."""
    try:
        return _Parser(text).whole()
    except RecursionError:
        raise SyntaxProblem("expression nests too deeply", text) from None


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

    def since(self, begin: int) -> str:
        return self.text[begin : self.at]

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
        repeated_at: int | None = None
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            begin = self.at
            bounds = self.bounds()
            if bounds is None:
                parts += self.atoms()
                repeated_at = None
                continue
            greedy = not self.accept("?")
            if repeated_at is not None:
                raise SyntaxProblem("invalid nested repetition operator", self.since(repeated_at))
            if not parts:
                raise SyntaxProblem("missing argument to repetition operator", self.since(begin))
            parts[-1] = Repeat(parts[-1], *bounds, greedy != ("U" in self.flags))
            repeated_at = begin
        return parts[0] if len(parts) == 1 else Concat(tuple(parts))

    def bounds(self) -> tuple[int, int | None] | None:
        """Those of the repetition operator that comes next; None when there is none."""
        for symbol, limits in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.accept(symbol):
                return limits
        counts = _COUNTS.match(self.text, self.at)
        if counts is None:
            return None
        self.at = counts.end()
        least = int(counts[1])
        most = least if not counts[2] else int(counts[3]) if counts[3] else None
        if least > _MOST_REPEATS or (most is not None and (most > _MOST_REPEATS or most < least)):
            raise SyntaxProblem("invalid repeat count", counts[0])
        return least, most

    def atoms(self) -> list[Node]:
        """What comes next: usually one node; none for flags, several for quoted text."""
        char = self.text[self.at]
        if char == "(":
            return self.group()
        if char == "[":
            return [self.bracket()]
        if char == "\\":
            return self.escape()
        self.at += 1
        if char == ".":
            return [_ANY if "s" in self.flags else _ANY_BUT_NEWLINE]
        if char == "^":
            return [Assert("line-start" if "m" in self.flags else "start")]
        if char == "$":
            return [Assert("line-end" if "m" in self.flags else "end")]
        return [self.literal(char)]

    def literal(self, char: str) -> Node:
        return Chars(((char, char),), folded="i" in self.flags)

    def group(self) -> list[Node]:
        begin, outer = self.at, self.flags
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise SyntaxProblem("expression nests too deeply", self.text)
        found: list[Node] = []
        if self.sees("(?") and not _NAMED.match(self.text, begin):
            holds_inside = self.switch(begin)
        else:
            holds_inside = True
            self.name(begin)
        if holds_inside:
            found = [self.alternatives()]
            if not self.accept(")"):
                raise SyntaxProblem("missing closing )", self.text)
            self.flags = outer
        self.depth -= 1
        return found

    def name(self, begin: int) -> None:
        """Past the opening of a group that captures."""
        opening = _NAMED.match(self.text, begin)
        if opening is None:
            self.at = begin + 1
            return
        end = self.text.find(">", begin)
        name = self.text[opening.end() : end]
        if end < 0 or not name.isascii() or not name.replace("_", "a").isalnum():
            shown = self.text[begin:] if end < 0 else self.text[begin : end + 1]
            raise SyntaxProblem("invalid named capture", shown)
        self.at = end + 1

    def switch(self, begin: int) -> bool:
        """Flags; False when they hold for the rest of the group around and there is nothing inside."""
        self.at = begin + 2
        flags, on, seen = set(self.flags), True, False
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char in "imsU":
                (flags.add if on else flags.discard)(char)
                seen = True
            elif char == "-" and on:
                on = seen = False
            elif char in ":)" and (on or seen):
                self.flags = frozenset(flags)
                return char == ":"
            else:
                raise SyntaxProblem("invalid or unsupported Perl syntax", self.since(begin))
        raise SyntaxProblem("missing closing )", self.text)

    def escape(self) -> list[Node]:
        following = self.text[self.at + 1 : self.at + 2]
        if following and following in _PLACES:
            self.at += 2
            return [Assert(_PLACES[following])]
        if following == "Q":
            quoted, _, _ = self.text[self.at + 2 :].partition("\\E")
            self.at = min(self.at + 4 + len(quoted), len(self.text))
            return [self.literal(char) for char in quoted]
        found = self.class_escape()
        if found is None:
            return [self.literal(self.escaped_char())]
        return [replace(found, folded="i" in self.flags)]

    def class_escape(self) -> Chars | None:
        """`\\d`, `\\W`, `\\pL`, `\\P{Lu}`; None when the escape is of a single character."""
        begin = self.at
        letter = self.text[begin + 1 : begin + 2]
        if letter and letter.lower() in _PERL:
            self.at += 2
            return replace(_PERL[letter.lower()], negated=letter.isupper())
        if letter not in ("p", "P"):
            return None
        end = begin + 3
        if self.text[begin + 2 : end] == "{":
            end = self.text.find("}", begin) + 1 or len(self.text)
        self.at = end
        name = self.since(begin)[2:].removeprefix("{").removesuffix("}")
        negated = (letter == "P") != name.startswith("^")
        name = name.removeprefix("^")
        if not is_group(name):
            raise SyntaxProblem("invalid character class range", self.since(begin))
        return Chars(groups=(name,), negated=negated)

    def escaped_char(self) -> str:
        begin = self.at
        if begin + 1 >= len(self.text):
            raise SyntaxProblem("trailing backslash at end of expression", "")
        char = self.text[begin + 1]
        self.at += 2
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "x":
            return self.hexadecimal(begin)
        following = self.text[self.at : self.at + 1]
        # A digit alone would refer to a capture, which nothing without backtracking can do.
        if char == "0" or (char in _OCTAL and following in _OCTAL):
            digits = char
            while len(digits) < 3 and self.text[self.at : self.at + 1] in _OCTAL:
                digits += self.text[self.at]
                self.at += 1
            return chr(int(digits, 8))
        if char.isascii() and not char.isalnum():
            return char
        raise SyntaxProblem("invalid escape sequence", self.since(begin))

    def hexadecimal(self, begin: int) -> str:
        if self.accept("{"):
            end = self.text.find("}", self.at)
            digits = self.text[self.at : end] if end >= 0 else ""
            self.at = end + 1 if end >= 0 else len(self.text)
        else:
            digits = self.text[self.at : self.at + 2]
            self.at = min(self.at + 2, len(self.text))
            digits = digits if len(digits) == 2 else ""
        if not digits or not _HEXADECIMAL.issuperset(digits) or int(digits, 16) > 0x10FFFF:
            raise SyntaxProblem("invalid escape sequence", self.since(begin))
        return chr(int(digits, 16))

    def bracket(self) -> Chars:
        begin = self.at
        self.at += 1
        negated = self.accept("^")
        ranges: list[tuple[str, str]] = []
        sets: list[Chars] = []
        first = True
        while first or not self.sees("]"):
            first = False
            if self.at >= len(self.text):
                raise SyntaxProblem("missing closing ]", self.text[begin:])
            if (found := self.named_class()) is not None:
                sets.append(found)
            else:
                ranges.append(self.range(begin))
        self.at += 1
        return Chars(tuple(ranges), (), tuple(sets), negated, folded="i" in self.flags)

    def named_class(self) -> Chars | None:
        if self.sees("[:") and (end := self.text.find(":]", self.at)) >= 0:
            name = self.text[self.at + 2 : end]
            known = _POSIX.get(name.removeprefix("^"))
            if known is None:
                raise SyntaxProblem("invalid character class range", self.text[self.at : end + 2])
            self.at = end + 2
            return replace(known, negated=name.startswith("^"))
        return self.class_escape() if self.sees("\\") else None

    def range(self, bracket: int) -> tuple[str, str]:
        begin = self.at
        low = self.bracket_char(bracket)
        if not self.sees("-") or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return low, low
        self.at += 1
        high = self.bracket_char(bracket)
        if high < low:
            raise SyntaxProblem("invalid character class range", self.since(begin))
        return low, high

    def bracket_char(self, bracket: int) -> str:
        if self.at >= len(self.text):
            raise SyntaxProblem("missing closing ]", self.text[bracket:])
        if self.sees("\\"):
            return self.escaped_char()
        self.at += 1
        return self.text[self.at - 1]
