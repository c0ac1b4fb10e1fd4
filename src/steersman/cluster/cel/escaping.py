"""Escaping of JSON field names as CEL identifiers: `x-prop` is `x__dash__prop`, `namespace` is
`__namespace__`.
"""

from __future__ import annotations

import re
from typing import Final

from steersman.cluster.cel.reserved_words import NOT_NAMES

__all__ = ["escape", "unescape"]

_WORDS: Final = {"__": "underscores", ".": "dot", "-": "dash", "/": "slash"}
_SYMBOLS: Final = {word: symbol for symbol, word in _WORDS.items()}
_NAME: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*", re.ASCII)
_SPECIAL: Final = re.compile(r"__|[-./]")
_ESCAPED: Final = re.compile(r"__([^_]+)__")


def escape(name: str) -> str | None:
    """The identifier a field is reached by, or None when CEL cannot reach it."""
    if name in NOT_NAMES:
        return f"__{name}__"
    if _NAME.fullmatch(name) is None:
        return None
    return _SPECIAL.sub(lambda found: f"__{_WORDS[found.group()]}__", name)


def unescape(identifier: str) -> str | None:
    """The field an identifier stands for, or None when it is none that `escape` makes."""
    whole = _ESCAPED.fullmatch(identifier)
    if whole and whole.group(1) in NOT_NAMES:
        return whole.group(1)
    if any(word not in _SYMBOLS for word in _ESCAPED.findall(identifier)):
        return None
    return _ESCAPED.sub(lambda found: _SYMBOLS[found.group(1)], identifier)
