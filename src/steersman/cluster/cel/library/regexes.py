"""The regex library: `'abc 123'.find('[0-9]+')` and `findAll`."""

from __future__ import annotations

from typing import Final

from steersman.cluster.cel import regex
from steersman.cluster.cel.functions import Function, function, member
from steersman.cluster.cel.library import costs
from steersman.cluster.cel.types import INT, STRING, list_of
from steersman.cluster.cel.values import Frame

__all__ = ["FUNCTIONS"]


def _find_all(_frame: Frame, text: str, expression: str, limit: int = -1) -> list[str]:
    return regex.compiled(expression, "Illegal regex: ").find_all(text, limit)


def _find(frame: Frame, text: str, expression: str) -> str:
    return next(iter(_find_all(frame, text, expression, 1)), "")


FUNCTIONS: Final[list[Function]] = [
    function("find", member("string_find_string", [STRING, STRING], STRING, _find, costs.pattern)),
    function(
        "findAll",
        member("string_find_all_string", [STRING, STRING], list_of(STRING), _find_all, costs.pattern),
        member(
            "string_find_all_string_int", [STRING, STRING, INT], list_of(STRING), _find_all, costs.pattern
        ),
    ),
]
