"""The JSON patch library: `jsonpatch.escapeKey`, for mutating admission policies."""

from __future__ import annotations

from typing import Final

from steersman.cluster.cel.functions import Function, function, overload
from steersman.cluster.cel.library import costs
from steersman.cluster.cel.types import STRING
from steersman.cluster.cel.values import Frame

__all__ = ["FUNCTIONS"]


def _escape_key(_frame: Frame, key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


FUNCTIONS: Final[list[Function]] = [
    function(
        "jsonpatch.escapeKey",
        overload("string_jsonpatch_escapeKey_string", [STRING], STRING, _escape_key, costs.of_argument(0)),
    )
]
