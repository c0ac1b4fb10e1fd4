"""Reads views.txt: which fields of which types a reader looks at. The head of the file has its grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from steersman.objects.kinds.generating.description import Description, DescriptionError

__all__ = ["Selection", "View", "ViewModule", "read_views"]


@dataclass
class Selection:
    """One field of a view: what of it is looked at."""

    field: str
    line: int
    #: raw, any, the name of its class, or nothing.
    mark: str = ""
    #: Whether null is read, too.
    nullable: bool = False
    selected: list[Selection] | None = None


@dataclass
class View:
    """A view as views.txt has it."""

    name: str
    type_name: str
    line: int
    #: What its class says of itself: the comment above it.
    docstring: str
    mixins: list[str]
    selected: list[Selection] = field(default_factory=list)


@dataclass
class ViewModule:
    """One section of views.txt."""

    name: str
    views: list[View] = field(default_factory=list)
    #: Names of other modules' views → the module.
    imported: dict[str, str] = field(default_factory=dict)


_VIEW: Final = re.compile(r"(?P<name>[A-Z]\w*): (?P<type>[\w.]+)(?: with (?P<mixins>[\w., ]+))?")
_TOKEN: Final = re.compile(r"(?P<word>[\w$]+\??(?::\w+)?)|(?P<open>\()|(?P<close>\))|[^\s\w()]+")


def read_views(text: str, described: Description) -> list[ViewModule]:
    """Raises DescriptionError for what cannot be read. Fields are looked up later, with their classes."""
    modules: list[ViewModule] = []
    bodies: list[tuple[View, list[tuple[int, str]]]] = []
    comment: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            comment.append(line.removeprefix("#").strip())
            continue
        if line.startswith("["):
            modules.append(ViewModule(line.strip("[] ")))
        elif line.startswith(" ") and bodies:
            bodies[-1][1].append((number, line))
        elif line.startswith("from ") and modules:
            source, _, names = line.removeprefix("from ").partition(":")
            modules[-1].imported.update({name.strip(): source for name in names.split(",")})
        elif line.strip():
            if not modules:
                raise DescriptionError(f"views.txt:{number}: before the first [module]: {line}")
            modules[-1].views.append(_read_view(line, number, " ".join(comment), described))
            bodies.append((modules[-1].views[-1], []))
        comment = []
    for view, lines in bodies:
        view.selected = _read_fields(lines)
    return modules


def _read_view(line: str, number: int, docstring: str, described: Description) -> View:
    match = _VIEW.fullmatch(line.rstrip())
    if match is None:
        raise DescriptionError(
            f"views.txt:{number}: neither `Name: group.version.Type` nor indented fields: {line}"
        )
    try:
        type_name = described.full_name(match["type"])
    except KeyError:
        raise DescriptionError(f"views.txt:{number}: Kubernetes has no type {match['type']}") from None
    mixins = [each.strip() for each in (match["mixins"] or "").split(",") if each.strip()]
    return View(match["name"], type_name, number, docstring, mixins)


def _read_fields(lines: list[tuple[int, str]]) -> list[Selection]:
    """A parenthesis may be closed on a later line than it was opened on."""
    levels: list[list[Selection]] = [[]]
    number = 0
    for number, line in lines:
        for match in _TOKEN.finditer(line.strip()):
            if match["word"]:
                name, _, mark = match["word"].partition(":")
                levels[-1].append(Selection(name.rstrip("?"), number, mark, name.endswith("?")))
            elif match["open"]:
                if not levels[-1]:
                    raise DescriptionError(f"views.txt:{number}: a parenthesis without a field before it")
                levels[-1][-1].selected = []
                levels.append(levels[-1][-1].selected)
            elif match["close"] and len(levels) > 1:
                levels.pop()
            else:
                raise DescriptionError(
                    f"views.txt:{number}: cannot read {match[0].strip()!r} here: {line.strip()}"
                )
    if len(levels) > 1:
        raise DescriptionError(f"views.txt:{number}: a parenthesis is not closed")
    return levels[0]
