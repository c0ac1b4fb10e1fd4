"""Label selectors and field selectors: the text form, the object form, and whether something matches.

The grammar of the text form, its canonical spelling and the words of its errors are Kubernetes'.
`matches` is called for every object of a list and every event of a watch, so a selector is compiled
when it is made. Which fields can be selected is not decided here: the API server checks the fields
a parsed `FieldSelector` names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from steersman.objects.errors import SelectorError
from steersman.objects.fields import FieldError, Path, invalid, join, quote
from steersman.objects.names import is_label_key, is_label_value

__all__ = [
    "EVERYTHING",
    "EVERY_FIELD",
    "NOTHING",
    "FieldRequirement",
    "FieldSelector",
    "LabelSelector",
    "Requirement",
    "escape_field_value",
    "format_label_selector",
]

Labels = Mapping[str, str]
_Matcher = Callable[[Labels], bool]

_OBJECT_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_BINARY_OPERATORS: Final = ("in", "notin", "=", "==", "!=", "gt", "lt")
_SPELLED_OPERATORS: Final = {"gt": ">", "lt": "<", "in": " in ", "notin": " notin "}
_integer = re.compile(r"[+-]?[0-9]{1,19}").fullmatch


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label. Operators: = == != in notin exists ! gt lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise SelectorError when key, operator and values do not make a requirement."""
        errors: list[FieldError] = []
        if problems := is_label_key(self.key):
            errors.append(invalid(Path("key"), self.key, "; ".join(problems)))
        errors += self._value_count_errors()
        for number, value in enumerate(self.values):
            if problems := is_label_value(value):
                place = Path("values").index(number).key(self.key)
                errors.append(invalid(place, value, "; ".join(problems)))
        if errors:
            raise SelectorError(join(errors))

    def _value_count_errors(self) -> list[FieldError]:
        path, values, shown = Path("values"), self.values, list(self.values)
        if self.operator in ("in", "notin"):
            if not values:
                return [invalid(path, shown, "for 'in', 'notin' operators, values set can't be empty")]
        elif self.operator in ("exists", "!"):
            if values:
                return [invalid(path, shown, "values set must be empty for exists and does not exist")]
        elif self.operator in ("gt", "lt"):
            errors = []
            if len(values) != 1:
                text = "for 'Gt', 'Lt' operators, exactly one value is required"
                errors.append(invalid(path, shown, text))
            text = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors += (
                invalid(path.index(number), value, text)
                for number, value in enumerate(values)
                if _int64(value) is None
            )
            return errors
        elif len(values) != 1:
            return [invalid(path, shown, "exact-match compatibility requires one single value")]
        return []

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return "!" + self.key
        values = ",".join(sorted(self.values))
        if self.operator in ("in", "notin"):
            values = f"({values})"
        return f"{self.key}{_SPELLED_OPERATORS.get(self.operator, self.operator)}{values}"

    def matcher(self) -> _Matcher:
        key, operator = self.key, self.operator
        if operator == "exists":
            return lambda labels: key in labels
        if operator == "!":
            return lambda labels: key not in labels
        if operator in ("gt", "lt"):
            return _inequality(key, operator == "gt", self.values)
        if len(self.values) == 1:
            value = self.values[0]
            if operator in ("!=", "notin"):
                return lambda labels: labels.get(key) != value
            return lambda labels: labels.get(key) == value
        values = frozenset(self.values)
        if operator == "notin":
            return lambda labels: labels.get(key) not in values
        return lambda labels: labels.get(key) in values


