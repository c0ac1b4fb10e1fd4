"""Labels, Annotations and Selector: the key-value helpers every other builder accepts.

Wherever labels are wanted, a Labels, any mapping or keywords will do: `.labels(app="web")`,
`.labels({"app.kubernetes.io/name": "web"})`, `.labels(Labels().insert("app", "web"))`. The same holds for
selectors, which a Selector extends by set-based requirements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self

from steersman.objects.builders.errors import BuildError
from steersman.objects.builders.part import Part
from steersman.objects.names import is_label_key, is_label_value

__all__ = ["Annotations", "Labels", "Selector", "checked_annotations", "checked_labels", "label_selector"]

_EMPTY: Final[Mapping[str, str]] = {}
_Fail = Callable[[str, str], BuildError]


def checked_labels(fail: _Fail, field: str, labels: Mapping[str, str]) -> Mapping[str, str]:
    for key, value in labels.items():
        if not isinstance(value, str):
            raise fail(field, f"{key}: must be a string, not {value!r}")
        if problems := is_label_key(key):
            raise fail(field, f"{key!r}: {problems[0]}")
        if problems := is_label_value(value):
            raise fail(field, f"{key}: {value!r}: {problems[0]}")
    return labels


def checked_annotations(fail: _Fail, field: str, annotations: Mapping[str, str]) -> Mapping[str, str]:
    for key, value in annotations.items():
        if not isinstance(value, str):
            raise fail(field, f"{key}: must be a string, not {value!r}")
        # An annotation's name may be in any case, its prefix too.
        if problems := is_label_key(key.lower()):
            raise fail(field, f"{key!r}: {problems[0]}")
    return annotations


class Labels(dict[str, str]):
    """`Labels().insert("app", "web")`, `Labels(app="web")`: a dict whose `insert` can be chained."""

    __slots__ = ()

    def __init__(self, labels: Mapping[str, str] = _EMPTY, /, **more: str) -> None:
        super().__init__()
        for key, value in {**labels, **more}.items():
            self.insert(key, value)

    def insert(self, key: str, value: str) -> Self:
        checked_labels(self._error, key, {key: value})
        self[key] = value
        return self

    def _error(self, field: str, problem: str) -> BuildError:
        return BuildError(type(self).__name__, "", field, problem)


class Annotations(Labels):
    """`Annotations().insert("example.com/note", "any text")`."""

    __slots__ = ()

    def insert(self, key: str, value: str) -> Self:
        checked_annotations(self._error, key, {key: value})
        self[key] = value
        return self


class Selector(Part):
    """Which objects: all whose labels have these values and fulfil these requirements.

    An empty Selector selects everything.
    """

    __slots__ = ()

    def __init__(self, labels: Mapping[str, str] = _EMPTY, /, **more: str) -> None:
        super().__init__()
        for key, value in {**labels, **more}.items():
            self.insert(key, value)

    def insert(self, key: str, value: str) -> Self:
        checked_labels(self._error, "matchLabels", {key: value})
        self._object.setdefault("matchLabels", {})[key] = value
        return self

    def is_in(self, key: str, *values: str | Iterable[str]) -> Self:
        """The label is there and has one of these values."""
        return self._expression(key, "In", self._texts(key, values))

    def not_in(self, key: str, *values: str | Iterable[str]) -> Self:
        """The label has none of these values, or is not there."""
        return self._expression(key, "NotIn", self._texts(key, values))

    def exists(self, key: str) -> Self:
        return self._expression(key, "Exists")

    def does_not_exist(self, key: str) -> Self:
        return self._expression(key, "DoesNotExist")

    def _expression(self, key: str, operator: str, values: list[str] | None = None) -> Self:
        if values is not None and not values:
            raise self._error("matchExpressions", f"{key}: {operator} needs at least one value")
        checked_labels(self._error, "matchExpressions", dict.fromkeys([key], ""))
        for value in values or ():
            checked_labels(self._error, "matchExpressions", {key: value})
        requirement: dict[str, Any] = {"key": key, "operator": operator}
        if values is not None:
            requirement["values"] = values
        self._object.setdefault("matchExpressions", []).append(requirement)
        return self


def label_selector(
    fail: _Fail, field: str, selector: Selector | Mapping[str, str] | None, labels: Mapping[str, str]
) -> dict[str, Any]:
    """The object form of a selector given in any of the accepted ways."""
    if isinstance(selector, Selector):
        made = selector.to_object()
        given: Mapping[str, str] = labels
    else:
        made = {}
        given = {**selector, **labels} if selector else labels
    if given:
        made["matchLabels"] = {**made.get("matchLabels", {}), **checked_labels(fail, field, given)}
    return made
