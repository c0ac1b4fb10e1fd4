"""Turn the blocks of rules.txt into Python functions that append to a list what is wrong with an object.

A block becomes `check_Type_phase(obj, path, errors, context)`: `obj` is the object in normal form and `path`
where it stands; `context` is what the functions called with `@` are given. Blocks that compare with the
object being replaced also take `old`; those that ask whether items are unique take `seen`, a set for each
such rule. Paths are made only where something is wrong or another function needs one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steersman.cluster.schema.rule_table.catalog import Catalog, Target, full_name, module_name
from steersman.cluster.schema.rule_table.conditions import condition_of, lookup, zero
from steersman.cluster.schema.rule_table.fields import Field, FieldNotFound, Nature, Types
from steersman.cluster.schema.rule_table.functions import Functions
from steersman.cluster.schema.rule_table.reading import Line, Rule, RuleError, Section
from steersman.cluster.schema.rule_table.values import Values

__all__ = ["Emitter"]

_INDENT: Final = "    "


class Emitter:
    """The source of one section's functions."""

    def __init__(
        self, section: Section, catalog: Catalog, types: Types, functions: Functions, values: Values
    ) -> None:
        self._section = section
        self._catalog = catalog
        self._types = types
        self._functions = functions
        self._values = values
        self._lines: list[str] = []
        self._fetched = ""
        self.modules: set[str] = set()
        """Compiled modules whose functions are called."""

    def functions(self) -> list[str]:
        """The lines of all functions."""
        for block in self._section.blocks:
            name = full_name(self._types, self._section, block)
            target = self._catalog.targets[name, (block.phases or ("",))[0]]
            self._function(target)
        return self._lines

    def _function(self, target: Target) -> None:
        phase = (target.block.phases or ("",))[0]
        parameters = ["obj", "path", "errors", "context"]
        parameters += ["old"] * target.compares + ["seen"] * bool(target.uniques)
        self._lines += ["", "", f"def {target.function}({', '.join(parameters)}):"]
        start = len(self._lines)
        self._fetched = ""
        seen = iter(range(target.uniques))
        for line in target.block.lines:
            try:
                _LineEmitter(self, target, line, phase, seen).emit()
            except FieldNotFound as error:
                raise RuleError(line.number, str(error)) from None
        if len(self._lines) == start:
            if self._types.kind(target.type) is None:
                raise RuleError(target.block.number, f"{target.block.type} has no rules")
            self.write(1, "return")

    def fetching(self, statement: str, *, is_own: bool) -> str:
        """The statement, or nothing where the line before has fetched the same field of the object itself."""
        if is_own and statement == self._fetched:
            return ""
        self._fetched = statement if is_own else ""
        return statement

    def write(self, depth: int, text: str) -> None:
        self._lines.append(_INDENT * depth + text)

    def call(self, target: Target) -> str:
        """How a function is called from this module."""
        if target.module == module_name(self._section):
            return target.function
        self.modules.add(target.module)
        return f"{target.module}.{target.function}"

    def function(self, number: int, rule: Rule) -> str:
        return self._functions.reference(number, self._section.module, rule.arguments[0])

    @property
    def types(self) -> Types:
        return self._types

    @property
    def catalog(self) -> Catalog:
        return self._catalog

    @property
    def values(self) -> Values:
        return self._values


