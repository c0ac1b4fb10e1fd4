"""Find the block of rules.txt that a line refers to, and what its Python function is called and takes."""

from __future__ import annotations

from dataclasses import dataclass

from steersman.cluster.schema.rule_table.conditions import lookup
from steersman.cluster.schema.rule_table.fields import FieldNotFound, Types
from steersman.cluster.schema.rule_table.reading import Block, Line, Rule, RuleError, Section

__all__ = ["Catalog", "Target", "full_name", "module_name"]


@dataclass(slots=True)
class Target:
    """The function that a block becomes."""

    module: str
    function: str
    block: Block
    type: str
    compares: bool = False
    """It takes `old`."""
    uniques: int = 0
    """How many sets it takes in `seen`."""


class Catalog:
    """All blocks by the full name of their type and their phase."""

    def __init__(self, sections: list[Section], types: Types) -> None:
        self.targets: dict[tuple[str, str], Target] = {}
        self._types = types
        for section in sections:
            for block in section.blocks:
                self._add(section, block)
        self._find_comparing()

    def _add(self, section: Section, block: Block) -> None:
        name = full_name(self._types, section, block)
        function = "_".join(("check", block.type.replace(".", "_"), *block.phases[:1]))
        uniques = sum(rule.word == "unique" and not rule.each for line in block.lines for rule in line.rules)
        target = Target(module_name(section), function, block, name, uniques=uniques)
        for phase in block.phases or ("",):
            if (name, phase) in self.targets:
                raise RuleError(block.number, f"{block.type} {phase} is here a second time")
            self.targets[name, phase] = target

    def _find_comparing(self) -> None:
        """A block takes `old` if a rule of it does, or a block that it calls."""
        changed = True
        while changed:
            changed = False
            for (_, phase), target in self.targets.items():
                if not target.compares and self._compares(target, phase):
                    target.compares = changed = True

    def _compares(self, target: Target, phase: str) -> bool:
        for line in target.block.lines:
            for rule in line.rules:
                if rule.word in ("changed", "immutable") or (rule.word == "@" and "old" in rule.arguments):
                    return True
                if any(condition.field == "old" for condition in rule.conditions + rule.exceptions):
                    return True
                if rule.word == ">" and self.called(target, line, rule, phase).compares:
                    return True
        return False

    def called(self, target: Target, line: Line, rule: Rule, phase: str) -> Target:
        """The block that a field's value is checked by: that of the same phase, if there is one."""
        name = target.type
        if line.field == ".":
            phase = ""
        else:
            try:
                name = lookup(self._types, target.type, line.field)[1].type
            except FieldNotFound as error:
                raise RuleError(line.number, str(error)) from None
            if name.rpartition(".")[2] != rule.arguments[0]:
                raise RuleError(line.number, f"{line.field} is a {name.rpartition('.')[2] or 'plain value'}")
        wanted = " ".join(rule.arguments[1:])
        for candidate in (wanted,) if wanted else (phase, ""):
            if (found := self.targets.get((name, candidate))) is not None:
                return found
        raise RuleError(line.number, f"there are no rules for {' '.join(rule.arguments)}")


def module_name(section: Section) -> str:
    return f"{section.package}_{section.module}".replace(".", "_").rstrip("_")


def full_name(types: Types, section: Section, block: Block) -> str:
    try:
        return types.full_name(block.type if "." in block.type else f"{section.package}.{block.type}")
    except FieldNotFound as error:
        raise RuleError(block.number, str(error)) from None
