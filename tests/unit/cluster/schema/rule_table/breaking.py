"""An object that breaks exactly one rule of rules.txt, and one that keeps it, made from the published types."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from steersman.cluster.schema.enums import enumerations
from steersman.cluster.schema.rule_table.catalog import Catalog, Target
from steersman.cluster.schema.rule_table.conditions import lookup
from steersman.cluster.schema.rule_table.fields import Field, Nature, Types
from steersman.cluster.schema.rule_table.reading import Block, Condition, Line, Rule, Section

Object = dict[str, Any]

#: Words that say when other rules are asked, or that other rules are.
NO_RULES = ("optional", "changed", "upto", ">", "@")
_SAMPLES: dict[Nature, Any] = {
    Nature.TEXT: "a",
    Nature.NUMBER: 1,
    Nature.FLAG: True,
    Nature.QUANTITY: "1",
    Nature.NUMBER_OR_TEXT: 1,
    Nature.OPAQUE: {"a": "b"},
    Nature.STRUCT: {"a": "b"},
}
_REASONS = {
    "required": "Required",
    "nonempty": "Required",
    "enum": "NotSupported",
    "length": "TooLong",
    "bytes": "TooLong",
    "characters": "TooLong",
    "items": "TooMany",
    "unique": "Duplicate",
    "forbidden": "Forbidden",
}
#: No format allows this, and one of those is allowed by each.
_BAD_TEXT = "=é /%"
_GOOD = ("a", "a.b", "a.b.c", "example.com/a", "1.2.3.4", "A", 1)
#: A text in place of the usual words makes these say that the value is invalid.
_WITH_OWN_TEXT = ("enum", "length", "bytes", "items")


@dataclass(frozen=True)
class Case:
    """One rule, alone in its block."""

    section: Section
    target: Target
    line: Line
    rule: Rule
    field: Field

    @property
    def reason(self) -> str:
        word = self.rule.word
        invalid = self.rule.arguments == ("invalid",) or (self.rule.text and word in _WITH_OWN_TEXT)
        if self.rule.arguments == ("forbidden",):
            return "FieldValueForbidden"
        return "FieldValue" + ("Invalid" if invalid else _REASONS.get(word, "Invalid"))

    @property
    def path(self) -> str:
        name = self.rule.name or self.line.name or self.line.field
        path = "here" if name == "." else f"here.{name}"
        if not self.rule.each or self.rule.name:
            return path
        if self.rule.each == "keys":
            return f"{path}[{_BAD_TEXT}]"
        return f"{path}[{'k' if self.field.nature is Nature.MAP else 1 if self.rule.word == 'unique' else 0}]"


def case_of(section: Section, block: Block, line: Line, rule: Rule, types: Types) -> Case:
    """The rule as the only one of its block, after what says when the line is asked."""
    flags = [each for each in line.rules[: line.rules.index(rule)] if each.word in ("optional", "changed")]
    alone = replace(line, rules=(*flags, rule))
    lonely = Block(block.number, block.type, block.phases, (), [alone])
    section = Section(section.number, section.package, section.module, [lonely])
    target = next(iter(Catalog([section], types).targets.values()))
    field = Field(Nature.STRUCT, pointer=False)
    if line.field != ".":
        field = lookup(types, target.type, line.field)[1]
    return Case(section, target, alone, rule, field)


def broken(case: Case, types: Types) -> tuple[list[Object], Object | None]:
    """The items that break the rule, and the object that they replace if it compares."""
    obj = _meeting(case, types)
    line, word = case.line, case.rule.word
    old: Object | None = None
    if any(condition.field == "old" and not condition.negated for condition in case.rule.conditions):
        old = {}
    if line.field != ".":
        _put(obj, line.field, _bad_value(case, types, obj))
    if word == "immutable":
        old = {}
        _put(old, line.field, _other(_sample(case.field), case.field))
    return ([obj, obj] if word == "unique" and not case.rule.each else [obj]), old


def kept(case: Case, types: Types) -> list[Object]:
    """Objects of which one keeps the rule at least: as empty as the rule allows."""
    obj = _meeting(case, types)
    if case.line.field == ".":
        conditions = case.rule.conditions
        _meet(obj, replace(conditions[0], negated=not conditions[0].negated), case, types)
        return [obj]
    candidates = []
    for value in _good_values(case, types, obj):
        _put(obj, case.line.field, value)
        candidates.append(deepcopy(obj))
    return candidates


# --- Conditions


def _meeting(case: Case, types: Types) -> Object:
    """An object for which the rule's conditions hold."""
    obj: Object = {}
    parents = case.line.field.split(".")[:-1]
    for number in range(len(parents)):
        _put(obj, ".".join(parents[: number + 1]), {})
    for condition in case.rule.conditions:
        _meet(obj, condition, case, types)
    if case.rule.exceptions:
        first = case.rule.exceptions[0]
        _meet(obj, replace(first, negated=not first.negated), case, types)
    return obj


