"""Regular expressions as Go reads them, matched in linear time.

Schemas are written for Go's regexp package. `translate` reads that syntax, refuses what Go refuses with
Go's words, and writes the same expression for the engine of `jsonschema_rs`, which has no backtracking
either: no pattern and no text can keep the server busy. `matches` is one pattern against one text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from jsonschema_rs import Draft202012Validator, RegexOptions

from steersman.cluster.schema.structural.errors import PatternError

__all__ = ["OPTIONS", "matches", "translate"]

#: How patterns are compiled wherever `jsonschema_rs` is used: without backtracking.
OPTIONS: Final = RegexOptions()

_MOST_REPEATS: Final = 1000
_DEEPEST: Final = 200
#: Ranges of characters, each given by its ends.
Ranges = tuple[str, ...]
_WORD: Final[Ranges] = ("09", "AZ", "az", "__")
_PERL: Final[dict[str, Ranges]] = {"d": ("09",), "w": _WORD, "s": ("\t\n", "\f\r", "  ")}
_POSIX: Final[dict[str, Ranges]] = {
    "alnum": ("09", "AZ", "az"),
    "alpha": ("AZ", "az"),
    "ascii": ("\0\x7f",),
    "blank": ("\t\t", "  "),
    "cntrl": ("\0\x1f", "\x7f\x7f"),
    "digit": ("09",),
    "graph": ("!~",),
    "lower": ("az",),
    "print": (" ~",),
    "punct": ("!/", ":@", "[`", "{~"),
    "space": ("\t\r", "  "),
    "upper": ("AZ",),
    "word": _WORD,
    "xdigit": ("09", "AF", "af"),
}
_CONTROL: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_ANCHORS: Final = {"A": "\\A", "b": "(?-u:\\b)", "B": "(?-u:\\B)", "z": "\\z"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OCTAL: Final = frozenset("01234567")


def matches(pattern: str, text: str) -> bool:
    """Whether Go would find the pattern in the text. Raises PatternError."""
    return _matcher(pattern).is_valid(text)


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Draft202012Validator:
    return _compile(translate(pattern))


def _compile(translated: str) -> Draft202012Validator:
    try:
        return Draft202012Validator({"pattern": translated}, pattern_options=OPTIONS)
    except ValueError:
        raise PatternError("error parsing regexp: expression too large") from None


@lru_cache(maxsize=1024)
def translate(pattern: str) -> str:
    """The pattern for the engine here. Raises PatternError with what Go's compiler says."""
    return _Reader(pattern).read()


