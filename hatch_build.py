"""Build hook: boil the schema table of the built-in types into the package (see schema/boil.py)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCHEMA = Path("src/steersman/cluster/schema")


class SchemaTableHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = Path(self.root) / SCHEMA
        boil = _load(folder / "boil.py")
        definitions = boil.find_definitions()
        if definitions is None:
            raise RuntimeError(f"{boil.SOURCE_PACKAGE} is not installed in the build environment")
        boil.boil(definitions, folder)
        build_data["artifacts"] += [f"/{SCHEMA}/{name}" for name in (boil.TABLE, boil.PROSE)]


def _load(path: Path) -> Any:
    """The module by its file: the package around it needs dependencies the build does not have."""
    spec = importlib.util.spec_from_file_location("boil", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
