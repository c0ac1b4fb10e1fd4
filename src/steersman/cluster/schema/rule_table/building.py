"""Write the Python modules that rules.txt is compiled to, into `cluster/schema/validation/compiled`.

hatch_build.py calls `build` when Steersman is built or installed; `validation.compiled` calls it on first
use if rules.txt or what goes with it has changed since, so that an edited line takes effect in the next
process. Each file appears whole or not at all.
"""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Final

from steersman.cluster.schema.enums import enumerations
from steersman.cluster.schema.rule_table.catalog import Catalog, Target, full_name, module_name
from steersman.cluster.schema.rule_table.emitting import Emitter
from steersman.cluster.schema.rule_table.fields import Types
from steersman.cluster.schema.rule_table.functions import Functions
from steersman.cluster.schema.rule_table.inputs import RULES_FILE, digest
from steersman.cluster.schema.rule_table.kinds import kind_source
from steersman.cluster.schema.rule_table.reading import Section, parse
from steersman.cluster.schema.rule_table.values import Values

__all__ = ["build", "compile_rules", "compile_section"]

_FOLDER: Final = Path(__file__).parents[1]
_PACKAGE: Final = Path(__file__).parents[3]
_COMPILED: Final = _FOLDER / "validation" / "compiled"
_NAMESPACE: Final = "steersman.cluster.schema.validation"
_HEAD: Final = '''"""Compiled from [{section}] of rules.txt. Change that file: this one is generated."""
# mypy: ignore-errors
# ruff: noqa

from steersman.cluster.schema.validation.rules import Revalidation, Rules, ValuelessError, invalids
from steersman.objects.fields import (
    Path, duplicate, forbidden, invalid, not_supported, required, too_long, too_long_text, too_many
)
from steersman.objects.quantities import Quantity
'''


def build(table: Path) -> None:
    """`table` is the schema table of the published types. Raises RuleError."""
    sources = compile_rules(RULES_FILE.read_text("utf-8"), table)
    sources["_index"] += f"DIGEST = {digest(table)}\n"
    # The index last: it says that all others are there.
    for name in sorted(sources, key=lambda name: (name == "_index", name)):
        _write(_COMPILED / f"{name}.py", sources[name])
    for file in _COMPILED.glob("_[!_]*.py"):
        if file.stem not in sources:
            file.unlink(missing_ok=True)


def compile_rules(text: str, table: Path) -> dict[str, str]:
    """Name of module → source. Raises RuleError."""
    types = Types(json.loads(table.read_bytes()))
    sections = parse(text)
    catalog = Catalog(sections, types)
    sources = {f"_{module_name(section)}": compile_section(section, catalog, types) for section in sections}
    sources["_index"] = _index_source(sections, catalog, types)
    return sources


def compile_section(section: Section, catalog: Catalog, types: Types) -> str:
    """The source of one section's module. Raises RuleError."""
    functions = Functions(_PACKAGE)
    values = Values(types, enumerations(), functions)
    emitter = Emitter(section, catalog, types, functions, values)
    body = emitter.functions()
    kinds: list[str] = []
    for (group, kind), phases in _kinds(section, catalog, types).items():
        first = next(iter(phases.values())).block
        kinds += kind_source(group, kind, phases, first, functions, section.module)
    title = f"{section.package} {section.module}".strip()
    return "\n".join(
        [
            _HEAD.format(section=title),
            *(f"from steersman.{module} import {name}" for module, name in sorted(functions.formats)),
            "",
            "ROOT = Path()",
            "NOTHING = {}",
            "RULES = {}",
            *(f"{name} = {choices!r}" for choices, name in values.constants.items()),
            *body,
            *kinds,
            "",
            "# At the end, since these modules use the functions above.",
            *(
                f"import {_NAMESPACE}.{module} as {module.replace('.', '_')}"
                for module in sorted(functions.modules)
            ),
            *(f"import {_NAMESPACE}.compiled._{module} as {module}" for module in sorted(emitter.modules)),
            "",
        ]
    )


def _kinds(section: Section, catalog: Catalog, types: Types) -> dict[tuple[str, str], dict[str, Target]]:
    """The kinds of a section, and for each phase the block that is asked."""
    found: dict[tuple[str, str], dict[str, Target]] = {}
    for block in section.blocks:
        name = full_name(types, section, block)
        kind = types.kind(name)
        if kind is not None and "." not in block.type:
            phases = found.setdefault(kind, {})
            for phase in block.phases or ("create",):
                phases[phase] = catalog.targets[name, phase if block.phases else ""]
    return found


def _index_source(sections: list[Section], catalog: Catalog, types: Types) -> str:
    kinds = {kind: module_name(section) for section in sections for kind in _kinds(section, catalog, types)}
    blocks = {
        f"{name} {phase}".rstrip(): (target.module, target.function, target.compares, target.uniques)
        for (name, phase), target in catalog.targets.items()
    }
    return (
        '"""Which module validates which kind, and which function is which block of rules.txt."""\n'
        f"# mypy: ignore-errors\n# ruff: noqa\nKINDS = {kinds!r}\nBLOCKS = {blocks!r}\n"
    )


def _write(path: Path, source: str) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(source, "utf-8")
    draft.replace(path)
    # Written twice in one second with the same size, a module would be taken from its old bytecode.
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
