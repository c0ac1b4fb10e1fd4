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
from tests.support.helm import Helm

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


@CHARTS
def test_helm_finds_no_fault_and_a_cluster_takes_it(
    module: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    real, chart = Helm(tmp_path), tmp_path / "chart"
    result = helm(module, chart, *options)
    assert result.exit_code == 0, result.exception
    real("lint", "--strict", str(chart))
    text = real("template", "brewer", str(chart), "--include-crds", "--set", "replicas=0")
    rendered = [each for each in yaml.safe_load_all(text) if each]
    assert any(each["kind"] == "CustomResourceDefinition" for each in rendered)
    with Cluster() as cluster:
        applied = cluster.run(cluster.apply(*rendered), timeout_s=30)
    assert len(applied) == len(rendered)


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
        assert "brewer runs in the namespace tea and reconciles webapps." in said
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
