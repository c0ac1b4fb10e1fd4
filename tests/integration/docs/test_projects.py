"""Every Python block of the guide and the README runs where its reader runs it: in a project of their own, which
has what the page tells them to install and to write, and nothing of this repository's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.docs.pages import PAGES, README, ROOT, files
from tests.support.outside import Project, environment

#: What the tutorial and the chapter on tests have everybody install and write.
_INSTALLED = ("steersman[cluster]", "pytest")
_CONFTEST = 'pytest_plugins = ["steersman.testing.plugin"]\n'

#: Whoever comes over from there has it.
_BROUGHT_ALONG = {"kopf.md": ("kopf", "kubernetes")}

_NOTHING_TO_RUN = 5

WITH_PYTHON = [page for page in (README, *PAGES) if files(page)]


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT).as_posix().removeprefix("docs/"))


@pytest.mark.parametrize("page", WITH_PYTHON, ids=_named)
def test_its_python_runs_in_a_project_of_its_reader(page: Path, tmp_path: Path) -> None:
    extras = re.findall(r"'(steersman\[[a-z,]+\])'", page.read_text())
    brought = _BROUGHT_ALONG.get(page.name, ())
    project = Project(tmp_path / "project", environment(tmp_path / "venv", *_INSTALLED, *extras, *brought))
    written = {f"{name}.py": code for name, code in files(page).items()}
    project.write({"conftest.py": _CONFTEST, **written})
    for name in written:
        done = project.run("python", "-W", "error", "-c", f"import {name.removesuffix('.py')}")
        assert done.returncode == 0, f"{name}:\n{done.stdout}"
    done = project.run("python", "-W", "error", "-m", "pytest", "-W", "error")
    assert done.returncode == 0 or (done.returncode == _NOTHING_TO_RUN and not _tests(written)), done.stdout


def _tests(written: dict[str, str]) -> list[str]:
    return [
        test for code in written.values() for test in re.findall(r"^(?:async )?def (test_\w+)", code, re.M)
    ]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=_named)
def test_its_tests_are_in_files_that_pytest_finds(page: Path) -> None:
    for name, code in files(page).items():
        assert name.startswith("test_") or not _tests({name: code}), name
