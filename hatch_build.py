"""Build hook: makes what is in the package and not in the repository.

The schema table of the built-in types (schema/table_building.py), their validation rules (schema/rule_table)
and Python's types of them (objects/kinds/generating).
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCHEMA = Path("src/steersman/cluster/schema")
KINDS = Path("src/steersman/objects/kinds")


class SchemaTableHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = Path(self.root) / SCHEMA
        table_building = _load(folder / "table_building.py")
        definitions = table_building.find_definitions()
        if definitions is None:
            raise RuntimeError(f"{table_building.SOURCE_PACKAGE} is not installed in the build environment")
        table_building.build(definitions, folder)
        kinds = Path(self.root) / KINDS
        sys.path.insert(0, str(Path(self.root) / "src"))
        from steersman.cluster.schema.rule_table import building
        from steersman.objects.kinds import generating

        building.build(folder / table_building.TABLE)
        generating.generate(generating.sources(folder, kinds), kinds)
        build_data["artifacts"] += [
            f"/{SCHEMA}/{name}" for name in (table_building.TABLE, table_building.PROSE)
        ]
        build_data["artifacts"] += [f"/{KINDS}/{name}" for name in generating.MADE]
        build_data["artifacts"].append(f"/{SCHEMA}/validation/compiled/_[!_]*.py")


def _load(path: Path) -> Any:
    """The module by its file: the package around it needs dependencies the build does not have."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
