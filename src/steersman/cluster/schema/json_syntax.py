"""Where and why a text is not JSON, in the words of Go's scanner.

The codec asks after the fast parser has refused a body, validation where a field must hold JSON. The grammar
is followed by hand only to name the first wrong character.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["json_syntax_error"]

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS: Final = re.compile(rb"[0-9]*")
_LITERALS: Final = {ord(word[:1]): word for word in (b"true", b"false", b"null")}
#: Go's decoder gives up on anything deeper.
_DEEPEST: Final = 10_000


def json_syntax_error(text: bytes) -> str:
    """Why this is not JSON; empty when it is."""
    try:
        _Reader(text).document()
    except _SyntaxError as error:
        return str(error)
    return ""


class _SyntaxError(ValueError):
    pass


class _Reader:
    """Reads one document from start to end, raising at the first character that cannot stand there."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0

    def document(self) -> None:
        """Nesting is kept in a list of closing brackets, so that depth costs no stack."""
        open_brackets: list[int] = []
        value_due = True
        while value_due or open_brackets:
            if value_due:
                value_due = self._value(open_brackets)
            else:
                value_due = self._after_value(open_brackets)
        self._skip(_SPACE)
        if self._at < len(self._text):
            raise self._wrong("after top-level value")

    def _value(self, open_brackets: list[int]) -> bool:
        """Reads a scalar or the start of a container; tells whether a value must follow."""
        first = self._next_visible()
        if first in b"{[" and len(open_brackets) >= _DEEPEST:
            raise self._wrong("exceeded max depth")
        if first == ord("{"):
            self._at += 1
            if self._next_visible() == ord("}"):
                self._at += 1
                return False
            self._key()
            open_brackets.append(ord("}"))
            return True
        if first == ord("["):
            self._at += 1
            if self._next_visible() == ord("]"):
                self._at += 1
                return False
            open_brackets.append(ord("]"))
            return True
        if first == ord('"'):
            self._string()
        elif first in _LITERALS:
            self._literal(_LITERALS[first])
        elif first in b"-0123456789":
            self._number()
        else:
            raise self._wrong("looking for beginning of value")
        return False

    def _after_value(self, open_brackets: list[int]) -> bool:
        closing = open_brackets[-1]
        found = self._next_visible()
        if found == closing:
            self._at += 1
            open_brackets.pop()
            return False
        if found != ord(","):
            raise self._wrong("after object key:value pair" if closing == ord("}") else "after array element")
        self._at += 1
        if closing == ord("}"):
            self._key()
        return True

    def _key(self) -> None:
        if self._next_visible() != ord('"'):
            raise self._wrong("looking for beginning of object key string")
        self._string()
        if self._next_visible() != ord(":"):
            raise self._wrong("after object key")
        self._at += 1

    def _string(self) -> None:
        self._at += 1
        while True:
            self._skip(_PLAIN)
            found = self._next()
            if found == ord('"'):
                self._at += 1
                return
            if found != ord("\\"):
                raise self._wrong("in string literal")
            self._at += 1
            escape = self._next()
            if escape not in b'"\\/bfnrtu':
                raise self._wrong("in string escape code")
            self._at += 1
            for _ in range(4 if escape == ord("u") else 0):
                if self._next() not in b"0123456789abcdefABCDEF":
                    raise self._wrong("in \\u hexadecimal character escape")
                self._at += 1

    def _literal(self, word: bytes) -> None:
        for expected in word:
            if self._next() != expected:
                raise self._wrong(f"in literal {word.decode()} (expecting '{chr(expected)}')")
            self._at += 1

    def _number(self) -> None:
        if self._next() == ord("-"):
            self._at += 1
        if self._next() == ord("0"):
            self._at += 1
        else:
            self._digits("in numeric literal")
        if self._peek() == ord("."):
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._peek() in (ord("e"), ord("E")):
            self._at += 1
            if self._next() in b"+-":
                self._at += 1
            self._digits("in exponent of numeric literal")

    def _digits(self, context: str) -> None:
        if self._next() not in b"0123456789":
            raise self._wrong(context)
        self._skip(_DIGITS)

    def _skip(self, pattern: re.Pattern[bytes]) -> None:
        matched = pattern.match(self._text, self._at)
        self._at = matched.end() if matched else self._at

    def _peek(self) -> int:
        return self._text[self._at] if self._at < len(self._text) else -1

    def _next(self) -> int:
        if self._at >= len(self._text):
            raise _SyntaxError("unexpected end of JSON input")
        return self._text[self._at]

    def _next_visible(self) -> int:
        self._skip(_SPACE)
        return self._next()

    def _wrong(self, context: str) -> _SyntaxError:
        return _SyntaxError(f"invalid character {_quoted(self._next())} {context}")


def _quoted(byte: int) -> str:
    if byte == ord("'"):
        return r"'\''"
    shown = {0x5C: r"\\", 0x07: r"\a", 0x08: r"\b", 0x0C: r"\f", 0x0B: r"\v"}
    shown |= {0x0A: r"\n", 0x0D: r"\r", 0x09: r"\t"}
    character = chr(byte)
    if byte in shown:
        return f"'{shown[byte]}'"
    if character.isprintable():
        return f"'{character}'"
    return f"'\\x{byte:02x}'" if byte < 0x80 else f"'\\u{byte:04x}'"