class _Reader:
    """Reads an expression from left to right, writing its translation."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._out: list[str] = []
        self._open = 0
        #: Where the last repetition operator began, -1 after anything else.
        self._last_repeat = -1
        self._repeatable = False

    def read(self) -> str:
        while self._at < len(self._text):
            self._one()
        if self._open:
            raise self._error("missing closing )", self._text)
        return "".join(self._out)

    def _error(self, problem: str, shown: str) -> PatternError:
        return PatternError(f"error parsing regexp: {problem}: `{shown}`")

    def _write(self, translated: str, *, repeatable: bool = True) -> None:
        self._out.append(translated)
        self._repeatable = repeatable
        self._last_repeat = -1

    def _one(self) -> None:
        char = self._text[self._at]
        if char == "(":
            self._group()
        elif char == ")":
            if not self._open:
                raise self._error("unexpected )", self._text)
            self._open -= 1
            self._at += 1
            self._write(")")
        elif char == "[":
            self._class()
        elif char == "\\":
            self._escape()
        elif char in "*+?" or (char == "{" and self._counts(self._at) is not None):
            self._repeat(char)
        else:
            self._at += 1
            if char == "|":
                self._write("|", repeatable=False)
            else:
                self._write(char if char in "^$." else _literal(ord(char)))

    def _group(self) -> None:
        start, text = self._at, self._text
        self._open += 1
        if self._open > _DEEPEST:
            raise self._error("expression nests too deeply", text)
        if not text.startswith("(?", start):
            self._at += 1
            self._write("(", repeatable=False)
            return
        name_at = 4 if text.startswith("(?P<", start) else 3 if text.startswith("(?<", start) else 0
        if name_at:
            end = text.find(">", start)
            name = text[start + name_at : end]
            if end < 0 or not name.isascii() or not name.replace("_", "a").isalnum():
                raise self._error("invalid named capture", text[start:] if end < 0 else text[start : end + 1])
            self._at = end + 1
            self._write("(", repeatable=False)
            return
        self._flags(start)

    def _flags(self, start: int) -> None:
        text, at, negative, seen = self._text, start + 2, False, False
        while at < len(text):
            char = text[at]
            at += 1
            if char in "imsU":
                seen = True
            elif char == "-" and not negative:
                negative, seen = True, False
            elif char in ":)" and (seen or not negative):
                if char == ")":
                    self._open -= 1
                self._at = at
                if text[start:at] != "(?)":
                    self._write(text[start:at], repeatable=False)
                return
            else:
                break
        else:
            raise self._error("missing closing )", text)
        raise self._error("invalid or unsupported Perl syntax", text[start:at])

    def _counts(self, at: int) -> tuple[int, int, int] | None:
        """The bounds of {n}, {n,} or {n,m} (-1: no upper bound) and where it ends; None for a plain brace."""
        end = self._text.find("}", at)
        low, comma, high = self._text[at + 1 : end].partition(",")
        if end < 0 or not _is_count(low) or (high and not _is_count(high)):
            return None
        return int(low), int(high) if high else -1 if comma else int(low), end + 1

    def _repeat(self, char: str) -> None:
        start, text = self._at, self._text
        if char == "{":
            low, high, end = self._counts(start) or (0, 0, 0)
            if low > _MOST_REPEATS or high > _MOST_REPEATS or 0 <= high < low:
                raise self._error("invalid repeat count", text[start:end])
        else:
            end = start + 1
        if text[end : end + 1] == "?":
            end += 1
        if self._last_repeat >= 0:
            raise self._error("invalid nested repetition operator", text[self._last_repeat : end])
        if not self._repeatable:
            raise self._error("missing argument to repetition operator", text[start:end])
        self._at = end
        self._out.append(text[start:end])
        self._last_repeat = start

    def _escape(self) -> None:
        text, at = self._text, self._at
        following = text[at + 1 : at + 2]
        if following in _ANCHORS and following:
            self._at += 2
            self._write(_ANCHORS[following])
        elif following == "C":
            raise self._error("invalid escape sequence", "\\C")
        elif following == "Q":
            end = text.find("\\E", at)
            quoted = text[at + 2 :] if end < 0 else text[at + 2 : end]
            self._at = len(text) if end < 0 else end + 2
            for char in quoted:
                self._write(_literal(ord(char)))
        elif (members := self._class_escape()) is not None:
            self._write(f"[{members}]")
        else:
            self._write(_literal(self._escaped_char()))

    def _class_escape(self) -> str | None:
        r"""\d, \W, \pL, \P{Greek}: as members of a class; None when no such escape is next."""
        text, at = self._text, self._at
        kind = text[at + 1 : at + 2]
        if kind.lower() in _PERL and kind:
            self._at += 2
            return _members(_PERL[kind.lower()], negated=kind.isupper())
        if kind not in ("p", "P"):
            return None
        end = at + 3
        if text[at + 2 : at + 3] == "{":
            end = text.find("}", at) + 1
            if not end:
                raise self._error("invalid character class range", text[at:])
        shown = text[at:end]
        name = shown[2:].strip("{}")
        negated = (kind == "P") != name.startswith("^")
        translated = f"\\{'P' if negated else 'p'}{{{name.removeprefix('^')}}}"
        try:
            _compile(translated)
        except PatternError:
            raise self._error("invalid character class range", shown) from None
        self._at = end
        return translated

    def _escaped_char(self) -> int:
        """The character that an escape stands for, alone or in a class."""
        text, start = self._text, self._at
        if start + 1 >= len(text):
            raise self._error("trailing backslash at end of expression", "")
        char = text[start + 1]
        self._at = start + 2
        if char in _OCTAL and (char == "0" or text[self._at : self._at + 1] in _OCTAL):
            digits = char
            while len(digits) < 3 and text[self._at : self._at + 1] in _OCTAL:
                digits += text[self._at]
                self._at += 1
            return int(digits, 8)
        if char == "x":
            return self._hexadecimal(start)
        if char in _CONTROL:
            return _CONTROL[char]
        if char.isascii() and not char.isalnum():
            return ord(char)
        raise self._error("invalid escape sequence", text[start : start + 2])

    def _hexadecimal(self, start: int) -> int:
        text, at = self._text, start + 2
        if text[at : at + 1] == "{":
            end = text.find("}", at)
            digits, after = text[at + 1 : end], end + 1
        else:
            digits, after = text[at : at + 2], at + 2
            end = 0 if len(digits) == 2 else -1
        if end < 0 or not digits or not _HEX.issuperset(digits) or int(digits, 16) > 0x10FFFF:
            raise self._error("invalid escape sequence", text[start:] if end < 0 else text[start:after])
        self._at = after
        return int(digits, 16)

    def _class(self) -> None:
        text, start = self._text, self._at
        self._at += 1
        negated = text.startswith("^", self._at)
        self._at += negated
        members, first = [], True
        while first or text[self._at : self._at + 1] != "]":
            first = False
            if self._at >= len(text):
                raise self._error("missing closing ]", text[start:])
            members.append(self._member(start))
        self._at += 1
        self._write(f"[{'^' if negated else ''}{''.join(members)}]")

    def _member(self, start: int) -> str:
        text = self._text
        if text.startswith("[:", self._at) and (end := text.find(":]", self._at)) >= 0:
            shown = text[self._at : end + 2]
            name = shown[2:-2]
            if name.removeprefix("^") not in _POSIX:
                raise self._error("invalid character class range", shown)
            self._at = end + 2
            return _members(_POSIX[name.removeprefix("^")], negated=name.startswith("^"))
        if text[self._at] == "\\" and (members := self._class_escape()) is not None:
            return members
        begin = self._at
        low = high = self._class_char(start)
        if text.startswith("-", self._at) and text[self._at + 1 : self._at + 2] not in ("]", ""):
            self._at += 1
            high = self._class_char(start)
            if high < low:
                raise self._error("invalid character class range", text[begin : self._at])
        return _literal(low) if low == high else f"{_literal(low)}-{_literal(high)}"

    def _class_char(self, start: int) -> int:
        if self._at >= len(self._text):
            raise self._error("missing closing ]", self._text[start:])
        if self._text[self._at] == "\\":
            return self._escaped_char()
        self._at += 1
        return ord(self._text[self._at - 1])


def _members(ranges: Ranges, *, negated: bool) -> str:
    """Ranges, or all that lies between them, as the inside of a class."""
    bounds = sorted((ord(ends[0]), ord(ends[1])) for ends in ranges)
    if negated:
        ends = [-1, *(end for bound in bounds for end in bound), 0x110000]
        gaps = zip(ends[::2], ends[1::2], strict=True)
        bounds = [(low + 1, high - 1) for low, high in gaps if high - low > 1]
    return "".join(f"{_literal(low)}-{_literal(high)}" for low, high in bounds)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and not (len(text) > 1 and text[0] == "0") and len(text) < 9


def _literal(code: int) -> str:
    """One character, safe inside and outside of classes."""
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\x{{{code:X}}}"
