"""What is wrong with a value, in the words and order of Kubernetes' OpenAPI validation.

`explain` walks value and schema side by side when the quick check of `translate` refused an object. It
keeps that library's habits where clients can see them: the path in the text and the field beside it, the
clause of an anyOf that came closest, one report of equal texts. With a correlation, what is wrong but
unchanged since the last write is tolerated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from steersman.cluster.schema.structural.correlation import Correlated
from steersman.cluster.schema.structural.errors import PatternError
from steersman.cluster.schema.structural.formats import FORMATS, effective_format
from steersman.cluster.schema.structural.lists import sorted_keys
from steersman.cluster.schema.structural.node import JSONSchema
from steersman.cluster.schema.structural.patterns import matches
from steersman.objects.fields import (
    FieldError,
    Path,
    invalid,
    not_supported,
    quote,
    required,
    show,
    too_long,
    too_many,
    type_invalid,
)

__all__ = ["explain", "named"]

#: Limits of numbers, in the order they are checked, and their names in messages.
_LIMITS: Final = (
    ("multipleOf", "MultipleOf"),
    ("minimum", "Minimum boundary"),
    ("maximum", "Maximum boundary"),
)
_Code = Literal["required", "enum", "too long", "too many", "type", "other", "general"]
_NIL: Final = Path("<nil>")
_INT64: Final = 2**63
_INT32: Final = 2**31
_JSON_INTEGERS: Final = 2**53 - 1
_LARGEST_FLOAT: Final = 3.4028234663852886e38


def explain(
    schema: JSONSchema, value: Any, path: Path, correlated: Correlated | None = None
) -> list[FieldError]:
    """Everything wrong with a value; `path` is where it stands in the object."""
    found = _ratcheted(schema, value, "", correlated)
    return [_field_error(problem, path) for problem in found.problems.values()]


def named(path: Path) -> Path:
    """A path as an error shows it: that of the whole object has a name of its own."""
    return path if str(path) else _NIL


@dataclass(frozen=True, slots=True)
class _Problem:
    text: str
    code: _Code = "other"
    #: Where, as far as the walk knows; `general` problems name no field.
    name: str = ""
    value: Any = ""
    #: The largest size allowed, or the values of an enum.
    limit: Any = None


@dataclass(slots=True)
class _Result:
    """Problems, and how much matched: of several clauses the one that matched most is told of."""

    #: By their texts: equal ones are told once.
    problems: dict[str, _Problem] = field(default_factory=dict)
    matched: int = 0

    def add(self, *problems: _Problem) -> None:
        for problem in problems:
            self.problems.setdefault(problem.text, problem)

    def merge(self, other: _Result) -> None:
        self.add(*other.problems.values())
        self.matched += other.matched


def _failed(text: str, code: _Code, name: str, value: Any, limit: Any = None) -> _Result:
    return _Result({text: _Problem(text, code, name, value, limit)})


def _field_error(problem: _Problem, path: Path) -> FieldError:
    if problem.code == "general":
        return invalid(named(path), "", problem.text)
    name = problem.name.removeprefix(".")
    own = path.child(name) if name else named(path)
    if problem.code == "required":
        return required(own)
    if problem.code == "enum":
        values = [value if isinstance(value, str) else show(sorted_keys(value)) for value in problem.limit]
        return not_supported(own, sorted_keys(problem.value), values)
    if problem.code == "too long":
        return too_long(own, problem.limit)
    if problem.code == "too many":
        return too_many(own, problem.value, problem.limit)
    make = type_invalid if problem.code == "type" else invalid
    return make(own, "" if problem.value is None else problem.value, problem.text)


def _ratcheted(schema: JSONSchema, value: Any, name: str, correlated: Correlated | None) -> _Result:
    result = _check(schema, value, name, correlated)
    if result.problems and correlated is not None and correlated.unchanged:
        return _Result(matched=result.matched)
    return result


def _check(schema: JSONSchema, value: Any, name: str, correlated: Correlated | None) -> _Result:
    result = _Result()
    types = _types(schema)
    type_format = effective_format(schema)
    if value is None:
        result.merge(_check_type(types, type_format, schema, value, name))
        result.merge(_check_enum(schema, value, name))
        return result
    parts = [_check_clauses(schema, value, name, correlated)]
    if types or type_format:
        parts.insert(0, _check_type(types, type_format, schema, value, name))
    if isinstance(value, str):
        parts.append(_check_string(schema, value, name))
        if type_format.replace("-", "") in FORMATS:
            parts.append(_check_format(type_format, value, name))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        parts.append(_check_number(schema, types, type_format, value, name))
    elif isinstance(value, list):
        parts.append(_check_list(schema, value, name, correlated))
    parts.append(_check_enum(schema, value, name))
    if isinstance(value, dict):
        parts.append(_check_object(schema, value, name, correlated))
    for part in parts:
        result.merge(part)
    result.matched += len(parts) + 1
    return result


def _types(schema: JSONSchema) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _type_of(value: Any) -> tuple[str, str]:
    """The JSON type of a value and the format of Go's type for it."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return "integer", "int64"
    if isinstance(value, (int, float)):
        return "number", "float64"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object", ""


