"""Python expressions for what a rule depends on: the values of fields and the conditions behind `when`."""

from __future__ import annotations

from steersman.cluster.schema.rule_table.fields import Field, Nature, Types
from steersman.cluster.schema.rule_table.reading import Condition, Rule

__all__ = ["condition_of", "is_set", "lookup", "zero"]

_ZEROS = {
    Nature.TEXT: '""',
    Nature.NUMBER: "0",
    Nature.FLAG: "False",
    Nature.QUANTITY: '"0"',
    Nature.NUMBER_OR_TEXT: "0",
}


def zero(field: Field) -> str | None:
    """What a field that is left out is, if it is not null."""
    return None if field.pointer else _ZEROS.get(field.nature)


def lookup(types: Types, full_name: str, name: str, holder: str = "obj") -> tuple[str, Field]:
    """The value of a field of `holder`, a Python expression, and the field. Raises FieldNotFound.

    Of a field inside a struct, `limits.count`, null if the struct is unset.
    """
    first, _, rest = name.partition(".")
    field = types.field(full_name, first)
    if rest:
        inner, last = lookup(types, field.type, rest, f'({holder}.get("{first}") or NOTHING)')
        return inner, last
    default = zero(field)
    value = f'{holder}.get("{first}")' if default is None else f'{holder}.get("{first}", {default})'
    return value, field


def is_set(value: str, field: Field) -> str:
    """Whether a value is there; text, numbers, lists and maps also have to hold something."""
    if field.nature in (Nature.LIST, Nature.MAP) or zero(field) is not None:
        return value
    return f"{value} is not None"


def condition_of(types: Types, full_name: str, rule: Rule) -> str:
    """The conditions of a rule as one expression; empty if it has none."""
    parts = [_condition(types, full_name, condition) for condition in rule.conditions]
    if rule.exceptions:
        exceptions = [_condition(types, full_name, condition) for condition in rule.exceptions]
        parts.append(f"not ({' and '.join(exceptions)})")
    return " and ".join(parts)


def _condition(types: Types, full_name: str, condition: Condition) -> str:
    if condition.field == "old":
        return f"old is {'' if condition.negated else 'not '}None"
    value, field = lookup(types, full_name, condition.field)
    if condition.values == ("empty",):
        return value if condition.negated else f"not {value}"
    if condition.values == ("set",):
        if not condition.negated:
            return is_set(value, field)
        plain = is_set(value, field) == value
        return f"not {value}" if plain else f"{value} is None"
    values = [_literal(text, field) for text in condition.values]
    if len(values) == 1:
        return f"{value} {'!=' if condition.negated else '=='} {values[0]}"
    return f"{value} {'not in' if condition.negated else 'in'} ({', '.join(values)})"


def _literal(text: str, field: Field) -> str:
    if field.nature is Nature.FLAG:
        return {"true": "True", "false": "False"}[text]
    if field.nature is Nature.NUMBER:
        return str(int(text))
    return repr("" if text == '""' else text)
