"""The schema table of the built-in types, loaded once: schemas by type name, type names by kind.

`table_building` makes the table at build time. In a plain checkout it is made on first use, if the package
with the published definitions is installed.
"""

from __future__ import annotations

import hashlib
import zlib
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

from steersman.cluster.schema import table_building
from steersman.cluster.schema.enums import ENUMS_FILE
from steersman.cluster.schema.errors import TableMissing
from steersman.cluster.schema.resources import GVK

__all__ = ["definition", "kinds", "prose", "table", "table_digest", "table_file", "type_name"]

_FOLDER: Final = Path(__file__).parent


@cache
def table() -> dict[str, dict[str, Any]]:
    """Type name → schema (OpenAPI without prose; `$ref` holds a bare type name)."""
    loaded: dict[str, dict[str, Any]] = orjson.loads(_read(table_building.TABLE))
    return loaded


@cache
def table_digest() -> str:
    """A hash of the table and what goes with it: documents made from the same are the same."""
    return hashlib.sha256(
        _read(table_building.TABLE) + _read(table_building.PROSE) + ENUMS_FILE.read_bytes()
    ).hexdigest()


def prose() -> dict[str, tuple[str, dict[str, str]]]:
    """Type name → (description, field → description). Large, hence not kept here."""
    loaded: dict[str, tuple[str, dict[str, str]]] = orjson.loads(zlib.decompress(_read(table_building.PROSE)))
    return loaded


def definition(name: str) -> dict[str, Any]:
    """The schema of a type. Raises KeyError."""
    return table()[name]


@cache
def kinds() -> dict[GVK, str]:
    """Every built-in kind, lists included, and the name of its type."""
    return {
        GVK(gvk["group"], gvk["version"], gvk["kind"]): name
        for name, schema in table().items()
        for gvk in schema.get("x-kubernetes-group-version-kind", ())
    }


def type_name(gvk: GVK) -> str | None:
    """io.k8s.api.apps.v1.Deployment for apps/v1 Deployment; None when the kind is not built in."""
    return kinds().get(gvk)


def table_file() -> Path:
    """The file of the schema table, made if it is missing. Raises TableMissing."""
    return _made(table_building.TABLE)


def _read(name: str) -> bytes:
    return _made(name).read_bytes()


def _made(name: str) -> Path:
    path = _FOLDER / name
    if not path.exists():
        definitions = table_building.find_definitions()
        if definitions is None:
            raise TableMissing
        table_building.build(definitions, _FOLDER)
    return path
