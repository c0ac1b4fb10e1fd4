"""ARCHITECTURE.md: every task belongs to a scope."""

from __future__ import annotations

from pathlib import Path

from tests.unit.house.sources import ROOT, calls, python_files, text

SCOPE = ROOT / "src/steersman/aio/scope.py"
#: Functions and methods that make tasks.
MAKERS = ("create_task", "ensure_future", "TaskGroup", "as_completed", "wait_for")


def makes_tasks(path: Path) -> list[str]:
    """The calls in a file that make tasks, with their lines."""
    if not any(f"{maker}(" in text(path) for maker in MAKERS):
        return []
    return [
        f"{path.relative_to(ROOT)}:{call.lineno}: {name}"
        for call, name in calls(path)
        if name.rpartition(".")[2] in MAKERS
    ]


def test_tasks_are_made_by_scopes_only() -> None:
    found = [line for path in python_files("src") if path != SCOPE for line in makes_tasks(path)]
    assert found == []


def test_the_check_sees_the_one_place_where_they_are_made() -> None:
    assert len(makes_tasks(SCOPE)) == 1
