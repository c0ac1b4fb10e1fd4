"""The directive `package`: everything that a package exports, from its docstrings.

    ```{package} steersman.operator
    ```

Docstrings are Markdown. Aligned text (trees, columns) in them is shown as it is, though nothing marks it.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_aligned = re.compile(r"[├└│]|\S {3,}\S").search
#: pydantic's own, which every model would repeat.
_PYDANTIC = "model_config, model_post_init, model_fields, model_computed_fields"


class Package(SphinxDirective):
    """`:without: A B` leaves names out, such as those that another page explains."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"without": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        module = import_module(name)
        lines = [*_wrapped((module.__doc__ or "").splitlines()), "", f".. py:module:: {name}", ""]
        without = self.options.get("without", "").split()
        for exported in module.__all__:
            if exported not in without:
                lines += [*_documented(f"{name}.{exported}", getattr(module, exported)), ""]
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source=name), 0, holder)
        return holder.children


def _documented(path: str, value: Any) -> list[str]:
    if isinstance(value, type) and issubclass(value, BaseException):
        return [f".. autoexception:: {path}", "   :show-inheritance:"]
    if isinstance(value, type):
        options = [":members:", ":undoc-members:"]
        if issubclass(value, BaseModel):
            options.append(f":exclude-members: {_PYDANTIC}")
        elif _is_split(value):
            options.append(":inherited-members: Generic, Protocol")
        return [f".. autoclass:: {path}", *(f"   {option}" for option in options)]
    if inspect.isroutine(value):
        return [f".. autofunction:: {path}"]
    return [f".. autodata:: {path}", "   :no-value:"]


def _is_split(value: type) -> bool:
    """Whether a class has what it can do from others of ours."""
    return any(base.__module__.startswith("steersman") for base in value.__mro__[1:])


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
