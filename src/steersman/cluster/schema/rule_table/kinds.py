"""How a kind is validated as a whole, as Python source: which blocks are asked in which phase, and how.

A kind's phases are create, update, status, declared (Kubernetes' declarative validation: its errors follow
all others) and the names of subresources. What the options behind the colon mean is said in rules.txt.
"""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.rule_table.catalog import Target
from steersman.cluster.schema.rule_table.functions import Functions
from steersman.cluster.schema.rule_table.reading import Block, RuleError

__all__ = ["kind_source"]

_FIELDS: Final = {"create": "create", "update": "update", "status": "status", "declared": "late"}
_CONTEXT: Final = "context @"
_OPTIONS: Final = {
    "any finalizers": "standard_finalizers=False",
    "own metadata": "own_metadata=True",
    "repeated": "distinct=False",
    "checked again first": "revalidation=Revalidation.BEFORE",
    "checked again last": "revalidation=Revalidation.AFTER",
}


def kind_source(
    group: str, kind: str, phases: dict[str, Target], options: Block, functions: Functions, module: str
) -> list[str]:
    """The entry of `RULES` for a kind, after the functions that it names."""
    lines: list[str] = []
    arguments: list[str] = []
    subresources: list[str] = []
    for phase, target in phases.items():
        name = f"{phase}_{kind}"
        context = _context(target.block, functions, module)
        lines += _function(name, phase, target, context)
        if phase in _FIELDS:
            arguments.append(f"{_FIELDS[phase]}={name}")
        else:
            subresources.append(f'"{phase}": {name}')
    if subresources:
        arguments.append(f"subresources={{{', '.join(subresources)}}}")
    arguments += [
        _option(options, option, functions, module)
        for option in options.options
        if not option.startswith(_CONTEXT)
    ]
    return [*lines, "", "", f'RULES["{group}", "{kind}"] = Rules({", ".join(arguments)})']


def _context(block: Block, functions: Functions, module: str) -> str:
    """The function that makes the context of a phase; empty if that is the object itself."""
    for option in block.options:
        if option.startswith(_CONTEXT):
            return functions.reference(block.number, module, option.removeprefix(_CONTEXT))
    return ""


def _function(name: str, phase: str, target: Target, context: str) -> list[str]:
    alone = phase == "create"
    before = "None" if alone else "old"
    made = f"{context}(new, {before})" if context else "new"
    call = ", ".join(["new", "ROOT", "errors", made, *[before] * target.compares])
    return [
        "",
        "",
        f"def {name}(new{'' if alone else ', old'}):",
        "    errors = []",
        f"    {target.function}({call})",
        "    return errors",
    ]


def _option(block: Block, option: str, functions: Functions, module: str) -> str:
    word, _, name = option.partition(" ")
    if word != "name":
        if option not in _OPTIONS:
            raise RuleError(block.number, f"unknown option {option!r}")
        return _OPTIONS[option]
    if name.startswith("@"):
        function = functions.reference(block.number, module, name[1:])
        return f"name=lambda name, prefix=False: {function}(name, prefix)"
    return f"name={functions.format(block.number, f'name-is-{name}')}"