def _int64(text: str) -> int | None:
    if not _integer(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _inequality(key: str, greater: bool, values: Sequence[str]) -> _Matcher:
    bound = _int64(values[0]) if len(values) == 1 else None

    def matches(labels: Labels) -> bool:
        number = _int64(labels.get(key, ""))
        if number is None or bound is None:
            return False
        return number > bound if greater else number < bound

    return matches


def _all_of(matchers: Sequence[_Matcher]) -> _Matcher:
    if len(matchers) == 1:
        return matchers[0]
    if len(matchers) == 2:
        first, second = matchers
        return lambda labels: first(labels) and second(labels)

    def matches(labels: Labels) -> bool:
        for matcher in matchers:  # noqa: SIM110 - a generator would cost more than the loop
            if not matcher(labels):
                return False
        return True

    return matches


class LabelSelector:
    """All of its requirements, in the order of their keys. `matches(labels)` says whether they hold."""

    __slots__ = ("matches", "requirements")

    requirements: tuple[Requirement, ...]
    matches: _Matcher

    def __init__(self, requirements: Sequence[Requirement] = (), *, nothing: bool = False) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        if nothing:
            self.matches = lambda labels: False
        else:
            self.matches = _all_of([requirement.matcher() for requirement in self.requirements])

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """The selector a query string holds. Raises SelectorError in the API server's words."""
        return cls(_Parser(text).parse()) if text else EVERYTHING

    @classmethod
    def from_object(cls, selector: Mapping[str, Any] | None) -> LabelSelector:
        """From matchLabels and matchExpressions: None selects nothing, an empty one everything."""
        if selector is None:
            return NOTHING
        requirements = [
            Requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()
        ]
        for expression in selector.get("matchExpressions") or ():
            operator = expression.get("operator", "")
            if operator not in _OBJECT_OPERATORS:
                raise SelectorError(f"{quote(operator)} is not a valid label selector operator")
            values = tuple(expression.get("values") or ())
            requirements.append(Requirement(expression.get("key", ""), _OBJECT_OPERATORS[operator], values))
        for requirement in requirements:
            requirement.check()
        return cls(requirements) if requirements else EVERYTHING

    @classmethod
    def from_labels(cls, labels: Labels | None) -> LabelSelector:
        """Each label must have its value; nothing is validated (a service's selector)."""
        return (
            cls([Requirement(key, "=", (value,)) for key, value in labels.items()]) if labels else EVERYTHING
        )

    @property
    def empty(self) -> bool:
        """Whether it restricts nothing."""
        return not self.requirements and self is not NOTHING

    def exact_value(self, key: str) -> str | None:
        """The one value the selector demands of a label, if it does."""
        for requirement in self.requirements:
            if requirement.key == key:
                exact = requirement.operator in ("=", "==", "in") and len(requirement.values) == 1
                return requirement.values[0] if exact else None
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"LabelSelector.parse({str(self)!r})"


#: Selects all there is.
EVERYTHING: Final = LabelSelector()
#: Selects none: what a missing selector object means.
NOTHING: Final = LabelSelector(nothing=True)


def format_label_selector(selector: Mapping[str, Any] | None) -> str:
    """A selector object as tables show it."""
    try:
        return str(LabelSelector.from_object(selector)) or "<none>"
    except SelectorError:
        return "<error>"


_tokens = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+").findall
_SYMBOLS: Final = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_OPERATORS: Final = {
    "in": "in",
    "notin": "notin",
    "=": "=",
    "==": "==",
    "!=": "!=",
    ">": "gt",
    "<": "lt",
}
#: The end of the text: what errors show as ''.
_END: Final = ""


class _Parser:
    """Recursive descent over the tokens. Whether "in" is an operator depends on where it stands."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_tokens(text), _END]
        self._at = 0

    def _next(self) -> str:
        word = self._tokens[self._at]
        self._at += 1
        return word

    @property
    def _ahead(self) -> str:
        return self._tokens[self._at]

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while self._ahead != _END:
            if not _starts_requirement(self._ahead):
                raise SelectorError(f"found '{self._ahead}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            word = self._next()
            if word == _END:
                break
            if word != ",":
                raise SelectorError(f"found '{word}', expected: ',' or 'end of string'")
            if not _starts_requirement(self._ahead):
                raise SelectorError(f"found '{self._ahead}', expected: identifier after ','")
        return requirements

    def _requirement(self) -> Requirement:
        word = self._next()
        negated = word == "!"
        key = self._next() if negated else word
        if not _is_identifier(key):
            raise SelectorError(f"found '{key}', expected: identifier")
        if problems := is_label_key(key):
            raise SelectorError(str(invalid(Path("<nil>"), key, "; ".join(problems))))
        if negated:
            return self._checked(Requirement(key, "!"))
        if self._ahead in (_END, ","):
            return self._checked(Requirement(key, "exists"))
        word = self._next()
        operator = _OPERATORS.get(word)
        if operator is None:
            raise SelectorError(f"found '{word}', expected: {', '.join(_BINARY_OPERATORS)}")
        values = self._values() if operator in ("in", "notin") else {self._exact_value()}
        return self._checked(Requirement(key, operator, tuple(sorted(values))))

    def _checked(self, requirement: Requirement) -> Requirement:
        requirement.check()
        return requirement

    def _exact_value(self) -> str:
        if self._ahead in (_END, ","):
            return ""
        word = self._next()
        if not _is_identifier(word):
            raise SelectorError(f"found '{word}', expected: identifier")
        return word

    def _values(self) -> set[str]:
        word = self._next()
        if word != "(":
            raise SelectorError(f"found '{word}' expected: '('")
        if self._ahead == ")":
            self._next()
            return {""}
        if self._ahead != "," and not _is_identifier(self._ahead):
            raise SelectorError(f"found '{self._ahead}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while self._ahead != ")":
            word = self._next()
            if word == ",":
                # An empty place before, between or after commas is the empty value.
                if not values or self._ahead in (",", ")"):
                    values.add("")
            elif not _is_identifier(word):
                raise SelectorError(f"found '{word}', expected: ',', or identifier")
            else:
                values.add(word)
                if self._ahead not in (",", ")"):
                    raise SelectorError(f"found '{self._ahead}', expected: ',' or ')'")
        self._next()
        return values


def _is_identifier(word: str) -> bool:
    return word != _END and word not in _SYMBOLS


def _starts_requirement(word: str) -> bool:
    return word == "!" or _is_identifier(word)


# --- Fields


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One condition on one field: it has, or has not, this value. A missing field is empty."""

    field: str
    equal: bool
    value: str

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equal else '!='}{escape_field_value(self.value)}"