class _LineEmitter:
    """The statements of one line."""

    def __init__(self, emitter: Emitter, target: Target, line: Line, phase: str, seen: Iterator[int]) -> None:
        self._emitter = emitter
        self._target = target
        self._line = line
        self._phase = phase
        self._seen = seen
        self._depth = 1

    def emit(self) -> None:
        if self._line.field == ".":
            for rule in self._line.rules:
                self._of_object(rule)
            return
        value, field = self._value()
        rules = list(self._line.rules)
        if rules[0].word == "changed":
            rules.pop(0)
            # `old` is None when the object is new.
            before, _ = lookup(self._emitter.types, self._target.type, self._line.field, "old")
            self._write(value, f"if old is None or value != {before}:")
            self._depth += 1
        else:
            self._write(value)
        self._guarded(rules, field)

    # --- The value and when it is looked at

    def _value(self) -> tuple[str, Field]:
        """The statement that fetches the value. Inside a struct that is unset nothing is looked at."""
        names = self._line.field.split(".")
        holder, type_name = "obj", self._target.type
        for name in names[:-1]:
            outer = self._emitter.types.field(type_name, name)
            if outer.pointer:
                self._write(f'inner = {holder}.get("{name}")', "if inner is not None:")
                self._depth += 1
            else:
                self._write(f'inner = {holder}.get("{name}") or NOTHING')
            holder, type_name = "inner", outer.type
        expression, field = lookup(self._emitter.types, type_name, names[-1], holder)
        if field.nature is Nature.STRUCT and not field.pointer and self._line.rules[0].word != "required":
            expression += " or NOTHING"
        if field.pointer and self._line.rules[0].word == "unique":
            expression += ' or ""'
        return self._emitter.fetching(f"value = {expression}", is_own=holder == "obj"), field

    def _guarded(self, rules: list[Rule], field: Field) -> None:
        there = self._present(rules, field)
        if rules[0].word == "required" and not rules[0].each:
            missing = rules.pop(0)
            condition = self._condition(missing)
            absent = f"not {there}" if there == "value" else "value is None"
            error = f"errors.append(required({self._path(missing)}{self._text(missing)}))"
            if not rules:
                self._write(f"if {absent}{' and ' + condition if condition else ''}:", _INDENT + error)
                self._stopping(missing, more=False)
                return
            self._write(f"if {absent}:")
            if condition:
                self._write(f"{_INDENT}if {condition}:", 2 * _INDENT + error)
            else:
                self._write(_INDENT + error)
            if missing.stop == "end":
                self._write(_INDENT + "return")
            self._write("else:")
            self._depth += 1
        elif there:
            self._write(f"if {there}:")
            self._depth += 1
        if rules[0].word == "optional":
            rules.pop(0)
        self._rest(rules, field)

    def _present(self, rules: list[Rule], field: Field) -> str:
        """When the rules are asked; empty if always."""
        first = "" if rules[0].each else rules[0].word
        if first == "optional":
            return "value"
        if first in ("unique", "immutable"):
            return ""
        if field.nature in (Nature.LIST, Nature.MAP):
            return "value"
        if field.nature is Nature.STRUCT and not field.pointer:
            return "value" if first == "required" else ""
        if zero(field) is None:
            return "value is not None"
        return "value" if first == "required" else ""

    def _rest(self, rules: list[Rule], field: Field) -> None:
        while rules:
            rule = rules.pop(0)
            if rule.each:
                together = [rule]
                while rules and rules[0].each == rule.each:
                    together.append(rules.pop(0))
                self._each(together, field)
            else:
                self._one(rule, field, "value", self._path(rule))
                self._stopping(rule, bool(rules))

    # --- Rules

    def _one(self, rule: Rule, field: Field, value: str, path: str) -> None:
        match rule.word:
            case ">":
                self._descend(rule, field, value, path)
            case "@":
                self._with_condition(rule, f"errors += {self._called(rule, value, path)}")
            case "unique":
                self._unique(rule, value, path, f"seen[{next(self._seen)}]")
            case "immutable":
                before, _ = lookup(self._emitter.types, self._target.type, self._line.field, "old")
                self._refuse(rule, f"old is not None and {value} != {before}", value, path)
            case "format":
                self._format(rule, value, path)
            case "upto":
                longer = self._emitter.values.broken(self._line, rule, field, value, self._target.type)
                self._write(f"if not {longer}:")
                self._depth += 1
            case _:
                broken = self._emitter.values.broken(self._line, rule, field, value, self._target.type)
                self._refuse(rule, broken, value, path)

    def _refuse(self, rule: Rule, broken: str, value: str, path: str) -> None:
        error = self._emitter.values.error(
            self._line, rule, value, path, self._showing(rule, value), self._target.type
        )
        tests = " and ".join(test for test in (self._condition(rule), broken) if test)
        if tests:
            self._write(f"if {tests}:", f"{_INDENT}errors.append({error})")
        else:
            self._write(f"errors.append({error})")

    def _stopping(self, rule: Rule, more: bool) -> None:
        """After a rule: what is not asked if it was broken."""
        if rule.stop == "end":
            self._write(_INDENT + "return")
        elif rule.stop and more:
            self._write("else:")
            self._depth += 1

    def _format(self, rule: Rule, value: str, path: str) -> None:
        function = self._emitter.values.format(self._line, rule)
        condition = self._condition(rule)
        test = f"wrong := {function}({value})"
        self._write(f"if {condition} and ({test}):" if condition else f"if {test}:")
        shown = self._showing(rule, value)
        if rule.joined:
            self._write(f"{_INDENT}errors.append(invalid({path}, {shown}, {rule.joined!r}.join(wrong)))")
        else:
            self._write(f"{_INDENT}errors += invalids({path}, {shown}, wrong)")

    def _unique(self, rule: Rule, value: str, path: str, seen: str) -> None:
        self._write(
            f"if {value} in {seen}:",
            f"{_INDENT}errors.append(duplicate({path}, {self._showing(rule, value)}))",
            "else:" if rule.stop else "",
            f"{_INDENT * bool(rule.stop)}{seen}.add({value})",
        )

    def _each(self, rules: list[Rule], field: Field) -> None:
        """The rules of a list's items, or of a map's values, one item after the other."""
        depth = self._depth
        if any(rule.word == "unique" for rule in rules):
            self._write("found = set()")
        item = Field(field.items, pointer=False, type=field.type)
        if rules[0].each == "keys":
            item = Field(Nature.TEXT, pointer=False)
            self._write("for item in sorted(value):")
            place = "key(item)"
        elif field.nature is Nature.MAP:
            self._write("for key in sorted(value):", _INDENT + "item = value[key]")
            place = "key(key)"
        else:
            self._write("for number, item in enumerate(value):")
            place = "index(number)"
        self._depth += 1
        for rule in rules:
            path = self._path(rule) if rule.name else f"{self._path(rule)}.{place}"
            value = "item"
            if rule.word == "unique":
                self._unique(rule, "item", path, "found")
            elif rule.word == "required":
                self._refuse(rule, f"not {value}", value, path)
            else:
                self._one(rule, item, value, path)
            self._stopping(rule, rule is not rules[-1])
        self._depth = depth

    def _descend(self, rule: Rule, field: Field, value: str, path: str) -> None:
        called = self._emitter.catalog.called(self._target, self._line, rule, self._phase)
        condition = self._condition(rule)
        depth = self._depth
        if condition:
            self._write(f"if {condition}:")
            self._depth += 1
        old = "None"
        if called.compares and field.nature is Nature.STRUCT:
            before, _ = lookup(self._emitter.types, self._target.type, self._line.field, "old")
            old = f"None if old is None else {before}" + ("" if field.pointer else " or NOTHING")
        arguments = ["context"] + [old] * called.compares + ["uniques"] * bool(called.uniques)
        function = self._emitter.call(called)
        if value == "item" or field.nature not in (Nature.LIST, Nature.MAP):
            self._write(f"{function}({value}, {path}, errors, {', '.join(arguments)})")
        else:
            self._write_loop(called, function, field, path, arguments)
        self._depth = depth

    def _write_loop(
        self, called: Target, function: str, field: Field, path: str, arguments: list[str]
    ) -> None:
        if called.uniques:
            self._write(f"uniques = ({', '.join(['set()'] * called.uniques)},)")
        self._write(f"place = {path}")
        rest = ", ".join(arguments)
        if field.nature is Nature.MAP:
            self._write("for key in sorted(value):")
            self._write(f"{_INDENT}{function}(value[key], place.key(key), errors, {rest})")
        else:
            self._write("for number, item in enumerate(value):")
            self._write(f"{_INDENT}{function}(item, place.index(number), errors, {rest})")

    # --- The object itself

    def _of_object(self, rule: Rule) -> None:
        path = self._path(rule)
        if rule.word == "@":
            self._with_condition(rule, f"errors += {self._called(rule, 'obj', path)}")
        elif rule.word == ">":
            called = self._emitter.catalog.called(self._target, self._line, rule, self._phase)
            here = called.module == self._target.module and not rule.conditions and not rule.exceptions
            if here and _can_stand_inline(called):
                for line in called.block.lines:
                    _LineEmitter(self._emitter, called, line, "", iter(())).emit()
                return
            arguments = ["context"] + ["old"] * called.compares + ["seen"] * bool(called.uniques)
            self._with_condition(
                rule, f"{self._emitter.call(called)}(obj, {path}, errors, {', '.join(arguments)})"
            )
        elif rule.word in ("required", "forbidden", "invalid"):
            if not rule.conditions:
                raise RuleError(self._line.number, "of the object itself a rule needs a condition")
            self._refuse(rule, "", "obj", path)
            self._stopping(rule, more=False)
        else:
            raise RuleError(self._line.number, f"{rule.word} is not a rule for the object itself")

    def _called(self, rule: Rule, value: str, path: str) -> str:
        arguments = [value, path, *rule.arguments[1:], *([repr(rule.text)] if rule.text is not None else [])]
        return f"{self._emitter.function(self._line.number, rule)}({', '.join(arguments)})"

    # --- Parts

    def _with_condition(self, rule: Rule, statement: str) -> None:
        condition = self._condition(rule)
        if condition:
            self._write(f"if {condition}:", _INDENT + statement)
        else:
            self._write(statement)

    def _condition(self, rule: Rule) -> str:
        return condition_of(self._emitter.types, self._target.type, rule)

    def _path(self, rule: Rule) -> str:
        name = rule.name or self._line.name or self._line.field
        if name == ".":
            return "path"
        steps = ", ".join(f'"{step}"' for step in name.split("."))
        return f"path.child({steps})"

    def _text(self, rule: Rule) -> str:
        return "" if rule.text is None else f", {rule.text!r}"

    def _showing(self, rule: Rule, value: str) -> str:
        if rule.showing in (None, "nothing"):
            return value
        if rule.showing == "null":
            return "None"
        if rule.showing.startswith('"'):
            return repr(rule.showing[1:-1])
        return lookup(self._emitter.types, self._target.type, rule.showing)[0]

    def _write(self, *lines: str) -> None:
        for line in lines:
            if line:
                self._emitter.write(self._depth, line)


def _can_stand_inline(target: Target) -> bool:
    """Whether the statements of a block can stand in another: none of them returns or needs a set."""
    ends = any(rule.stop == "end" for line in target.block.lines for rule in line.rules)
    return not ends and not target.uniques
