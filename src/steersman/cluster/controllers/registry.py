"""The built-in controllers by name, and where each is made. Their code is loaded when they are added."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from steersman.cluster.controllers.setup import Setup

__all__ = ["CONTROLLERS", "add_controllers", "chosen"]

#: Name → module below this package that has `add(setup)`.
CONTROLLERS: dict[str, str] = {}


def chosen(asked: Collection[str]) -> list[str]:
    """The controllers meant by names, `all`, `none` and `-name`. Raises ValueError for an unknown name."""
    unknown = {name.removeprefix("-") for name in asked} - {"all", "none", *CONTROLLERS}
    if unknown:
        raise ValueError(f"there is no controller {', '.join(sorted(unknown))}")
    without = {name[1:] for name in asked if name.startswith("-")}
    everything = "all" in asked or (without and len(without) == len(set(asked)))
    return [name for name in CONTROLLERS if (everything or name in asked) and name not in without]


def add_controllers(setup: Setup, names: Collection[str]) -> None:
    """Make the named controllers; those that share a module are made once."""
    for module in dict.fromkeys(CONTROLLERS[name] for name in names):
        import_module(f"steersman.cluster.controllers.{module}").add(setup)
