"""The order of API versions by their names."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["version_rank"]

_VERSION: Final = re.compile(r"v([1-9][0-9]*)(?:(beta|alpha)([1-9][0-9]*))?")
_STAGES: Final = (None, "beta", "alpha")


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Sorts versions: stable before beta before alpha, newer first, then all other names."""
    parts = _VERSION.fullmatch(version)
    if parts is None:
        return (len(_STAGES), 0, 0, version)
    major, stage, minor = parts.groups()
    return (_STAGES.index(stage), -int(major), -int(minor or 0), "")
