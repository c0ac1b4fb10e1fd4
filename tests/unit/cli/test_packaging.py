"""`steer rbac` and `steer manifests`: what is printed, and what is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from steersman.cli import app as entry
from steersman.cli.failure import CommandFailed

EXAMPLES = Path(__file__).parents[3] / "examples"
WEBAPP, SHOP = EXAMPLES / "06-webapp" / "webapp.py", EXAMPLES / "05-dependents" / "shop.py"


def invoke(*arguments: str | Path) -> Any:
    return CliRunner().invoke(entry.app, [str(each) for each in arguments])


def printed(*arguments: str | Path) -> list[dict[str, Any]]:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.exception
    return list(yaml.safe_load_all(result.stdout))


def command(*arguments: str | Path) -> list[str]:
    workload = printed("manifests", *arguments, "--image", "x:1")[-1]
    words: list[str] = workload["spec"]["template"]["spec"]["containers"][0]["command"]
    return words


def test_rights_with_their_reasons() -> None:
    lines = invoke("rbac", WEBAPP, "--explain").stdout.splitlines()
    assert lines[0].split() == ["VERB", "RESOURCE", "NAMESPACE", "WHY"]
    assert ["create", "deployments.apps", "(all)", "WebApp", "owns", "Deployment"] in [
        line.split() for line in lines
    ]


def test_rights_for_a_script() -> None:
    told = json.loads(invoke("rbac", WEBAPP, "--explain", "--output", "json").stdout)
    assert {"namespace", "group", "resource", "verb", "name", "why"} == set(told[0])


def test_rights_in_one_namespace() -> None:
    made = printed("rbac", WEBAPP, "--watch-namespace", "shop", "--namespace", "ops", "--name", "apps")
    places = [(each["kind"], each["metadata"].get("namespace")) for each in made]
    assert places == [
        ("ServiceAccount", "ops"),
        ("Role", "ops"),
        ("RoleBinding", "ops"),
        ("Role", "shop"),
        ("RoleBinding", "shop"),
    ]


def test_the_same_bytes_every_time() -> None:
    one, other = (invoke("manifests", WEBAPP, "--image", "x:1", "--fencing").stdout for _ in range(2))
    assert one == other


def test_a_list_as_json() -> None:
    made = json.loads(invoke("manifests", WEBAPP, "--image", "x:1", "--output", "json").stdout)
    assert made["kind"] == "List"
    assert made["items"] == printed("manifests", WEBAPP, "--image", "x:1")


def test_what_the_container_runs() -> None:
    assert command(WEBAPP) == ["steer", "run", "webapp.py", "--log-format", "json"]
    assert command(f"{WEBAPP}:op", "--watch-namespace", "a", "--watch-namespace", "b")[2:] == [
        *("webapp.py:op", "--log-format", "json", "--namespace", "a", "--namespace", "b"),
    ]
    assert command(SHOP, "--ha", "postgres", "--name", "shops")[-4:] == [
        "--ha",
        "postgres",
        "--name",
        "shops",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((WEBAPP, "--ha", "luck"), "--ha luck: choose none, lease, raft, redis, postgres"),
        ((WEBAPP, "--ha", "raft"), "the operator declares its leader election: lease"),
        ((SHOP, "--replicas", "2"), "several replicas without leader election"),
        ((SHOP, "--name", "Shop!"), "the name 'Shop!' cannot be used"),
        ((EXAMPLES / "nothing.py",), "there is no such file"),
    ],
    ids=["engine", "another engine", "replicas", "name", "module"],
)
def test_refusals_are_one_line(arguments: tuple[Any, ...], said: str) -> None:
    result = invoke("manifests", *arguments, "--image", "x:1")
    assert isinstance(result.exception, CommandFailed)
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)
    assert result.stdout == ""


@pytest.mark.parametrize(
    "name", ["new", "rbac", "manifests", "helm", "diff", "uninstall", "why", "top", "run", "crd"]
)
def test_every_command_shows_an_example(name: str) -> None:
    text = invoke(name, "--help").stdout
    assert "Examples:" in text
    assert f"steer {name} " in text
