"""`steer helm`: a chart on disk, whose rendered templates a cluster takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from steersman.cli import app as entry
from steersman.cli.failure import CommandFailed
from steersman.objects.builders import Deployment
from steersman.testing import Cluster
from steersman.webhooks.registration import CRDS
from tests.support.go_templates import render
from tests.support.helm_command import Helm

EXAMPLES = Path(__file__).parents[3] / "examples"


def helm(module: str, folder: Path, *options: str) -> Any:
    command = ["helm", str(EXAMPLES / module), "--image", "example:1", "--dir", str(folder), *options]
    return CliRunner().invoke(entry.app, command)


CHARTS = pytest.mark.parametrize(
    ("module", "options"),
    [
        ("06-webapp/webapp.py", ("--fencing",)),
        ("05-dependents/shop.py", ("--ha", "raft")),
        ("10-multi-version/recipes.py", ()),
    ],
    ids=["deployment", "raft", "webhooks"],
)


def context_of(chart: Path, **values: Any) -> dict[str, Any]:
    """What the templates of a release called brewer see."""
    return {
        "Values": yaml.safe_load((chart / "values.yaml").read_text()) | values,
        "Release": {"Name": "brewer", "Namespace": "default"},
        "Chart": {"AppVersion": "1"},
    }


def rendered_by_hand(chart: Path, **values: Any) -> list[dict[str, Any]]:
    context = context_of(chart, **values)
    texts = [render(file.read_text(), context) for file in sorted((chart / "templates").glob("*.yaml"))]
    return [each for text in texts for each in yaml.safe_load_all(text) if each]


@CHARTS
def test_a_cluster_takes_what_is_rendered(module: str, options: tuple[str, ...], tmp_path: Path) -> None:
    result = helm(module, tmp_path, *options)
    assert result.exit_code == 0, result.exception
    crds = [yaml.safe_load(file.read_text()) for file in sorted((tmp_path / "crds").iterdir())]
    rendered = rendered_by_hand(tmp_path, replicas=0)
    with Cluster() as cluster:
        applied = cluster.run(cluster.apply(*crds, *rendered), timeout_s=30)
    assert len(applied) == len(crds) + len(rendered)
    notes = render((tmp_path / "templates/NOTES.txt").read_text(), context_of(tmp_path))
    assert "brewer runs in default and looks after" in notes


@CHARTS
def test_helm_finds_no_fault_and_renders_the_same(
    module: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    real, chart = Helm(tmp_path), tmp_path / "chart"
    helm(module, chart, *options)
    real("lint", "--strict", str(chart))
    text = real("template", "brewer", str(chart), "--namespace", "default")
    rendered = [each for each in yaml.safe_load_all(text) if each]
    expected = rendered_by_hand(chart)
    assert sorted(map(str, rendered)) == sorted(map(str, expected))


def test_helm_installs_upgrades_and_uninstalls(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    helm("06-webapp/webapp.py", chart, "--fencing")
    with Cluster() as cluster:
        real, client = Helm(tmp_path, cluster.kubeconfig), cluster.client()

        def replicas() -> int | None:
            found = cluster.run(client.find(Deployment, "brewer", "tea"))
            return None if found is None else found.spec["replicas"]

        there = ("--namespace", "tea")
        said = real("install", "brewer", str(chart), *there, "--create-namespace", "--set", "replicas=0")
        assert "brewer runs in tea and looks after webapps." in said
        assert replicas() == 0
        real("upgrade", "brewer", str(chart), *there, "--set", "replicas=2")
        assert replicas() == 2
        real("rollback", "brewer", "1", *there)
        assert replicas() == 0
        real("uninstall", "brewer", *there, "--wait")
        assert replicas() is None
        assert cluster.run(client.find(CRDS, "webapps.example.com")) is not None, "objects are not lost"


def test_a_raft_cluster_of_fixed_names_is_no_chart(tmp_path: Path) -> None:
    module = tmp_path / "fixed.py"
    module.write_text(
        """
from steersman.election import RaftConfig
from steersman.objects.custom import CustomResource
from steersman.operator import Operator

class Tea(CustomResource, group="example.com", version="v1"):
    pass

raft = RaftConfig("tea").service_name("nodes")
teas = Operator(Tea).with_leader_election(raft)
"""
    )
    result = helm(str(module), tmp_path / "chart")
    assert isinstance(result.exception, CommandFailed)
    assert "fixes names that a chart leaves open" in str(result.exception)
    assert not (tmp_path / "chart").exists()
