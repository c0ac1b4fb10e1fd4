"""Markdown for Sphinx beside MyST, which reads the pages: docstrings, and links that the guide cannot follow.

Docstrings reach Sphinx as reStructuredText: the directive `markdown` holds a text that is Markdown there, and
`rst_nodes` is the way back, for directives of pages that are made of Sphinx's own. Links out of this folder
are shown as text, since the built pages stand alone.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import Any

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers import Parser
from docutils.parsers.rst import Parser as RstParser
from docutils.utils import new_document
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["rst_nodes"]

_link = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#:]+)(#[^)]*)?\)")


class MarkdownDirective(SphinxDirective):
    """Its content is Markdown: what docstrings are wrapped into."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        return _parsed(MystParser(), self.state.document, "\n".join(self.content))


def rst_nodes(document: nodes.document, lines: Iterable[str]) -> list[nodes.Node]:
    """What reStructuredText says, for a place in a Markdown page."""
    return _parsed(RstParser(), document, "\n".join(lines))


def _parsed(parser: Parser, document: nodes.document, text: str) -> list[nodes.Node]:
    settings = get_default_settings(RstParser)
    settings.__dict__.update(document.settings.__dict__)
    nested = new_document(document["source"], settings)
    parser.parse(text, nested)
    return nested.children


def _without_links_out(app: Sphinx, page: str, source: list[str]) -> None:
    """Show links that lead out of the folder, or to what is no page, as their text."""

    def shown(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link[2]))
        return link[1] if target.startswith("..") or not target.endswith((".md", ".png", ".svg")) else link[0]

    source[0] = _link.sub(shown, source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("markdown", MarkdownDirective)
    app.connect("source-read", _without_links_out)
    return {"parallel_read_safe": True}
