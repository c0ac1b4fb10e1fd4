"""Markdown for Sphinx: pages (`.md`) and, through the directive `markdown`, docstrings.

`markdown-it-py` reads the text; here its tree becomes docutils' nodes. A fence whose language is in braces is
a directive, as in `{toctree}`. A link to a page that is not there is a warning. Links out of this folder are
shown as text, since the built pages stand alone.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Directive
from docutils.parsers.rst import Parser as RstParser
from docutils.utils import new_document
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.parsers import Parser
from sphinx.util import logging

_log = logging.getLogger(__name__)
_markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

#: Markdown's nodes that are one of docutils', with what is in them: those that hold blocks, and text.
_HOLDERS: dict[str, Callable[..., nodes.Element]] = {
    "bullet_list": nodes.bullet_list,
    "ordered_list": nodes.enumerated_list,
    "list_item": nodes.list_item,
    "blockquote": nodes.block_quote,
}
_TEXTS: dict[str, Callable[..., nodes.Element]] = {
    "paragraph": nodes.paragraph,
    "em": nodes.emphasis,
    "strong": nodes.strong,
    "s": nodes.inline,
}
#: What Pygments calls them.
_LANGUAGES = {"": "none", "sh": "bash"}


class MarkdownParser(Parser):
    """Reads a page."""

    supported: ClassVar[tuple[str, ...]] = ("markdown", "md")

    def parse(self, inputstring: str, document: nodes.document) -> None:
        self.setup_parse(inputstring, document)
        _Page(document, document.settings.env).add(inputstring, document)
        self.finish_parse()


class MarkdownDirective(Directive):
    """Its content is Markdown: what docstrings are wrapped into."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        document = self.state.document
        holder = nodes.container()
        _Page(document, document.settings.env).add("\n".join(self.content), holder)
        return holder.children


class _Page:
    """One text on its way into a document."""

    def __init__(self, document: nodes.document, env: BuildEnvironment) -> None:
        self._document = document
        self._env = env
        self._line = 0

    def add(self, text: str, parent: nodes.Element) -> None:
        """Append what the text says; headings open sections."""
        open_sections: list[tuple[int, nodes.Element]] = [(0, parent)]
        for node in SyntaxTreeNode(_markdown.parse(text)).children:
            self._line = (node.map or (self._line, 0))[0] + 1
            if node.type == "heading":
                level = int(node.tag[1])
                while open_sections[-1][0] >= level:
                    open_sections.pop()
                section = self._section(node)
                open_sections[-1][1].append(section)
                open_sections.append((level, section))
            else:
                open_sections[-1][1].extend(self._made(node))

    def _section(self, node: SyntaxTreeNode) -> nodes.section:
        title = nodes.title("", "", *self._all(node.children))
        section = nodes.section("", title, names=[nodes.fully_normalize_name(title.astext())])
        section.line = self._line
        self._document.note_implicit_target(section, section)
        return section

    def _all(self, tree: Iterable[SyntaxTreeNode]) -> list[nodes.Node]:
        return [made for node in tree for made in self._made(node)]

    def _made(self, node: SyntaxTreeNode) -> list[nodes.Node]:
        if node.type in _HOLDERS:
            return [_HOLDERS[node.type]("", *self._all(node.children))]
        if node.type in _TEXTS:
            return [_TEXTS[node.type]("", "", *self._all(node.children))]
        make: Callable[[SyntaxTreeNode], list[nodes.Node]] | None = getattr(self, f"_{node.type}", None)
        if make is None:
            _log.warning("%s is not supported here", node.type, location=self._location)
            return []
        return make(node)

    @property
    def _location(self) -> tuple[str, int]:
        return self._env.docname, self._line

    # blocks

    def _fence(self, node: SyntaxTreeNode) -> list[nodes.Node]:
        info = node.info.strip()
        if info.startswith("{"):
            return self._directive(info, node.content)
        language = info.split()[0] if info else ""
        return [_code(node.content, _LANGUAGES.get(language, language))]

    def _code_block(self, node: SyntaxTreeNode) -> list[nodes.Node]:
        return [_code(node.content, "none")]

    def _directive(self, info: str, content: str) -> list[nodes.Node]:
        name, _, arguments = info[1:].partition("}")
        lines = [f".. {name}:: {arguments.strip()}", *(f"   {line}" for line in content.splitlines())]
        settings = get_default_settings(RstParser)
        settings.__dict__.update(self._document.settings.__dict__)
        nested = new_document(self._document["source"], settings)
        RstParser().parse("\n".join(lines), nested)
        return nested.children

    def _hr(self, _node: SyntaxTreeNode) -> list[nodes.Node]:
        return [nodes.transition()]

    def _html_block(self, node: SyntaxTreeNode) -> list[nodes.Node]:
        return [nodes.raw("", node.content, format="html")]

    def _table(self, node: SyntaxTreeNode) -> list[nodes.Node]:
        head, *body = node.children
        columns = len(head.children[0].children)
        group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in range(columns)), cols=columns)
        group += nodes.thead("", *(self._row(row) for row in head.children))
        group += nodes.tbody("", *(self._row(row) for part in body for row in part.children))
        return [nodes.table("", group)]

    def _row(self, row: SyntaxTreeNode) -> nodes.row:
        cells = ((nodes.paragraph("", "", *self._all(cell.children))) for cell in row.children)
        return nodes.row("", *(nodes.entry("", cell) for cell in cells))

    # inside of paragraphs

    def _inline(self, node: SyntaxTreeNode) -> list[nodes.Node]:
        return self._all(node.children)

    def _text(self, node: SyntaxTreeNode) -> list[nodes.Node]:
        return [nodes.Text(node.content)]

    def _softbreak(self, _node: SyntaxTreeNode) -> list[nodes.Node]:
        return [nodes.Text("\n")]

    def _hardbreak(self, _node: SyntaxTreeNode) -> list[nodes.Node]:
        return [nodes.raw("", "<br>", format="html")]

    def _code_inline(self, node: SyntaxTreeNode) -> list[nodes.Node]:
        return [nodes.literal(node.content, node.content)]

    def _html_inline(self, node: SyntaxTreeNode) -> list[nodes.Node]:
        return [nodes.raw("", node.content, format="html")]

    def _image(self, node: SyntaxTreeNode) -> list[nodes.Node]:
        return [nodes.image(uri=str(node.attrs["src"]), alt=node.content)]

    def _link(self, node: SyntaxTreeNode) -> list[nodes.Node]:
        shown = self._all(node.children)
        target = self._target(str(node.attrs["href"]))
        if target is None:
            return shown
        return [nodes.reference("", "", *shown, refuri=target, internal="://" not in target)]

    def _target(self, href: str) -> str | None:
        """Where a link leads in the built pages; None for what is not among them."""
        parts = urlsplit(href)
        if parts.scheme or not parts.path:
            return href
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self._env.docname), parts.path))
        if path.startswith(".."):
            return None
        if not (Path(self._env.srcdir) / path).exists():
            _log.warning("the link to %s leads nowhere", href, location=self._location)
            return None
        page = parts.path.removesuffix(".md")
        if page == parts.path:
            return None
        return f"{page}.html" + (f"#{parts.fragment}" if parts.fragment else "")


def _code(text: str, language: str) -> nodes.literal_block:
    text = text.rstrip("\n")
    # Only what is as it was written is highlighted.
    return nodes.literal_block(text, text, language=language, force=True)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_source_parser(MarkdownParser)
    app.add_directive("markdown", MarkdownDirective)
    return {"parallel_read_safe": True}
