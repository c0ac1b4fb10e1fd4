"""`steer crd`: definitions on standard output, ready for kubectl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from steersman.cli import app as entry
from steersman.cli.failure import CommandFailed

EXAMPLE = Path(__file__).parents[3] / "examples" / "06-webapp" / "webapp.py"


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(entry.app, ["crd", *arguments])


def test_yaml_documents() -> None:
    result = invoke(str(EXAMPLE))
    assert result.exit_code == 0, result.exception
    [definition] = yaml.safe_load_all(result.stdout)
    assert definition["kind"] == "CustomResourceDefinition"
    assert definition["metadata"]["name"] == "webapps.example.com"


def test_a_list_as_json() -> None:
    result = invoke(str(EXAMPLE), "--output", "json")
    listed = json.loads(result.stdout)
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["webapps.example.com"]


def test_a_module_without_custom_resources(tmp_path: Path) -> None:
    (tmp_path / "empty.py").touch()
    result = invoke(str(tmp_path / "empty.py"))
    assert isinstance(result.exception, CommandFailed)
    assert str(result.exception).endswith("empty.py: there is no custom resource in it")
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["crd", "run"])
def test_help_has_examples(command: str) -> None:
    result = CliRunner().invoke(entry.app, [command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "Examples:" in result.output
    assert f"steer {command} webapp.py" in result.output
