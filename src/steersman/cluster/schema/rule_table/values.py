"""The rules that look at a single value: when they are broken, and the error that says so."""

from __future__ import annotations

from typing import Final

from steersman.cluster.schema.rule_table.conditions import lookup
from steersman.cluster.schema.rule_table.fields import Field, Nature, Types
from steersman.cluster.schema.rule_table.functions import Functions
from steersman.cluster.schema.rule_table.reading import Line, Rule, RuleError

__all__ = ["Values"]

_AT_LEAST: Final = "must be greater than or equal to {}"
_AT_MOST: Final = "must be less than or equal to {}"
_BETWEEN: Final = "must be between {} and {}, inclusive"
_POSITIVE: Final = "must be greater than zero"
_IMMUTABLE: Final = "field is immutable"


class Values:
    """Expressions for single values. Keeps the constants that they use."""

    def __init__(
        self, types: Types, enumerations: dict[str, dict[str, list[str]]], functions: Functions
    ) -> None:
        self._types = types
        self._enumerations = enumerations
        self._functions = functions
        self.constants: dict[tuple[str, ...], str] = {}

    def broken(self, line: Line, rule: Rule, field: Field, value: str, type_name: str) -> str:
        """A Python expression that is true when the rule is broken."""
        match rule.word:
            case "enum":
                return f"{value} not in {self._constant(self._choices(line, rule, type_name))}"
            case "min" | "max":
                operator = "<" if rule.word == "min" else ">"
                return self._compared(line, field, value, operator, rule.arguments[0], type_name)
            case "positive":
                return self._compared(line, field, value, "<=", "0", type_name)
            case "range":
                low, high = (_number(line, word) for word in rule.arguments)
                return f"not {low} <= {value} <= {high}"
            case "length" | "characters" | "items" | "upto":
                return f"len({value}) > {_number(line, rule.arguments[0])}"
            case "bytes":
                return f"len({value}.encode()) > {_number(line, rule.arguments[0])}"
            case "nonempty":
                return f"not {value}"
            case "forbidden" | "invalid":
                return value if field.nature is not Nature.OPAQUE and not field.pointer else ""
        raise RuleError(line.number, f"{rule.word} is not for a field")

    def error(self, line: Line, rule: Rule, value: str, path: str, shown: str, type_name: str) -> str:
        """The Python expression of the error."""
        text = rule.text
        match rule.word:
            case "enum" if text is None:
                return (
                    f"not_supported({path}, {shown}, {self._constant(self._choices(line, rule, type_name))})"
                )
            case "length" | "bytes" if text is None:
                return f"too_long({path}, {_number(line, rule.arguments[0])})"
            case "characters":
                return f"too_long_text({path}, {_number(line, rule.arguments[0])})"
            case "items" if text is None:
                return f"too_many({path}, len({value}), {_number(line, rule.arguments[0])})"
            case "nonempty" if rule.arguments == ("invalid",):
                return f"invalid({path}, {shown}, {text!r})"
            case "nonempty" | "required":
                return f"required({path}{'' if text is None else f', {text!r}'})"
            case "forbidden":
                return f"forbidden({path}, {text or ''!r})"
            case "immutable" if rule.arguments == ("forbidden",):
                return f"forbidden({path}, {text or _IMMUTABLE!r})"
        if rule.showing == "nothing":
            return f"ValuelessError({path}, {text!r})"
        return f"invalid({path}, {shown}, {text if text is not None else _usual(line, rule)!r})"

    def format(self, line: Line, rule: Rule) -> str:
        """The function that says what is wrong with a text or number."""
        return self._functions.format(line.number, rule.arguments[0])

    def _choices(self, line: Line, rule: Rule, type_name: str) -> tuple[str, ...]:
        known = tuple(self._enumerations.get(type_name, {}).get(line.field, ()))
        if not rule.arguments:
            if not known:
                raise RuleError(line.number, f"enums.txt has no values for {line.field}")
            return known
        given = tuple("" if word == "<empty>" else word for word in rule.arguments[0].split("|"))
        if given == known:
            raise RuleError(line.number, f"enums.txt has the values of {line.field} already: write `enum`")
        return given

    def _constant(self, values: tuple[str, ...]) -> str:
        return self.constants.setdefault(values, f"CHOICES_{len(self.constants)}")

    def _compared(
        self, line: Line, field: Field, value: str, operator: str, word: str, type_name: str
    ) -> str:
        if not word.lstrip("-").isdigit():
            other, _ = lookup(self._types, type_name, word)
            return f"{value} {operator} {other}"
        limit = _number(line, word)
        if field.nature is not Nature.QUANTITY:
            return f"{value} {operator} {limit}"
        if limit != 0:
            raise RuleError(line.number, "quantities are compared with 0 only")
        return f"Quantity.parse({value}).sign {operator} 0"


def _number(line: Line, word: str) -> int:
    try:
        return int(word, 0)
    except ValueError:
        raise RuleError(line.number, f"{word!r} is not a number") from None


def _usual(line: Line, rule: Rule) -> str:
    """What Kubernetes says of a broken rule where nothing else is written."""
    match rule.word:
        case "min":
            return _AT_LEAST.format(_number(line, rule.arguments[0]))
        case "max":
            return _AT_MOST.format(_number(line, rule.arguments[0]))
        case "range":
            return _BETWEEN.format(*(_number(line, word) for word in rule.arguments))
        case "positive":
            return _POSITIVE
        case "immutable":
            return _IMMUTABLE
    raise RuleError(line.number, f"{rule.word} needs a text")
