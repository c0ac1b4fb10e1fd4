"""The directive `package`: everything that a package exports, from its docstrings.

    ```{package} steersman.operator
    ```

Docstrings are Markdown. Aligned text (trees, columns) in them is shown as it is, though nothing marks it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from markdown import rst_nodes
from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_aligned = re.compile(r"[├└│]|\S {3,}\S").search
_ANCESTORS = ("Generic", "Protocol", "tuple", "dict")
#: pydantic's own, which every model would repeat.
_PYDANTIC = "model_config, model_post_init, model_fields, model_computed_fields"


class Package(SphinxDirective):
    """`:without: A B` leaves names out that a reader need not know."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"without": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        module = import_module(name)
        without = self.options.get("without", "").split()
        exported = {each: getattr(module, each) for each in module.__all__ if each not in without}
        own = {each: value for each, value in exported.items() if _is_home(name, value)}
        lines = [*_wrapped((module.__doc__ or "").splitlines()), "", f".. py:module:: {name}", ""]
        for each, value in sorted(own.items(), key=lambda item: _is_error(item[1])):
            lines += [*_documented(f"{name}.{each}", value, own), ""]
        elsewhere = [f"`{each}` ({_module(value)})" for each, value in exported.items() if each not in own]
        if elsewhere:
            lines += _wrapped([f"Also exported here: {', '.join(elsewhere)}."])
        return rst_nodes(self.state.document, lines)


def _is_home(package: str, value: Any) -> bool:
    """Whether a value is explained here, and not on the page of the package it comes from."""
    return f"{_module(value) or package}.".startswith(f"{package}.")


def _module(value: Any) -> str:
    """Where a class or function was defined; of other values nobody knows."""
    return value.__module__ if isinstance(value, type) or inspect.isroutine(value) else ""


def _documented(path: str, value: Any, others: Mapping[str, Any]) -> list[str]:
    if _is_error(value) and "__init__" in vars(value):
        return [f".. autoexception:: {path}", "   :members:", "   :show-inheritance:"]
    if _is_error(value):
        # How it is made is its base's, and nobody's to do who reads this.
        said = _wrapped(
            [f"Derived from `{value.__bases__[0].__name__}`. {inspect.cleandoc(value.__doc__ or '')}"]
        )
        return [f".. py:exception:: {path}", "", *(f"   {line}" for line in said)]
    if isinstance(value, type):
        options = [":members:", ":undoc-members:"]
        if issubclass(value, BaseModel):
            options.append(f":exclude-members: {_PYDANTIC}")
        elif value.__mro__[1].__module__.startswith("steersman") and not getattr(
            value, "_is_protocol", False
        ):
            # What a class has from others is shown with it, unless those are on the same page.
            shown = [each.__name__ for each in value.__mro__[1:] if each in others.values()]
            options.append(f":inherited-members: {', '.join((*shown, *_ANCESTORS))}")
        return [f".. autoclass:: {path}", *(f"   {option}" for option in options)]
    if inspect.isroutine(value):
        return [f".. autofunction:: {path}"]
    return [f".. autodata:: {path}", "   :no-value:"]


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _wrapped(lines: list[str]) -> list[str]:
    """A docstring as the content of the directive `markdown`."""
    text = inspect.cleandoc("\n".join(lines))
    blocks = [_shown_as_is(block) for block in re.split(r"\n\s*\n", text)]
    return [".. markdown::", "", *(f"   {line}" for line in "\n\n".join(blocks).splitlines())]


def _shown_as_is(block: str) -> str:
    lines = block.splitlines()
    plain = any(_aligned(line) for line in lines) and not lines[0].startswith(("|", " ", "```"))
    return "\n".join(f"    {line}" for line in lines) if plain else block


def _docstring(_app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    if any(lines):
        lines[:] = [*_wrapped(lines), ""]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("package", Package)
    app.connect("autodoc-process-docstring", _docstring)
    return {"parallel_read_safe": True}
