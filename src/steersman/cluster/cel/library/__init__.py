"""The CEL function libraries of kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Final

from steersman.cluster.cel.functions import Function
from steersman.cluster.cel.library import (
    authorization,
    clocks,
    formats,
    lists,
    networks,
    optionals,
    patches,
    quantities,
    regexes,
    standard,
    strings,
    urls,
    versions,
)

__all__ = ["ALL", "OF_PATCHES"]

_LIBRARIES: Final = (
    standard, strings, lists, optionals, clocks,
    quantities, networks, urls, regexes, versions, formats, authorization,
)  # fmt: skip


def _merged(libraries: Iterable[ModuleType]) -> dict[str, Function]:
    """Libraries add overloads to each other's functions (`indexOf` is for strings and for lists)."""
    found: dict[str, Function] = {}
    for library in libraries:
        for function in library.FUNCTIONS:
            known = found.get(function.name)
            overloads = function.overloads if known is None else known.overloads + function.overloads
            found[function.name] = Function(function.name, overloads)
    return found


ALL: Final = _merged(_LIBRARIES)
#: What expressions can call that make JSON patches.
OF_PATCHES: Final = _merged((*_LIBRARIES, patches))
