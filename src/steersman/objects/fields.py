"""Field paths and field errors: how validation names what is wrong and where.

Validators return lists of `FieldError`; the API server turns them into the causes of a 422 Status,
the command line into one line naming the field. The wording of each kind of error is Kubernetes',
because clients and people match on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

__all__ = [
    "FieldError",
    "Path",
    "duplicate",
    "forbidden",
    "internal",
    "invalid",
    "join",
    "not_found",
    "not_supported",
    "quote",
    "required",
    "show",
    "too_few",
    "too_long",
    "too_long_text",
    "too_many",
    "type_invalid",
]


class Path:
    """An immutable path into an object: `Path("spec").child("containers").index(0)`.

    Rendered only when an error is made, so walking a valid object costs one small allocation a step.
    """

    __slots__ = ("_parent", "_text")

    def __init__(self, text: str = "", parent: Path | None = None) -> None:
        self._text = text
        self._parent = parent

    def child(self, *names: str) -> Path:
        path = self
        for name in names:
            path = Path("." + name if path._parent is not None or path._text else name, path)
        return path

    def index(self, number: int) -> Path:
        return Path(f"[{number}]", self)

    def key(self, key: str) -> Path:
        return Path(f"[{key}]", self)

    def __str__(self) -> str:
        parts = []
        path: Path | None = self
        while path is not None:
            parts.append(path._text)
            path = path._parent
        return "".join(reversed(parts))

    def __repr__(self) -> str:
        return f"Path({str(self)!r})"


_PREFIX: Final = {
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueTypeInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooShort": "Too short",
    "FieldValueTooMany": "Too many",
    "FieldValueTooFew": "Too few",
    "FieldValueNotFound": "Not found",
    "InternalError": "Internal error",
}

#: These reasons name only the rule; showing the value would add nothing or reveal too much.
_WITHOUT_VALUE: Final = frozenset(
    {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "FieldValueTooShort", "InternalError"}
)


def show(value: Any) -> str:
    """A value as Kubernetes prints it inside a message: strings quoted, the rest as JSON."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    if isinstance(value, (int, float)):
        return str(value)
    return orjson.dumps(value).decode().translate(_HTML)


def quote(text: str) -> str:
    """Go's %q: what cannot be printed is escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if not escaped.isprintable():
        escaped = "".join(char if char.isprintable() else _escaped(char) for char in escaped)
    return f'"{escaped}"'


#: encoding/json escapes these for HTML.
_HTML: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_NAMED_ESCAPES: Final = dict(zip("\a\b\f\n\r\t\v", "abfnrtv", strict=True))


def _escaped(char: str) -> str:
    if char in _NAMED_ESCAPES:
        return "\\" + _NAMED_ESCAPES[char]
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field. `reason` is the cause's reason in a Status."""

    reason: str
    field: str
    detail: str = ""
    value: Any = None

    @property
    def message(self) -> str:
        """What a Status cause says: everything but the field."""
        text = _PREFIX[self.reason]
        if self.reason not in _WITHOUT_VALUE:
            text += ": " + show(self.value)
        if self.detail:
            text += ": " + self.detail
        return text

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(path: Path, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", str(path), detail)


def invalid(path: Path, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", str(path), detail, value)


def type_invalid(path: Path, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueTypeInvalid", str(path), detail, value)


def not_supported(path: Path, value: Any, supported: Iterable[str]) -> FieldError:
    """`supported` is shown in the order given (Kubernetes sorts where it uses a set: do so too)."""
    values = ", ".join(quote(text) for text in supported)
    return FieldError(
        "FieldValueNotSupported", str(path), f"supported values: {values}" if values else "", value
    )


def forbidden(path: Path, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", str(path), detail)


def duplicate(path: Path, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", str(path), "", value)


def not_found(path: Path, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", str(path), "", value)


def too_long(path: Path, maximum: int) -> FieldError:
    detail = f"may not be more than {_counted(maximum, 'byte')}" if maximum >= 0 else "value is too long"
    return FieldError("FieldValueTooLong", str(path), detail)


def too_long_text(path: Path, maximum: int) -> FieldError:
    """Where a text's characters are counted, not its bytes."""
    return FieldError(
        "FieldValueTooLong", str(path), f"may not be more than {_counted(maximum, 'character')}"
    )


def too_many(path: Path, actual: int, maximum: int) -> FieldError:
    detail = f"must have at most {_counted(maximum, 'item')}" if maximum >= 0 else "has too many items"
    return FieldError("FieldValueTooMany", str(path), detail, actual)


def too_few(path: Path, actual: int, minimum: int) -> FieldError:
    detail = f"must have at least {_counted(minimum, 'item')}"
    return FieldError("FieldValueTooFew", str(path), detail, actual)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


def internal(path: Path, detail: str) -> FieldError:
    return FieldError("InternalError", str(path), detail)


def join(errors: Sequence[FieldError]) -> str:
    """Several errors as one text: alone as it is, more in brackets."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
