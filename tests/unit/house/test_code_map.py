"""ARCHITECTURE.md's code map has every package, and only packages and modules that exist."""

from __future__ import annotations

import re
from itertools import pairwise

from tests.unit.house.sources import ROOT, text

_SOURCE = ROOT / "src/steersman"
#: Packages below these are explained by the package's own docstring.
_DEPTH = 2


def _listed() -> set[str]:
    """`raft`, `.storage` is raft and raft.storage."""
    page = text(ROOT / "ARCHITECTURE.md")
    code_map = page[page.index("## Code map") :].split("\n## ")[0]
    found = set()
    for row in re.findall(r"^\| (`.+?) \|", code_map, re.MULTILINE):
        first, *others = re.findall(r"`([\w.]+)`", row)
        parent = (
            first if all((_SOURCE / first.replace(".", "/") / name[1:]).exists() for name in others) else ""
        )
        found |= {first, *(_full(first, parent, name) for name in others)}
    return found


def _full(first: str, parent: str, name: str) -> str:
    if not name.startswith("."):
        return name
    return f"{parent or first.rpartition('.')[0]}{name}"


def _packages() -> set[str]:
    folders = (path.parent for path in _SOURCE.rglob("__init__.py"))
    names = (str(folder.relative_to(_SOURCE)).replace("/", ".") for folder in folders)
    return {name for name in names if name != "." and name.count(".") < _DEPTH}


def test_every_package_is_in_the_code_map() -> None:
    assert sorted(_packages() - _listed()) == []


def test_what_the_code_map_lists_exists() -> None:
    missing = [
        name
        for name in _listed() - {"steersman"}
        if not any((_SOURCE / name.replace(".", "/")).with_suffix(end).exists() for end in ("", ".py"))
    ]
    assert sorted(missing) == []


def test_layers_of_the_import_linter_are_in_the_code_map() -> None:
    lines = text(ROOT / ".importlinter").splitlines()
    start = next(number for number, line in enumerate(lines) if line == "[importlinter:contract:layers]")
    section = lines[start + 1 :]
    end = next(number for number, (_, line) in enumerate(pairwise(section)) if line.startswith("["))
    layers = re.findall(r"^    (\w.*)$", "\n".join(section[: end + 1]), re.MULTILINE)
    names = {name.strip() for layer in layers for name in re.split(r"[|:]", layer)}
    assert sorted(names - _listed()) == []
