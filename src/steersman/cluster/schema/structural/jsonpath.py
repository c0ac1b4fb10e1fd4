"""JSONPath as Kubernetes has it: printer columns and selectable fields read objects with it.

`JSONPath(".status.conditions[?(@.type==\"Ready\")].status")` is parsed once; `find` gives every value it
leads to. Fields, quoted keys, indexes, slices, unions, wildcards, recursive descent and filters are known.
Fields that are not there lead to nothing; what does not fit the data (an index into a map) is an error.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from steersman.cluster.schema.structural.errors import JSONPathError

__all__ = ["JSONPath"]

Values = list[Any]
Step = Callable[[Values], Values]

_TERMINATORS: Final = " \t\r\n.,[]$@{}"
_quoted_key = re.compile(r"'([^']*)'").fullmatch
_slice = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?", re.ASCII).fullmatch
_comparison = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL).fullmatch
_number = re.compile(r"[+-]?[\d.]*", re.ASCII).match
_escaped = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class JSONPath:
    """A parsed path. Raises JSONPathError for a text that is none."""

    __slots__ = ("_steps",)

    def __init__(self, text: str) -> None:
        self._steps = _Parser(text).steps()

    def find(self, value: Any) -> Values:
        """All values that the path leads to. Raises JSONPathError when it does not apply."""
        values = [value]
        for step in self._steps:
            values = step(values)
        return values


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def steps(self) -> list[Step]:
        found: list[Step] = []
        while self._at < len(self._text) and self._text[self._at] != "}":
            step = self._next()
            if step is not None:
                if step is _descend and found[-1:] == [_descend]:
                    raise JSONPathError("invalid multiple recursive descent")
                found.append(step)
        return found

    def _next(self) -> Step | None:
        text, at = self._text, self._at
        if text.startswith("[?(", at):
            return self._filter()
        if text.startswith("..", at):
            # The second dot begins a field, or is skipped before anything else.
            self._at += 2 if text[at + 2 : at + 3] in ("[", "", "*", ".") else 1
            return _descend
        char = text[at]
        self._at += 1
        if char in " @$":
            return None
        if char == ".":
            return self._field()
        if char == "[":
            return self._brackets()
        if char in "\"'":
            return self._constant(self._quoted(char))
        if char in "+-" or char.isdigit():
            return self._number(at)
        if char == "_" or char.isalpha():
            return self._word(at)
        raise JSONPathError(
            "unclosed action"
            if char in "\r\n"
            else f"unrecognized character in action: U+{ord(char):04X} '{char}'"
        )

    def _field(self) -> Step:
        text, begin = self._text, self._at
        while self._at < len(text) and text[self._at] not in _TERMINATORS:
            self._at += 2 if text[self._at] == "\\" else 1
        name = text[begin : self._at].replace("\\", "")
        return _wildcard if name == "*" else _field(name)

    def _number(self, begin: int) -> Step:
        matched = _number(self._text, begin)
        shown = matched[0] if matched else ""
        self._at = begin + len(shown)
        try:
            return self._constant(float(shown) if "." in shown else int(shown))
        except ValueError:
            raise JSONPathError(f"cannot parse number {shown}") from None

    def _word(self, begin: int) -> Step:
        while self._at < len(self._text) and self._text[self._at] not in _TERMINATORS:
            self._at += 1
        word = self._text[begin : self._at]
        if word not in ("true", "false"):
            raise JSONPathError(f"unrecognized identifier {word}")
        return self._constant(word == "true")

    def _constant(self, constant: Any) -> Step:
        return lambda values: [constant for _ in values]

    def _quoted(self, mark: str) -> str:
        text, begin = self._text, self._at
        end = begin
        while (end := text.find(mark, end)) > begin and text[end - 1] == "\\":
            end += 1
        if end < 0:
            raise JSONPathError("unterminated quoted string")
        self._at = end + 1
        return _escaped.sub(lambda found: _ESCAPES.get(found[1], found[1]), text[begin:end])

    def _brackets(self) -> Step:
        end = self._text.find("]", self._at)
        if end < 0:
            raise JSONPathError("unterminated array")
        inside = self._text[self._at : end]
        self._at = end + 1
        if inside == "*":
            inside = ":"
        if "," in inside:
            return _union([_Parser(f"[{part.strip(' ')}]").steps() for part in inside.split(",")])
        if key := _quoted_key(inside):
            steps = _Parser(f".{key[1]}").steps()
            return _union([steps])
        bounds = _slice(inside)
        if bounds is None:
            raise JSONPathError(f"invalid array index {inside}")
        return _items(*bounds.groups())

    def _filter(self) -> Step:
        begin = self._at + 3
        end = _filter_end(self._text, begin)
        self._at = end + 2
        inside = self._text[begin:end]
        compared = _comparison(inside)
        if compared is None:
            return _filter(_Parser(inside).steps(), None, None)
        left, sign, right = compared.groups()
        return _filter(_Parser(left).steps(), sign, _Parser(right).steps())


def _filter_end(text: str, begin: int) -> int:
    """Where the `)]` of a filter is; parentheses inside quotes do not count."""
    mark = ""
    for index in range(begin, len(text)):
        char = text[index]
        if mark:
            if char == mark and text[index - 1] != "\\":
                mark = ""
        elif char in "\"'":
            mark = char
        elif char == ")":
            if text[index + 1 : index + 2] != "]":
                raise JSONPathError("unclosed array expect ]")
            return index
    raise JSONPathError("unterminated filter")


def _run(steps: list[Step], values: Values) -> Values:
    for step in steps:
        values = step(values)
    return values


def _field(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _members(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from (value[key] for key in sorted(value))
    elif isinstance(value, list):
        yield from value


def _wildcard(values: Values) -> Values:
    return [member for value in values for member in _members(value)]


def _descend(values: Values) -> Values:
    found: Values = []
    for value in values:
        if members := list(_members(value)):
            found += [value, *_descend(members)]
    return found


def _union(parts: list[list[Step]]) -> Step:
    return lambda values: [value for steps in parts for value in _run(steps, values)]


def _items(first: str, second: str | None, third: str | None) -> Step:
    start = int(first) if first not in ("", "-") else 0
    stop = int(second[1:]) if second and second[1:] not in ("", "-") else None
    step = int(third[1:]) if third and third[1:] not in ("", "-") else 1

    def items(values: Values) -> Values:
        found: Values = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise JSONPathError(f"{type(value).__name__} is not array or slice")
            found += _sliced(value, start, stop, single=second is None and first != "", step=step)
        return found

    return items


def _sliced(value: list[Any], start: int, stop: int | None, *, single: bool, step: int) -> list[Any]:
    size = len(value)
    begin = start + size if start < 0 else start
    end = begin + 1 if single else size if stop is None else stop + size if stop < 0 else stop
    if begin == end:
        return []
    for index, shown in ((begin, begin), (end - 1, end - 1)):
        if not 0 <= index < size:
            raise JSONPathError(f"array index out of bounds: index {shown}, length {size}")
    if begin > end:
        raise JSONPathError(f"starting index {begin} is greater than ending index {end}")
    if step <= 0:
        raise JSONPathError("step must be > 0")
    return value[begin:end:step]


def _filter(left: list[Step], sign: str | None, right: list[Step] | None) -> Step:
    def keep(item: Any) -> bool:
        lefts = _run(left, [item])
        if sign is None or right is None:
            return bool(lefts)
        rights = _run(right, [item])
        if not lefts or not rights:
            return False
        if len(lefts) > 1 or len(rights) > 1:
            raise JSONPathError("can only compare one element at a time")
        return _compare(sign, lefts[0], rights[0])

    def select(values: Values) -> Values:
        found: Values = []
        for value in values:
            if not isinstance(value, list):
                raise JSONPathError(f"{value} is not array or slice and cannot be filtered")
            found += [item for item in value if keep(item)]
        return found

    return select


def _compare(sign: str, one: Any, other: Any) -> bool:
    if sign not in _OPERATORS:
        raise JSONPathError(f"unrecognized filter operator {sign}")
    if isinstance(one, bool) is not isinstance(other, bool) or isinstance(one, str) is not isinstance(
        other, str
    ):
        raise JSONPathError("incompatible types for comparison")
    try:
        return _OPERATORS[sign](one, other)
    except TypeError:
        raise JSONPathError("incompatible types for comparison") from None
