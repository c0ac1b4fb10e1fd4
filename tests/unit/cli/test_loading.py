"""`MODULE[:NAME]`: what is found in an author's module, and what is said when it cannot be had."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from steersman.cli.failure import CommandFailed
from steersman.cli.loading import load

TWO_OPERATORS = """
from steersman.objects.custom import CustomResource
from steersman.operator import Operator

class Tea(CustomResource, group="example.com", version="v1"):
    pass

class Cup(CustomResource, group="example.com", version="v1"):
    pass

teas, cups = Operator(Tea), Operator(Cup)
both = [teas, cups]

@cups.reconcile
async def pour(ctx):
    pass
"""
SEVERAL_VERSIONS = """
from steersman.objects.custom import CustomResource, Versions

class Tea(CustomResource, group="example.com", version="v1"):
    strength: int = 1

class TeaV2(Tea, version="v2"):
    leaves: int = 1

teas = Versions(Tea, TeaV2, storage="v2")
"""
CONVERTING = """
from steersman.operator import Operator

op = Operator(TeaV2)

@op.convert(Tea, TeaV2)
def upgrade(old):
    return TeaV2(strength=old.strength)

@op.reconcile
async def brew(ctx):
    pass
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def write(text: str, name: str = "brewing.py") -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)
    return name


def kinds(text: str) -> list[str]:
    return [operator.definition.resource.kind for operator in load(text).operators()]


@pytest.mark.parametrize(
    ("file", "text"),
    [("brewing.py", "brewing.py"), ("brewing.py", "brewing"), ("house/kitchen.py", "house.kitchen")],
    ids=["file", "module", "module of a package"],
)
def test_all_operators_are_found_once_and_in_order(file: str, text: str) -> None:
    write(TWO_OPERATORS, file)
    assert kinds(text) == ["Tea", "Cup"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("cups", ["Cup"]), ("both", ["Tea", "Cup"]), ("pour", ["Cup"])],
    ids=["operator", "list", "one of its functions"],
)
def test_a_name_chooses(name: str, expected: list[str]) -> None:
    assert kinds(f"{write(TWO_OPERATORS)}:{name}") == expected


def test_a_file_finds_what_lies_beside_it(here: Path) -> None:
    write(TWO_OPERATORS, "house/brewing.py")
    write("from brewing import cups\n", "house/main.py")
    assert kinds("house/main.py") == ["Cup"]


def test_a_file_may_be_called_like_a_module_of_python() -> None:
    import operator

    write(TWO_OPERATORS, "operator.py")
    assert kinds("operator.py") == ["Tea", "Cup"]
    assert sys.modules["operator"] is operator


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TWO_OPERATORS, ["teas.example.com", "cups.example.com"]),
        (SEVERAL_VERSIONS, ["teas.example.com"]),
        ("x = 1\n", []),
    ],
    ids=["two classes", "several versions", "none"],
)
def test_definitions(text: str, expected: list[str]) -> None:
    definitions = load(write(text)).crds()
    assert [definition["metadata"]["name"] for definition in definitions] == expected


def test_several_versions_are_one_definition() -> None:
    [definition] = load(write(SEVERAL_VERSIONS)).crds()
    versions = [(each["name"], each["storage"]) for each in definition["spec"]["versions"]]
    assert versions == [("v1", False), ("v2", True)]


def test_the_versions_that_an_operator_converts_are_one_definition_which_stores_its_own() -> None:
    content = SEVERAL_VERSIONS.replace('teas = Versions(Tea, TeaV2, storage="v2")', CONVERTING)
    (definition,) = load(write(content)).crds()
    stored = [(each["name"], each["storage"]) for each in definition["spec"]["versions"]]
    assert stored == [("v1", False), ("v2", True)]


def test_the_definition_of_an_imported_class_is_found_through_its_operator() -> None:
    write(TWO_OPERATORS)
    write("import brewing\nop = brewing.cups\n", "main.py")
    [definition] = load("main.py").crds()
    assert definition["metadata"]["name"] == "cups.example.com"


@pytest.mark.parametrize(
    ("content", "text", "said"),
    [
        ("", "nothing", "the module 'nothing' is neither in this folder nor installed"),
        ("", "house.nothing", "the module 'house.nothing' is neither in this folder nor installed"),
        ("", "nothing.py", "nothing.py: there is no such file"),
        ("", "what is this", "'what is this' is neither a module name nor a .py file"),
        ("x = 1\n", "brewing.py:y", "brewing.py: there is no 'y' in it"),
        ("x = 1\n", "brewing.py", "brewing.py: there is no operator in it; create one: "),
        ("x = 1\n", "brewing.py:x", "brewing.py:x: there is no operator in it; create one: "),
        ("\nx = (\n", "brewing.py", "brewing.py: line 2: SyntaxError: '(' was never closed"),
        ("\nimport nothing\n", "brewing", "brewing: ModuleNotFoundError: No module named 'nothing' ("),
        ("\n\n1 / 0\n", "brewing.py", "brewing.py: ZeroDivisionError: division by zero (brewing.py, line 3)"),
    ],
    ids=lambda value: value.strip()[:20] or "-",
)
def test_what_is_wrong_is_one_line(content: str, text: str, said: str) -> None:
    if content:
        write(content)
    with pytest.raises(CommandFailed) as failed:
        load(text).operators()
    assert str(failed.value).startswith(said)
    assert "\n" not in str(failed.value)


def test_the_place_named_is_in_the_authors_code() -> None:
    write(
        "from steersman.operator import Operator\n\ndef make():\n    return Operator(dict)\n\nop = make()\n"
    )
    with pytest.raises(CommandFailed, match=r"OperatorError: .* \(brewing\.py, line 4\)$"):
        load("brewing.py")
