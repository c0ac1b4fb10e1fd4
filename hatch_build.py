"""Build hook: make what is compiled from text into the package: the schema table and the validation rules.

See schema/boil.py and schema/rule_table/building.py.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib import import_module
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
        _compile_rules(Path(self.root) / "src", folder / boil.TABLE)
        build_data["artifacts"].append(f"/{SCHEMA}/validation/compiled/_[!_]*.py")


def _load(path: Path) -> Any:
    """The module by its file: the package around it needs dependencies the build does not have."""
    spec = importlib.util.spec_from_file_location("boil", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compile_rules(source: Path, table: Path) -> None:
    """The package that does it uses the standard library alone, and so do those it imports."""
    sys.path.insert(0, str(source))
    try:
        import_module("steersman.cluster.schema.rule_table.building").build(table)
    finally:
        sys.path.remove(str(source))