class FieldSelector:
    """All of its requirements. `matches(fields)` takes what `requirements` name, as text."""

    __slots__ = ("requirements",)

    def __init__(self, requirements: Sequence[FieldRequirement] = ()) -> None:
        self.requirements = tuple(requirements)

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """The selector a query string holds. Raises SelectorError in the API server's words."""
        requirements = []
        for term in sorted(_split_terms(text)):
            if not term:
                continue
            split = _field_operator(term)
            if split is None:
                raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
            field, value = term[: split.start()], _unescaped(term[split.end() :])
            requirements.append(FieldRequirement(field, split[0] != "!=", value))
        return cls(requirements) if requirements else EVERY_FIELD

    @property
    def empty(self) -> bool:
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        for requirement in self.requirements:
            if (fields.get(requirement.field, "") == requirement.value) is not requirement.equal:
                return False
        return True

    def exact_value(self, field: str) -> str | None:
        """The one value the selector demands of a field, if it does."""
        for requirement in self.requirements:
            if requirement.field == field and requirement.equal:
                return requirement.value
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"FieldSelector.parse({str(self)!r})"


#: Selects all there is.
EVERY_FIELD: Final = FieldSelector()

_field_operator = re.compile("!=|==|=").search
_term = re.compile(r"((?:\\.|[^,\\])*\\?)(,|$)", re.DOTALL)


def escape_field_value(value: str) -> str:
    """Any text as a value of a field selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def _split_terms(text: str) -> list[str]:
    """The terms between commas that are not escaped."""
    terms, at = [], 0
    while True:
        matched = _term.match(text, at)
        assert matched is not None  # the pattern takes any text
        terms.append(matched[1])
        if not matched[2]:
            return terms
        at = matched.end()


def _unescaped(text: str) -> str:
    if not any(special in text for special in "\\,="):
        return text
    plain, chars = [], iter(text)
    for char in chars:
        if char == "\\":
            escaped = next(chars, "")
            if escaped not in ("\\", ",", "="):
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            plain.append(escaped)
        elif char in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            plain.append(char)
    return "".join(plain)
