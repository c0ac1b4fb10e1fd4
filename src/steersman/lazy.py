"""Names of a package that are imported when they are first used (PEP 562).

`import package` should not load everything that the package exports: a program that builds objects needs no
HTTP client, and a server starts sooner without one. A package lists where its names are defined and takes its
`__getattr__` from here. Under `if TYPE_CHECKING` it imports them as usual, so that type checkers and editors
see each name; `__getattr__` itself is hidden from them, or a wrong name would be right.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazy_names"]


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of `package`: `modules` says which names each submodule (`"client.errors"`) defines.

    Names are separated by blanks.
    """
    homes = {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(homes[name]), name)
        # The next use finds it without asking here.
        setattr(sys.modules[package], name, value)
        return value

    return get
