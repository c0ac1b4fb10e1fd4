"""Unions in structural form: one schema that has all fields, and clauses that say which go together.

A clause may only judge values; types, defaults and descriptions stand outside of it. So the variants of a
union must agree on the type of a field they share, and a default that only some have is left to Python.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.objects.custom.errors import DefinitionError
from steersman.objects.custom.markers import PRESERVE, RULES
from steersman.objects.custom.scalars import INT_OR_STRING

__all__ = ["merged"]

Schema = dict[str, Any]

#: Judges a value; may stand in a clause.
_JUDGING: Final = frozenset(
    {
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maximum",
        "maxLength",
        "minimum",
        "minLength",
        "multipleOf",
        "pattern",
    }
)
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})
_CLAUSES: Final = frozenset({"allOf", "anyOf", "oneOf", "not"})


def merged(variants: list[Schema], tag: str, path: str) -> Schema:
    """One structural schema of several; `tag` is the field that tells models apart, if there is one."""
    kinds = {variant.get("type", "") for variant in variants}
    if kinds == {"object"} and all(_is_model(variant) for variant in variants):
        return _models(variants, tag, path)
    plain = not any(_CLAUSES & variant.keys() for variant in variants)
    if plain and kinds <= _SCALARS:
        if len(kinds) == 1 or kinds == {"integer", "number"}:
            return _scalars(variants, "number" if "number" in kinds else kinds.pop())
        if kinds == {"integer", "string"} and len(variants) == len(kinds):
            # Bounds judge only numbers and lengths only texts, so both can be said at once; values cannot.
            if any("enum" in variant for variant in variants):
                raise _impossible(path)
            judged = {key: value for each in variants for key, value in _judging(each).items()}
            return {**INT_OR_STRING, **judged}
    raise _impossible(path)


def _impossible(path: str) -> DefinitionError:
    return DefinitionError(
        f"{path}: this union has no form in a definition; use one type, models with a discriminator, "
        "or annotate the field with preserve_unknown()"
    )


def _is_model(schema: Schema) -> bool:
    return "additionalProperties" not in schema and not _CLAUSES & schema.keys()


def _judging(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key in _JUDGING}


def _scalars(variants: list[Schema], kind: str) -> Schema:
    clauses = [_judging(variant) for variant in variants]
    if all(clause.keys() == {"enum"} for clause in clauses):
        return {"type": kind, "enum": _values(clauses)}
    return {"type": kind, **({"anyOf": clauses} if all(clauses) else {})}


def _values(schemas: list[Schema]) -> list[Any]:
    """The values of several enumerations, each once."""
    return list(dict.fromkeys(value for schema in schemas for value in schema["enum"]))


def _models(variants: list[Schema], tag: str, path: str) -> Schema:
    clauses: list[Schema] = [{} for _ in variants]
    properties: Schema = {}
    for name in dict.fromkeys(key for variant in variants for key in variant.get("properties") or {}):
        mine = [(variant.get("properties") or {}).get(name) for variant in variants]
        properties[name] = _shared_field(mine, f"{path}.{name}")
        for clause, own in zip(clauses, mine, strict=True):
            if own is not None and (judged := _judging(own)) != _judging(properties[name]):
                clause.setdefault("properties", {})[name] = judged
    needed = [{*variant.get("required", ()), *([tag] if tag else ())} for variant in variants]
    always = set.intersection(*needed)
    for clause, names in zip(clauses, needed, strict=True):
        if names - always:
            clause["required"] = [name for name in properties if name in names - always]
    made: Schema = {"type": "object"}
    if properties:
        made["properties"] = properties
    if always:
        made["required"] = [name for name in properties if name in always]
    if any(PRESERVE in variant for variant in variants):
        made[PRESERVE] = True
    if rules := _rules(variants, tag, path):
        made[RULES] = rules
    if all(clauses):
        made["oneOf" if tag else "anyOf"] = clauses
    return made


def _shared_field(schemas: list[Schema | None], path: str) -> Schema:
    """What is said of a field outside of the clauses."""
    present = [schema for schema in schemas if schema is not None]
    bare = [{key: value for key, value in schema.items() if key != "default"} for schema in present]
    if all(each == bare[0] for each in bare):
        same_default = len(present) == len(schemas) and all(each == present[0] for each in present)
        return present[0] if same_default else bare[0]
    types = [
        {key: each[key] for key in each if key not in _JUDGING and key != "description"} for each in bare
    ]
    if types[0].get("type") not in _SCALARS or any(each != types[0] for each in types):
        raise DefinitionError(f"{path}: the variants of a union must agree on the type of a field they share")
    enums = {"enum": _values(present)} if all("enum" in each for each in present) else {}
    return {**types[0], **enums}


def _rules(variants: list[Schema], tag: str, path: str) -> list[Schema]:
    """The variants' own rules, each for its own variant only."""
    found: list[Schema] = []
    for variant in variants:
        for each in variant.get(RULES, ()):
            values = ((variant.get("properties") or {}).get(tag) or {}).get("enum") or ()
            if not values:
                raise DefinitionError(f"{path}: rules in a union need a discriminator")
            others = " && ".join(f"self.{tag} != {_literal(value)}" for value in values)
            found.append({**each, "rule": f"{others} || ({each['rule']})"})
    return found


def _literal(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value).lower()
