"""docs/reference/upstream.md names Kubernetes' counterpart of every module of the rooms that mirror Kubernetes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.house.sources import ROOT, python_files, text

SOURCE = ROOT / "src/steersman/cluster"
#: The folder that the names of a section are below.
SECTIONS = {
    "Components": SOURCE,
    "Controllers": SOURCE / "controllers",
    "Scheduler": SOURCE / "scheduler",
    "Admission": SOURCE / "admission",
    "Node": SOURCE / "node",
    "Validation": SOURCE / "schema/validation",
}
ROW = re.compile(r"^\| (?!ours|---)([^|]+) \| ([^|]+) \| ([^|]*) ?\|$", re.MULTILINE)


def sections(page: str) -> dict[str, list[tuple[list[str], str]]]:
    """By heading: the names in the first cell of each row, and its second cell."""
    found = {}
    for part in page.split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        found[heading] = [(re.findall(r"`([^`]+)`", ours), theirs) for ours, theirs, _ in ROW.findall(body)]
    return found


def missing(folder: Path, names: list[str]) -> list[str]:
    """The modules of a folder that no name covers: neither their own nor that of a folder above them."""
    modules = (path.relative_to(folder) for path in python_files(str(folder.relative_to(ROOT))))
    return [
        str(module)
        for module in modules
        if module.name != "__init__.py"
        and str(module) not in names
        and not any(f"{parent}/" in names for parent in module.parents)
    ]


PAGE = sections(text(ROOT / "docs/reference/upstream.md"))


def named(section: str) -> list[str]:
    return [name for names, _ in PAGE[section] for name in names]


def test_the_page_has_a_section_for_each_room() -> None:
    assert list(PAGE) == list(SECTIONS)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_module_is_on_the_page(section: str) -> None:
    assert missing(SECTIONS[section], named(section)) == []


@pytest.mark.parametrize("section", SECTIONS)
def test_every_row_names_what_exists_and_only_once(section: str) -> None:
    names = named(section)
    assert [name for name in names if not (SECTIONS[section] / name).exists()] == []
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_row_names_a_counterpart_or_says_that_there_is_none(section: str) -> None:
    source = re.compile(r"`(pkg|plugin|staging|cmd|third_party)/[\w./-]+`")
    cells = [theirs for _, theirs in PAGE[section]]
    assert [
        cell for cell in cells if cell != "ours" and not all(map(source.fullmatch, cell.split(", ")))
    ] == []


def test_a_module_without_a_row_is_found() -> None:
    names = [name for name in named("Scheduler") if name != "queue.py"]
    assert missing(SECTIONS["Scheduler"], names) == ["queue.py"]
    assert missing(SECTIONS["Node"], [name for name in named("Node") if name != "probing/"]) == [
        f"probing/{name}.py"
        for name in ("attempts", "grpc_health", "http_get", "outcome", "prober", "result_run", "tcp_connect")
    ]
