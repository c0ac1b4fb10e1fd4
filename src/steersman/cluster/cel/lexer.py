"""The lexer: splits an expression into tokens, with the error messages of cel-go's lexer.

Called by the parser only. Positions are offsets in code points.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from steersman.cluster.cel.source import Issues
from steersman.cluster.cel.values import Uint

__all__ = ["EOF", "Token", "tokenize"]

EOF: Final = "<EOF>"

_ESCAPE: Final = r"[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}"
_escape_sequence = re.compile(rf"\\(?:{_ESCAPE})").match
_TOKEN: Final = re.compile(
    r"""(?P<space>[\t \r\n\u000C]+|//[^\n]*)
    |(?P<string>[bB]?(?:
        \"{3}(?:\\(?:ESCAPE)|[^\\])*?\"{3} | '{3}(?:\\(?:ESCAPE)|[^\\])*?'{3}
        | "(?:\\(?:ESCAPE)|[^\\"\n\r])*" | '(?:\\(?:ESCAPE)|[^\\'\n\r])*'
        | [rR](?:\"{3}[\s\S]*?\"{3} | '{3}[\s\S]*?'{3} | "[^"\n\r]*" | '[^'\n\r]*')
    ))
    |(?P<double>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?))
    |(?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|\d+)
    |(?P<ident>[A-Za-z_]\w*)
    |(?P<escaped>`[A-Za-z0-9_.\-/ ]+`)
    |(?P<op>==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()\[\]{}])""".replace("ESCAPE", _ESCAPE),
    re.VERBOSE | re.ASCII,
)

_ESCAPES: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_escaped_name: Final = re.compile(r"[A-Za-z0-9_.\-/ ]*")
_part_of_escape: Final = re.compile(r"[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?")
_SHOWN: Final = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
_HEX: Final = {"x": 2, "X": 2, "u": 4, "U": 8}


@dataclass(slots=True)
class Token:
    """`kind` is `op`, `ident`, `escaped`, `literal` or EOF; `text` is as written."""

    kind: str
    text: str
    at: int
    value: Any = None


def tokenize(text: str, issues: Issues) -> list[Token]:
    """All tokens, ending with EOF. What begins no token is reported and skipped."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            end = min(_failure(text, at) + 1, len(text))
            shown = text[at:end].translate(_SHOWN)
            issues.add(at, f"Syntax error: token recognition error at: '{shown}'")
            at = end
            continue
        kind, word = str(match.lastgroup), match.group()
        if kind == "string":
            tokens.append(Token("literal", word, at, _string(word, at, issues)))
        elif kind in {"double", "uint", "int"}:
            tokens.append(Token("literal", word, at, _number(kind, word, at, issues)))
        elif kind == "ident" and word in {"true", "false", "null"}:
            tokens.append(Token("literal", word, at, {"true": True, "false": False, "null": None}[word]))
        elif kind == "ident" and word == "in":
            tokens.append(Token("op", word, at))
        elif kind != "space":
            tokens.append(Token(kind, word, at))
        at = match.end()
    tokens.append(Token(EOF, EOF, at))
    return tokens


def _failure(text: str, at: int) -> int:
    """The first character that cannot be part of any token beginning here."""
    first = text[at]
    if first in "=&|":
        return at + 1
    if first == "`":
        return _end_of(_escaped_name, text, at + 1)
    if first not in "\"'":
        return at
    end = at + 1
    while end < len(text) and text[end] not in "\r\n":
        if text[end] != "\\":
            end += 1
        elif found := _escape_sequence(text, end):
            end = found.end()
        else:
            return _end_of(_part_of_escape, text, end + 1)
    return end


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _number(kind: str, word: str, at: int, issues: Issues) -> Any:
    if kind == "double":
        value = float(word)
        if value in {float("inf")}:
            issues.add(at, "invalid double literal")
        return value
    digits = word.rstrip("uU") if kind == "uint" else word
    number = int(digits, 16) if digits.startswith("0x") else int(digits)
    if kind == "uint":
        if number >= 2**64:
            issues.add(at, "invalid uint literal")
        return Uint(number)
    # Whether it is too large is the parser's to say: it may be the operand of a minus.
    return number


def _string(word: str, at: int, issues: Issues) -> str | bytes:
    """The value of a string or bytes literal."""
    prefix = word[: min(word.find(quote) for quote in "\"'" if quote in word)].lower()
    width = 3 if word[len(prefix) :].startswith(('"""', "'''")) and len(word) - len(prefix) >= 6 else 1
    body = word[len(prefix) + width : -width]
    is_bytes = "b" in prefix
    try:
        return _unescape(body, "r" in prefix, is_bytes)
    except ValueError as error:
        issues.add(at, str(error))
        return b"" if is_bytes else ""


def _unescape(body: str, raw: bool, is_bytes: bool) -> str | bytes:
    body = body.replace("\r\n", "\n").replace("\r", "\n")
    if raw or "\\" not in body:
        return body.encode() if is_bytes else body
    out = bytearray()
    at = 0
    while at < len(body):
        if body[at] != "\\":
            out += body[at].encode()
            at += 1
            continue
        piece, at = _escape(body, at + 1, is_bytes)
        out += piece
    return bytes(out) if is_bytes else out.decode("utf-8", "surrogatepass")


def _escape(body: str, at: int, is_bytes: bool) -> tuple[bytes, int]:
    """One escape sequence, `at` being just behind its backslash."""
    if at >= len(body):
        raise ValueError("unable to unescape string, found '\\' as last character")
    letter = body[at]
    if letter in _ESCAPES:
        return _ESCAPES[letter].encode(), at + 1
    if letter in _HEX and not (is_bytes and letter in "uU"):
        digits = body[at + 1 : at + 1 + _HEX[letter]]
        base, end = 16, at + 1 + _HEX[letter]
        wanted = _HEX[letter]
    elif letter in "0123":
        digits, base, end, wanted = body[at : at + 3], 8, at + 3, 3
    else:
        raise ValueError("unable to unescape string")
    try:
        number = int(digits, base) if len(digits) == wanted else -1
    except ValueError:
        number = -1
    if number < 0 or number > 0x10FFFF or 0xD800 <= number < 0xE000:
        raise ValueError("invalid unicode code point" if letter in "uU" else "unable to unescape string")
    return (bytes((number,)) if is_bytes else chr(number).encode()), end
