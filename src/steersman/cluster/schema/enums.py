"""The values that string fields can have, read from enums.txt (whose head explains it)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["ENUMS_FILE", "enumerations"]

ENUMS_FILE: Final = Path(__file__).with_name("enums.txt")
_PREFIX: Final = "io.k8s.api."
_EXTENSIONS: Final = "apiextensions."


def enumerations() -> dict[str, dict[str, list[str]]]:
    """Type name → field → values. Not kept: documents are."""
    found: dict[str, dict[str, list[str]]] = {}
    values: list[str] = []
    for line in ENUMS_FILE.read_text("utf-8").splitlines():
        if line.startswith("  "):
            name, _, field = line.strip().rpartition(".")
            found.setdefault(_type_name(name), {})[field] = values
        elif line and not line.startswith("#"):
            values = line.split("|")
    return found


def _type_name(name: str) -> str:
    if name.startswith(_EXTENSIONS):
        return f"io.k8s.apiextensions-apiserver.pkg.apis.{name}"
    return _PREFIX + name
