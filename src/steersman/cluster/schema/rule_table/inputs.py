"""What the compiled validation rules depend on, and a digest that tells whether they are up to date.

Read whenever a process validates its first object, so it imports little.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Final

__all__ = ["RULES_FILE", "digest"]

_FOLDER: Final = Path(__file__).parents[1]
RULES_FILE: Final = _FOLDER / "rules.txt"
_TEXTS: Final = (RULES_FILE, _FOLDER / "enums.txt", _FOLDER / "wire.txt")


def digest(table: Path) -> int:
    """Of the rules, of what they are compiled with, and of the size of the schema table."""
    value = table.stat().st_size
    for file in (*_TEXTS, *sorted(Path(__file__).parent.glob("*.py"))):
        value = zlib.crc32(file.read_bytes(), value)
    return value