def _check_type(types: Sequence[str], type_format: str, schema: JSONSchema, value: Any, name: str) -> _Result:
    if value is None:
        wrong = types and "null" not in types and not schema.get("nullable")
        return _wrong_type(name, ",".join(types), "null") if wrong else _Result(matched=1)
    kind, value_format = _type_of(value)
    whole = kind == "number" and "integer" in types and _is_json_integer(float(value))
    fits = kind in types or whole or (kind == "integer" and "number" in types)
    textual = isinstance(value, (str, list))
    if type_format:
        if not textual and not fits and value_format != type_format:
            return _wrong_type(name, type_format, value_format)
        if textual and "number" not in types and "integer" not in types:
            return _Result(matched=1)
    return _Result(matched=1) if fits else _wrong_type(name, ",".join(types), kind)


def _wrong_type(name: str, expected: str, got: str) -> _Result:
    text = f"{name} in body must be of type {expected}: {quote(got)}"
    return _failed(text, "type", name, got)


def _is_json_integer(number: float) -> bool:
    """Whether JavaScript would call it whole; what is off by rounding alone is."""
    if not math.isfinite(number) or abs(number) > _JSON_INTEGERS:
        return False
    whole = float(int(number))
    return number == whole or (whole != 0 and abs(number - whole) / (abs(number) + abs(whole)) < 1e-9)


def _check_enum(schema: JSONSchema, value: Any, name: str) -> _Result:
    allowed = schema.get("enum") or ()
    if not allowed or any(_converts_to(value, each) for each in allowed):
        return _Result()
    text = f"{name} in body should be one of {allowed}"
    return _failed(text, "enum", name, value, allowed)


def _converts_to(value: Any, wanted: Any) -> bool:
    """Equality after Go's conversion of the value to the other's type: numbers lose their fraction."""
    if value is None or wanted is None:
        return False
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, (int, float)) and isinstance(wanted, (int, float)):
        return (int(value) if isinstance(wanted, int) else float(value)) == wanted
    return bool(value == wanted)


def _check_string(schema: JSONSchema, value: str, name: str) -> _Result:
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if longest is not None and len(value) > longest:
        text = f"{name} in body should be at most {longest} chars long"
        return _failed(text, "too long", name, value, longest)
    if shortest is not None and len(value) < shortest:
        text = f"{name} in body should be at least {shortest} chars long"
        return _failed(text, "other", name, value)
    if not pattern:
        return _Result()
    try:
        if matches(pattern, value):
            return _Result()
    except PatternError as error:
        pattern = f"{pattern}, but pattern is invalid: {error}"
    return _failed(f"{name} in body should match '{pattern}'", "other", name, value)


def _check_format(type_format: str, value: str, name: str) -> _Result:
    if FORMATS[type_format.replace("-", "")](value):
        return _Result()
    return _wrong_type(name, type_format, value)


def _check_number(
    schema: JSONSchema, types: Sequence[str], type_format: str, value: int | float, name: str
) -> _Result:
    kind = types[0] if len(types) == 1 and types[0] in ("integer", "number") else ""
    result = _Result(matched=1)
    result.add(*_out_of_range(value, kind, type_format, "Checked", name))
    for keyword, label in (
        ("multipleOf", "MultipleOf"),
        ("minimum", "Minimum boundary"),
        ("maximum", "Maximum boundary"),
    ):
        if (limit := schema.get(keyword)) is None:
            continue
        doubts = _out_of_range(limit, kind, type_format, label, name)
        whole = isinstance(value, int) and -_INT64 <= value < _INT64 and not doubts
        number, bound = (value, int(limit)) if whole else (float(value), float(limit))
        result.add(*doubts)
        if keyword == "multipleOf":
            result.add(*_not_multiple(number, bound, name))
        else:
            result.add(
                *_beyond(number, bound, keyword, bool(schema.get(f"exclusive{keyword.capitalize()}")), name)
            )
    return result


def _out_of_range(value: int | float, kind: str, type_format: str, label: str, name: str) -> list[_Problem]:
    """A number that its declared type cannot hold."""
    if kind == "integer":
        limit = _INT32 if type_format == "int32" else _INT64
        holds = value == int(value) and -limit <= value < limit and abs(value) < 1e21
    else:
        holds = type_format != "float" or abs(value) <= _LARGEST_FLOAT
    if holds:
        return []
    described = f"with format {type_format}" if type_format else "(default format)"
    return [_Problem(f"{label} value must be of type {kind} {described} in {name}", "general")]


def _not_multiple(value: int | float, factor: int | float, name: str) -> list[_Problem]:
    if factor <= 0:
        text = f"factor MultipleOf declared for {name} must be positive: {show(factor)}"
        return [_Problem(text, "other", name, factor)]
    if isinstance(value, int) and isinstance(factor, int):
        fits = value % factor == 0
    else:
        fits = _is_json_integer(1 / factor * value if factor < 1 else value / factor)
    if fits:
        return []
    return [_Problem(f"{name} in body should be a multiple of {show(factor)}", "other", name, value)]


