"""`from steersman import …`: every name is there, is the one of its package, and loads no more than that."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import steersman
from steersman import operator
from steersman.objects import builders, custom

ROOT = Path(__file__).parents[2]

#: Types of decorators, which nobody writes down.
_UNNAMED = {"Chain", "Handler"}


def _imported_for_type_checkers() -> dict[str, str]:
    """The module of each name, as mypy and editors read it."""
    tree = ast.parse(Path(steersman.__file__).read_text())
    block = next(each for each in tree.body if isinstance(each, ast.If))
    return {
        alias.name: each.module or ""
        for each in block.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }


IMPORTED = _imported_for_type_checkers()


def _loaded_by(program: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after this program."""
    code = f"{program}\nimport sys; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(answer.stdout.split())


def _layers(modules: set[str]) -> set[str]:
    return {each.split(".")[1] for each in modules if each.startswith("steersman.")}


def test_type_checkers_see_what_can_be_imported() -> None:
    assert sorted(IMPORTED) == sorted(steersman.__all__)


@pytest.mark.parametrize("name", steersman.__all__)
def test_a_name_is_the_one_of_its_package(name: str) -> None:
    assert getattr(steersman, name) is getattr(import_module(IMPORTED[name]), name)


def test_all_that_operators_are_written_with_is_here() -> None:
    names = {*operator.__all__, *builders.__all__, *custom.__all__} - _UNNAMED
    assert names <= set(steersman.__all__)


def test_completion_lists_every_name() -> None:
    assert set(steersman.__all__) <= set(dir(steersman))


def test_the_reference_lists_every_name() -> None:
    page = (ROOT / "docs/reference/steersman.md").read_text()
    assert [name for name in steersman.__all__ if f"`{name}`" not in page] == []


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="module 'steersman' has no attribute 'Operatr'"):
        _ = steersman.Operatr  # type: ignore[attr-defined]


def test_importing_the_package_loads_no_layer() -> None:
    loaded = _loaded_by("import steersman")
    assert _layers(loaded) == {"lazy"}
    assert not loaded & {"asyncio", "pydantic", "httptools", "grpc"}


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("Container", {"objects"}),
        ("CustomResource", {"objects"}),
        ("Client", {"aio", "client", "http", "objects"}),
        ("Lease", {"aio", "client", "election", "http", "objects"}),
        ("Operator", {"aio", "client", "election", "http", "objects", "operator", "runtime", "webhooks"}),
        ("NodeConfig", {"raft"}),
        ("LocalCluster", {"aio", "cluster", "http", "objects"}),
    ],
)
def test_a_name_loads_only_what_it_needs(name: str, layers: set[str]) -> None:
    assert _layers(_loaded_by(f"from steersman import {name}")) - {"lazy"} == layers


def test_a_builder_needs_no_event_loop_and_no_pydantic() -> None:
    assert not _loaded_by("from steersman import Deployment") & {"asyncio", "pydantic"}


def test_no_layer_imports_the_front_door() -> None:
    files = [path for path in (ROOT / "src").rglob("*.py") if "from steersman import" in path.read_text()]
    modules = {
        path: [
            node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
        ]
        for path in files
    }
    assert [path for path, imported in modules.items() if "steersman" in imported] == []
