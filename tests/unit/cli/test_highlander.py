"""`steer highlander`: files checked, schema and manifests written; what is wrong is said in words."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from typer.testing import CliRunner

from steersman.cli.failure import CommandFailed
from steersman.cli.highlander import highlander

FILE = """
tenant: shop
storageType: lease
workloads:
  processes:
  - {name: worker, image: busybox}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "highlander.yaml"
    made.write_text(FILE)
    return made


def run(*arguments: str) -> str:
    result = CliRunner().invoke(highlander, arguments, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_a_file_that_is_right(file: Path) -> None:
    assert "tenant shop: 1 workloads, lock in lease" in run("validate", "--config", str(file))


def test_a_file_that_is_wrong_is_told_by_line_and_field(file: Path) -> None:
    file.write_text(FILE.replace("image:", "imaeg:"))
    with pytest.raises(CommandFailed) as caught:
        run("validate", "--config", str(file))
    assert f"{file}:6: workloads.processes[0].imaeg: there is no such key" in str(caught.value)
    assert caught.value.code == 2


def test_nothing_is_run_with_a_file_that_is_wrong(file: Path) -> None:
    with pytest.raises(CommandFailed, match="the flag --storage-type"):
        run("run", "--config", str(file), "--storage-type", "etcd")


def test_a_secret_in_the_file_is_warned_about_and_not_shown(file: Path) -> None:
    file.write_text("redis: {password: swordfish}")
    output = run("validate", "--config", str(file))
    assert "warning" in output
    assert "swordfish" not in output


def test_the_schema_accepts_the_file(file: Path) -> None:
    schema = json.loads(run("schema"))
    assert jsonschema_rs.validator_for(schema).is_valid(yaml.safe_load(FILE))


def test_manifests_are_objects(file: Path) -> None:
    kinds = {each["kind"] for each in yaml.safe_load_all(run("manifests", "--config", str(file)))}
    assert {"Deployment", "ServiceAccount", "Role", "RoleBinding"} <= kinds


def test_an_order_needs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIGHLANDER_API_TOKEN", raising=False)
    with pytest.raises(CommandFailed, match="a token is needed"):
        run("step-down")


def test_an_order_to_nobody_is_told(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t")
    with pytest.raises(CommandFailed, match=r"http://127\.0\.0\.1:1:"):
        run("drain", "--address", "http://127.0.0.1:1", "--token-file", str(token))


def test_the_version() -> None:
    assert run("--version").startswith("steersman ")
