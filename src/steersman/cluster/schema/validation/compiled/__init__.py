"""The checks that rules.txt is compiled to: the rules of a kind, and single blocks for Python code.

The other modules of this package are written by `rule_table.building` and not committed. Here they are
found, and written anew if rules.txt has changed since they were made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module, invalidate_caches
from types import ModuleType
from typing import Any, Final

from steersman.cluster.schema.rule_table.inputs import digest
from steersman.cluster.schema.table import table_file
from steersman.cluster.schema.validation.rules import Rules
from steersman.objects.fields import FieldError, Path

__all__ = ["Check", "compiled_check", "compiled_rules"]

#: What is wrong with a value at a path. The third argument is the context of functions called with `@`.
Check = Callable[..., list[FieldError]]

_PREFIX: Final = "io.k8s.api."
_INDEX: Final = f"{__name__}._index"


@cache
def _current() -> ModuleType:
    """The index of the compiled modules, after they were written anew if they are missing or outdated."""
    table = table_file()
    with suppress(ModuleNotFoundError):
        index = import_module(_INDEX)
        if digest(table) == index.DIGEST:
            return index
    # Few processes compile; the others need not load the compiler.
    from steersman.cluster.schema.rule_table.building import build

    build(table)
    invalidate_caches()
    sys.modules.pop(_INDEX, None)
    return import_module(_INDEX)


def compiled_rules(group: str, kind: str) -> Rules | None:
    """The rules of a kind; None if rules.txt has none."""
    module: str | None = _current().KINDS.get((group, kind))
    if module is None:
        return None
    rules: dict[tuple[str, str], Rules] = import_module(f"{__name__}._{module}").RULES
    return rules[group, kind]


def compiled_check(name: str) -> Check:
    """The check of a block by its name in rules.txt, `core.v1.Container` or `core.v1.Container declared`.

    Of the items of a list if `[]` stands before it. Raises KeyError.
    """
    items = name.startswith("[]")
    module, function, compares, uniques = _current().BLOCKS[_PREFIX + name.removeprefix("[]")]
    check = getattr(import_module(f"{__name__}._{module}"), function)
    if items:
        return _of_items(check, uniques)
    return _of_changed_value(check) if compares else _of_value(check)


def _of_value(check: Callable[..., None]) -> Check:
    def checked(value: Any, path: Path, context: Any = None) -> list[FieldError]:
        errors: list[FieldError] = []
        check(value, path, errors, context)
        return errors

    return checked


def _of_changed_value(check: Callable[..., None]) -> Check:
    def checked(value: Any, path: Path, context: Any = None, old: Any = None) -> list[FieldError]:
        errors: list[FieldError] = []
        check(value, path, errors, context, old)
        return errors

    return checked


def _of_items(check: Callable[..., None], uniques: int) -> Check:
    def checked(values: Any, path: Path, context: Any = None) -> list[FieldError]:
        errors: list[FieldError] = []
        seen = (tuple(set[Any]() for _ in range(uniques)),) if uniques else ()
        for number, value in enumerate(values):
            check(value, path.index(number), errors, context, *seen)
        return errors

    return checked
