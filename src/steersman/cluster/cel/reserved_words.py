"""Reserved words of CEL, which cannot be identifiers."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["NOT_NAMES", "RESERVED", "is_identifier"]

#: Words that no identifier may be, kept for later versions of the language.
RESERVED: Final = frozenset({
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
})  # fmt: skip
#: With those that are tokens of their own.
NOT_NAMES: Final = RESERVED | {"true", "false", "null", "in"}

_identifier = re.compile("[_a-zA-Z][_a-zA-Z0-9]*").fullmatch


def is_identifier(name: str) -> bool:
    return _identifier(name) is not None and name not in NOT_NAMES