def _meet(obj: Object, condition: Condition, case: Case, types: Types) -> None:
    if condition.field == "old":
        return
    field = lookup(types, case.target.type, condition.field)[1]
    if condition.values in (("set",), ("empty",)):
        if condition.negated is (condition.values == ("empty",)):
            _put(obj, condition.field, _sample(field))
        else:
            _take(obj, condition.field)
    elif condition.negated:
        _put(obj, condition.field, _other(_typed(condition.values[0], field), field))
    else:
        _put(obj, condition.field, _typed(condition.values[0], field))


def _typed(text: str, field: Field) -> Any:
    if field.nature is Nature.FLAG:
        return text == "true"
    return int(text) if field.nature is Nature.NUMBER else text


# --- Values


def _bad_value(case: Case, types: Types, obj: Object) -> Any:
    if case.rule.each == "keys":
        return {_BAD_TEXT: "a"}
    if case.rule.each:
        item = Field(case.field.items, pointer=False, type=case.field.type)
        bad = "" if case.rule.word == "required" else _bad(case.rule, item, case, obj, types)
        if case.field.nature is Nature.MAP:
            return {"k": bad}
        return [bad, bad] if case.rule.word == "unique" else [bad]
    return _bad(case.rule, case.field, case, obj, types)


def _bad(rule: Rule, field: Field, case: Case, obj: Object, types: Types) -> Any:
    number = field.nature in (Nature.NUMBER, Nature.NUMBER_OR_TEXT)
    match rule.word:
        case "required":
            return None
        case "nonempty":
            return ""
        case "enum":
            return True if field.nature is Nature.FLAG else "no such value"
        case "min" | "max":
            step = -1 if rule.word == "min" else 1
            if field.nature is Nature.QUANTITY:
                return "-1"
            return _limit(rule.arguments[0], obj) + step
        case "positive":
            return 0 if number else "0"
        case "range":
            return int(rule.arguments[1], 0) + 1
        case "format":
            return -1 if number else _BAD_TEXT
        case "length" | "bytes" | "characters":
            return "a" * (int(rule.arguments[0]) + 1)
        case "items":
            count = int(rule.arguments[0]) + 1
            item = _SAMPLES[field.items]
            if field.nature is Nature.MAP:
                return {f"k{index}": item for index in range(count)}
            return [item] * count
    return obj_value if (obj_value := _taken(obj, case.line.field)) else _sample(field)


def _good_values(case: Case, types: Types, obj: Object) -> list[Any]:
    rule, word = case.rule, case.rule.word
    if rule.each or word in ("forbidden", "invalid", "immutable"):
        return [None]
    if word in ("min", "max") and case.field.nature is not Nature.QUANTITY:
        return [_limit(rule.arguments[0], obj)]
    if word == "range":
        return [int(rule.arguments[0], 0)]
    choices = enumerations().get(case.target.type, {}).get(case.line.field, [])
    if word == "enum":
        return [None] if case.field.nature is Nature.FLAG else _listed(rule) or choices
    return [_sample(case.field), *_GOOD] if word == "format" else [_sample(case.field)]


def _listed(rule: Rule) -> list[str]:
    return rule.arguments[0].replace("<empty>", "").split("|") if rule.arguments else []


def _limit(word: str, obj: Object) -> int:
    return int(word, 0) if word.lstrip("-").isdigit() else int(_taken(obj, word) or 0)


def _sample(field: Field) -> Any:
    if field.nature is Nature.LIST:
        return [_SAMPLES[field.items]]
    if field.nature is Nature.MAP:
        return {"k": _SAMPLES[field.items]}
    return _SAMPLES[field.nature]


def _other(value: Any, field: Field) -> Any:
    if field.nature is Nature.FLAG:
        return not value
    if field.nature is Nature.NUMBER:
        return value + 1
    if field.nature in (Nature.TEXT, Nature.QUANTITY):
        return f"{value}0"
    return {"other": "value"} if isinstance(value, dict) else [*value, "other"] if value else [value]


# --- Places


def _put(obj: Object, name: str, value: Any) -> None:
    *parents, last = name.split(".")
    for parent in parents:
        obj = obj.setdefault(parent, {})
    if value is None:
        obj.pop(last, None)
    else:
        obj[last] = value


def _take(obj: Object, name: str) -> None:
    *parents, last = name.split(".")
    for parent in parents:
        obj = obj.get(parent) or {}
    obj.pop(last, None)


def _taken(obj: Object, name: str) -> Any:
    value: Any = obj
    for step in name.split("."):
        value = (value or {}).get(step)
    return value
