"""The directive `configuration`: the options of operators, as a table."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from steersman.operator.configuration import OPTIONS


class Configuration(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        rows = ["| in a file | variable | values | default | |", "|---|---|---|---|---|"]
        rows += [
            f"| `{each.name}` | `{each.variable}` | {each.values} | {each.default} | {each.help} |"
            for each in OPTIONS
        ]
        holder = nodes.container()
        self.state.nested_parse(StringList(rows, source="configuration"), 0, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("configuration", Configuration)
    return {"parallel_read_safe": True}
