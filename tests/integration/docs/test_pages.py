"""What the guide says is there: commands exist, manifests are accepted, links lead somewhere."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import typer
import yaml

from steersman.cli.app import app
from steersman.client import Client, NoSuchKind
from steersman.objects.custom import CustomResource
from steersman.testing import Cluster
from tests.integration.docs.pages import (
    PAGES,
    README,
    ROOT,
    anchors,
    blocks,
    commands,
    files,
    links,
    program,
)

#: Programs a reader has, or is told to get.
_PROGRAMS = {
    "curl",
    "docker",
    "export",
    "helm",
    "kubectl",
    "pip",
    "pytest",
    "python",
    "kill",
    "ls",
    "cd",
    "git",
}


ALL = [README, *PAGES]


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT).as_posix().removeprefix("docs/"))


@pytest.mark.parametrize("page", [page for page in ALL if files(page)], ids=_named)
def test_its_files_import_what_they_use(page: Path) -> None:
    check = [Path(sys.executable).with_name("ruff"), "check", "--isolated", "--select", "F821", "-"]
    for name, code in files(page).items():
        done = subprocess.run(check, input=code, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}.py: {done.stdout}"


@pytest.mark.parametrize("page", ALL, ids=_named)
def test_its_commands_exist(page: Path) -> None:
    for command in commands(page):
        for part in command.split(" | "):
            words = shlex.split(part, comments=True)
            if not words:
                continue
            if words[0].endswith("steer"):
                _check_steer(words[1:])
            elif words[0] == "make":
                assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(), f"no target: {part}"
            else:
                # Debian and Ubuntu have no other.
                assert words[0] not in ("python", "pip"), f"outside of an environment it is python3: {part}"
                assert words[0] in _PROGRAMS or shutil.which(words[0]), f"no program: {part}"


def _check_steer(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    rest = list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert not hasattr(command, "commands") or not rest or rest[0].startswith("-"), f"no command: {words}"
    for word in rest:
        if word == "--":
            break
        if word.startswith("-"):
            assert word.partition("=")[0] in {*known, "--help", "-h"}, (
                f"no option {word}: steer {' '.join(words)}"
            )


@pytest.mark.parametrize("page", [page for page in ALL if blocks(page, "yaml")], ids=_named)
def test_its_manifests_are_accepted(page: Path, cluster: Cluster, client: Client) -> None:
    for obj in _manifests(page):
        try:
            cluster.run(client.create(obj, dry_run=True))
        except NoSuchKind:
            assert any(
                each.resource_type.kind == obj["kind"] and each.from_object(obj) for each in _kinds(page)
            )


def _manifests(page: Path) -> Iterator[dict[str, Any]]:
    for block in blocks(page, "yaml"):
        yield from (each for each in yaml.safe_load_all(block.code) if "apiVersion" in each)


def _kinds(page: Path) -> list[type[CustomResource]]:
    found = [each for each in vars(program(page)).values() if isinstance(each, type)]
    return [each for each in found if issubclass(each, CustomResource) and hasattr(each, "resource_type")]


@pytest.mark.parametrize("page", ALL, ids=_named)
def test_its_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = (page.parent / parts.path).resolve() if parts.path else page
        assert target.exists(), link
        if parts.fragment:
            assert parts.fragment in anchors(target), link
