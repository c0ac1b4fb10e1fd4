"""`steer diff`: what a reconcile would write, and not one write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from steersman.cli import app as entry
from steersman.cli.failure import CommandFailed
from steersman.cli.loading import load
from steersman.objects.builders import Deployment
from steersman.testing import Cluster, eventually

WEBAPP = Path(__file__).parents[3] / "examples" / "06-webapp" / "webapp.py"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        module = load(str(WEBAPP)).module
        cluster.run(cluster.apply(module.WebApp.crd(), web("web"), web("broken", image="")), timeout_s=20)
        yield cluster


def web(name: str, image: str = "nginx:1.25") -> dict[str, Any]:
    spec = {"image": image or "x", "replicas": 3}
    return {"apiVersion": "example.com/v1", "kind": "WebApp", "metadata": {"name": name}, "spec": spec}


def diff(cluster: Cluster, *arguments: str) -> Any:
    command = ["diff", str(WEBAPP), *arguments, "--kubeconfig", str(cluster.kubeconfig)]
    return CliRunner().invoke(entry.app, command)


def test_what_would_be_made_is_shown_and_not_made(cluster: Cluster) -> None:
    with cluster.assert_no_writes(by_anyone=True):
        result = diff(cluster, "web", "-n", "default")
    assert result.exit_code == 1, result.exception
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.startswith("+++ ")] == [
        "+++ wanted WebApp default/web",
        "+++ wanted Deployment default/web",
        "+++ wanted Service default/web",
    ]
    assert "+  - webapp.example.com/finalizer" in lines
    assert "+  phase: WaitingForPods" in lines
    assert "+  replicas: 3" in lines
    assert cluster.run(cluster.client().find(Deployment, "web"), timeout_s=20) is None


def test_all_objects_for_a_script(cluster: Cluster) -> None:
    result = diff(cluster, "--output", "json")
    told = json.loads(result.stdout)
    assert [(each["kind"], each["object"], each["error"]) for each in told] == [
        ("WebApp", "default/broken", ""),
        ("WebApp", "default/web", ""),
    ]
    made = {change["path"]: change["before"] for change in told[1]["changes"]}
    assert made["/apis/apps/v1/namespaces/default/deployments/web"] is None


def test_only_drift_is_shown_of_what_is_there(cluster: Cluster) -> None:
    client = cluster.client()
    [operator] = load(str(WEBAPP)).operators()
    running = cluster.run_operator(operator, install=False)

    async def quiet() -> bool:
        app = await client.get(operator.definition.resource, "web")
        return bool(app.get("status", {}).get("phase") == "WaitingForPods")

    cluster.run(eventually(quiet), timeout_s=30)
    cluster.run(running.stop(), timeout_s=30)
    result = diff(cluster, "web")
    assert (result.exit_code, result.stdout) == (0, "")
    cluster.run(client.patch(Deployment, "web", {"spec": {"replicas": 7}}), timeout_s=20)
    changed = [line for line in diff(cluster, "web").stdout.splitlines() if line[:1] in "+-"]
    assert changed == [
        "--- live Deployment default/web",
        "+++ wanted Deployment default/web",
        "-  replicas: 7",
        "+  replicas: 3",
    ]


def test_a_reconcile_that_fails_is_told(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(
        WEBAPP.read_text().replace("    app = ctx.resource\n", "    raise ValueError('no luck')\n", 1)
    )
    command = ["diff", str(tmp_path / "failing.py"), "web", "--kubeconfig", str(cluster.kubeconfig)]
    result = CliRunner().invoke(entry.app, command)
    assert (result.exit_code, result.stderr) == (2, "steer: WebApp default/web fails: ValueError: no luck\n")


def test_a_kind_that_is_not_installed(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(WEBAPP.read_text().replace('group="example.com"', 'group="not.there"'))
    command = ["diff", str(tmp_path / "other.py"), "--kubeconfig", str(cluster.kubeconfig)]
    result = CliRunner().invoke(entry.app, command)
    assert isinstance(result.exception, CommandFailed)
    assert result.exception.code == 2
    assert str(result.exception).startswith(
        'no matches for kind "WebApp" in version "not.there/v1"; if it is'
    )


def test_an_object_that_is_not_there(cluster: Cluster) -> None:
    result = diff(cluster, "nothing")
    assert isinstance(result.exception, CommandFailed)
    assert str(result.exception) == 'webapps.example.com "nothing" not found'
