"""The Python functions that rules.txt names: formats, and the functions of `cluster.schema.validation`.

They are found by reading the modules' source, because the build environment cannot import them.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final

from steersman.cluster.schema.rule_table.reading import RuleError

__all__ = ["Functions"]

_FORMATS: Final = ("objects/names.py", "objects/addresses.py")
_SHARED: Final = "values"


class Functions:
    """The functions that one section uses. `package` is the folder of the package `steersman`."""

    def __init__(self, package: Path) -> None:
        self._package = package
        self.formats: set[tuple[str, str]] = set()
        """Modules and functions to import."""
        self.modules: set[str] = set()
        """Modules of the validation package that are used."""

    def format(self, number: int, name: str) -> str:
        """`dns1123-label` is is_dns1123_label of objects.names."""
        plain = name.replace("-", "_")
        for file in _FORMATS:
            for function in (f"is_{plain}", plain):
                if function in _defined(self._package / file):
                    self.formats.add((file.removesuffix(".py").replace("/", "."), function))
                    return function
        raise RuleError(number, f"there is no format {name}")

    def reference(self, number: int, module: str, name: str) -> str:
        """A function of the section's module, or else of `values`."""
        for candidate in (module, _SHARED):
            file = self._package / "cluster/schema/validation" / f"{candidate.replace('.', '/')}.py"
            if candidate and file.exists() and name in _defined(file):
                self.modules.add(candidate)
                return f"{candidate.replace('.', '_')}.{name}"
        raise RuleError(number, f"there is no function {name} in validation/{module.replace('.', '/')}.py")


@cache
def _defined(file: Path) -> frozenset[str]:
    """The names that a module defines or imports."""
    names: set[str] = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return frozenset(names)
