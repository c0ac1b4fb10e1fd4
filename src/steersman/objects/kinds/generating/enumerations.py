"""Writes enums.py: a Literal for each enumeration, so that mypy knows a misspelled value."""

from __future__ import annotations

import json

from steersman.objects.kinds.generating.description import Description
from steersman.objects.kinds.generating.layout import headed

__all__ = ["enumeration_module"]


def enumeration_module(described: Description) -> str:
    """A Literal for each enumeration, so that a misspelled value is an error of mypy."""
    names = [f"    {json.dumps(name)},\n" for name in described.enums]
    lines = [
        headed("The values that string fields of Kubernetes' types can have."),
        "from typing import Literal, TypeAlias\n\n",
        f"__all__ = [\n{''.join(names)}]\n\n",
    ]
    for name, values in described.enums.items():
        lines.append(f"{name}: TypeAlias = Literal[{', '.join(map(json.dumps, values))}]\n")
    return "".join(lines)
