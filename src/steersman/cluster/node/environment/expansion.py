"""Expansion of `$(VAR)` in commands, arguments and values. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

__all__ = ["expand", "expand_all", "or_as_written"]

#: A reference, or an escaped sign. Anything else that begins with the sign stays as it is.
_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, value_of: Callable[[str], str]) -> str:
    """The text with `$(NAME)` replaced by what `value_of` says, and `$$` by `$`."""
    if "$" not in text:
        return text
    return _REFERENCE.sub(lambda found: "$" if found[1] is None else value_of(found[1]), text)


def or_as_written(*known: Mapping[str, str]) -> Callable[[str], str]:
    """Looks a name up in these, one after the other; one that is nowhere stays as it was written."""

    def value_of(name: str) -> str:
        for variables in known:
            if name in variables:
                return variables[name]
        return f"$({name})"

    return value_of


def expand_all(texts: Iterable[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """A command or its arguments, with variables."""
    value_of = or_as_written(variables)
    return tuple(expand(text, value_of) for text in texts)
