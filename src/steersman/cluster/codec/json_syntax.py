"""Where and why a text is no JSON, in the words of Go's scanner.

Called only after the fast parser has refused a body. Walks the bytes as Go's state machine does:

  value     { → key   [ → value or ]   " → string   digit → number   letter → literal
  key       " → string, then colon   (first key only) } → end
  end       , → next key or value    } or ] → end of the container    nothing left → done
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["explain"]

_SPACE: Final = b" \t\r\n"
_LITERALS: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_STRING_RUN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS: Final = re.compile(rb"[0-9]*")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_END: Final = "unexpected end of JSON input"
#: Go's decoder gives up on anything deeper.
_DEEPEST: Final = 10_000


class _Fault(Exception):
    pass


def explain(data: bytes) -> str:
    """The message for a text that is no JSON; empty when its syntax is fine."""
    try:
        _Scanner(data).run()
    except _Fault as fault:
        return str(fault)
    return ""


class _Scanner:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        #: Closing brackets of the open containers.
        self._open: list[int] = []

    def run(self) -> None:
        self._value("looking for beginning of value")
        while self._open:
            self._after_value()
        if (char := self._next_char()) is not None:
            raise self._invalid(char, "after top-level value")

    def _next_char(self) -> int | None:
        """The next byte that is no white space, not consumed; None at the end."""
        data, at = self._data, self._at
        while at < len(data) and data[at] in _SPACE:
            at += 1
        self._at = at
        return data[at] if at < len(data) else None

    def _need_char(self) -> int:
        char = self._next_char()
        if char is None:
            raise _Fault(_END)
        return char

    def _byte(self) -> int:
        if self._at >= len(self._data):
            raise _Fault(_END)
        return self._data[self._at]

    @staticmethod
    def _invalid(char: int, where: str) -> _Fault:
        return _Fault(f"invalid character {_quote(char)} {where}")

    def _value(self, where: str) -> None:
        """One scalar, or the opening of a container up to its first scalar or its end."""
        while True:
            char = self._need_char()
            if char not in b"{[":
                self._scalar(char, where)
                return
            self._at += 1
            closing = ord("}") if char == ord("{") else ord("]")
            self._open.append(closing)
            if len(self._open) > _DEEPEST:
                raise _Fault("exceeded max depth")
            if self._need_char() == closing:
                self._at += 1
                self._open.pop()
                return
            if closing == ord("}"):
                self._key()

    def _after_value(self) -> None:
        closing = self._open[-1]
        char = self._need_char()
        if char == closing:
            self._at += 1
            self._open.pop()
            return
        if char != ord(","):
            raise self._invalid(
                char, "after object key:value pair" if closing == ord("}") else "after array element"
            )
        self._at += 1
        if closing == ord("}"):
            self._need_char()
            self._key()
        self._value("looking for beginning of value")

    def _key(self) -> None:
        char = self._need_char()
        if char != ord('"'):
            raise self._invalid(char, "looking for beginning of object key string")
        self._string()
        if (char := self._need_char()) != ord(":"):
            raise self._invalid(char, "after object key")
        self._at += 1

    def _scalar(self, char: int, where: str) -> None:
        if char == ord('"'):
            self._string()
        elif char in _LITERALS:
            self._literal(_LITERALS[char])
        elif char == ord("-") or char in b"0123456789":
            self._number()
        else:
            raise self._invalid(char, where)

    def _literal(self, word: bytes) -> None:
        for expected in word:
            char = self._byte()
            if char != expected:
                raise self._invalid(char, f"in literal {word.decode()} (expecting {_quote(expected)})")
            self._at += 1

    def _string(self) -> None:
        self._at += 1
        while True:
            self._at = _STRING_RUN.match(self._data, self._at).end()  # type: ignore[union-attr]
            char = self._byte()
            if char == ord('"'):
                self._at += 1
                return
            if char != ord("\\"):
                raise self._invalid(char, "in string literal")
            self._at += 1
            char = self._byte()
            if char not in b'bfnrt\\/"u':
                raise self._invalid(char, "in string escape code")
            self._at += 1
            for _ in range(4 if char == ord("u") else 0):
                if (digit := self._byte()) not in _HEX:
                    raise self._invalid(digit, "in \\u hexadecimal character escape")
                self._at += 1

    def _number(self) -> None:
        if self._byte() == ord("-"):
            self._at += 1
            if (char := self._byte()) not in b"0123456789":
                raise self._invalid(char, "in numeric literal")
        if self._byte() == ord("0"):
            self._at += 1
        else:
            self._digits()
        if self._peek(b"."):
            self._at += 1
            self._need_digit("after decimal point in numeric literal")
        if self._peek(b"eE"):
            self._at += 1
            if self._peek(b"+-"):
                self._at += 1
            self._need_digit("in exponent of numeric literal")

    def _peek(self, chars: bytes) -> bool:
        return self._at < len(self._data) and self._data[self._at] in chars

    def _need_digit(self, where: str) -> None:
        if (char := self._byte()) not in b"0123456789":
            raise self._invalid(char, where)
        self._digits()

    def _digits(self) -> None:
        self._at = _DIGITS.match(self._data, self._at).end()  # type: ignore[union-attr]


def _quote(char: int) -> str:
    """A byte as Go quotes it in these messages (it takes each for a character of its own)."""
    special = {
        ord("'"): r"'\''",
        ord("\n"): r"'\n'",
        ord("\t"): r"'\t'",
        ord("\r"): r"'\r'",
        ord("\\"): r"'\\'",
    }
    special |= {7: r"'\a'", 8: r"'\b'", 11: r"'\v'", 12: r"'\f'"}
    if char in special:
        return special[char]
    text = chr(char)
    return f"'{text}'" if text.isprintable() else f"'\\x{char:02x}'" if char < 0x80 else f"'\\u{char:04x}'"