def _beyond(
    value: int | float, bound: int | float, keyword: str, exclusive: bool, name: str
) -> list[_Problem]:
    over, word = (value > bound, "less") if keyword == "maximum" else (value < bound, "greater")
    if not over and not (exclusive and value == bound):
        return []
    text = f"{name} in body should be {word} than {'' if exclusive else 'or equal to '}{show(bound)}"
    return [_Problem(text, "other", name, value)]


def _check_list(schema: JSONSchema, value: list[Any], name: str, correlated: Correlated | None) -> _Result:
    result = _Result(matched=1)
    if (items := schema.get("items")) is not None:
        for index, item in enumerate(value):
            below = correlated.index(index) if correlated is not None else None
            result.merge(_ratcheted(items, item, f"{name}[{index}]", below))
    size, least, most = len(value), schema.get("minItems"), schema.get("maxItems")
    if least is not None and size < least:
        result.add(_Problem(f"{name} in body should have at least {least} items", "other", name, size))
    if most is not None and size > most:
        text = f"{name} in body should have at most {most} items"
        result.add(_Problem(text, "too many", name, size, most))
    if schema.get("uniqueItems") and any(item in value[:index] for index, item in enumerate(value)):
        result.add(_Problem(f"{name} in body shouldn't contain duplicates", "other", name, None))
    return result


def _check_object(
    schema: JSONSchema, value: dict[str, Any], name: str, correlated: Correlated | None
) -> _Result:
    result = _Result()
    size, least, most = len(value), schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and size < least:
        result.add(_Problem(f"{name} in body should have at least {least} properties", "other", name, size))
    if most is not None and size > most:
        text = f"{name} in body should have at most {most} properties"
        result.add(_Problem(text, "too many", name, size, most))
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    unnamed = [key for key in value if key not in properties]
    if additional is False:
        for key in unnamed:
            result.add(_Problem(f"{name}.{key} in body is a forbidden property", "other", name, key))
    elif isinstance(additional, dict):
        for key in unnamed:
            result.merge(_ratcheted(additional, value[key], f"{name}.{key}", _below(correlated, key, name)))
    for key in sorted(properties):
        if key in value:
            own = f"{name}.{key}" if name else key
            result.merge(_ratcheted(properties[key], value[key], own, _below(correlated, key, name)))
    for key in schema.get("required") or ():
        if key not in value:
            result.add(_Problem(f"{name}.{key} in body is required", "required", f"{name}.{key}"))
    return result


def _below(correlated: Correlated | None, key: str, name: str) -> Correlated | None:
    """What says which kind an object is was converted with it, so it cannot tell old from new."""
    if correlated is None or (not name and key in ("kind", "apiVersion")):
        return None
    return correlated.key(key)


def _check_clauses(schema: JSONSchema, value: Any, name: str, correlated: Correlated | None) -> _Result:
    result = _Result()
    if any_of := schema.get("anyOf"):
        _any_of(any_of, value, name, correlated, result)
    if one_of := schema.get("oneOf"):
        _one_of(one_of, value, name, correlated, result)
    if all_of := schema.get("allOf"):
        clauses = [_check(clause, value, name, correlated) for clause in all_of]
        for clause in clauses:
            result.merge(clause)
        failed = sum(bool(clause.problems) for clause in clauses)
        if failed:
            none = ". None validated" if failed == len(clauses) else ""
            result.add(_general(f"{quote(name)} must validate all the schemas (allOf){none}"))
    if (negated := schema.get("not")) is not None and not _check(negated, value, name, correlated).problems:
        result.add(_general(f"{quote(name)} must not validate the schema (not)"))
    result.matched += 1
    return result


def _general(text: str) -> _Problem:
    return _Problem(text, "general")


def _any_of(
    clauses: list[JSONSchema], value: Any, name: str, correlated: Correlated | None, result: _Result
) -> None:
    closest: _Result | None = None
    for clause in clauses:
        tried = _check(clause, value, name, correlated)
        if not tried.problems:
            result.merge(tried)
            return
        if closest is None or tried.matched > closest.matched:
            closest = tried
    result.add(_general(f"{quote(name)} must validate at least one schema (anyOf)"))
    if closest is not None:
        result.merge(closest)


def _one_of(
    clauses: list[JSONSchema], value: Any, name: str, correlated: Correlated | None, result: _Result
) -> None:
    closest: _Result | None = None
    valid: list[_Result] = []
    for clause in clauses:
        tried = _check(clause, value, name, correlated)
        if not tried.problems:
            valid.append(tried)
        elif not valid and (closest is None or tried.matched > closest.matched):
            closest = tried
    if len(valid) == 1:
        result.merge(valid[0])
        return
    found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    result.add(_general(f"{quote(name)} must validate one and only one schema (oneOf). {found}"))
    if closest is not None and not valid:
        result.merge(closest)
