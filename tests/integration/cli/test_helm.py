"""`steer helm`: a chart on disk, whose rendered templates a cluster takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from steersman.cli import app as entry
from steersman.cli.failure import CommandFailed
from steersman.testing import Cluster
from tests.support.go_templates import render

EXAMPLES = Path(__file__).parents[3] / "examples"


def helm(module: str, folder: Path, *options: str) -> Any:
    command = ["helm", str(EXAMPLES / module), "--image", "example:1", "--dir", str(folder), *options]
    return CliRunner().invoke(entry.app, command)


@pytest.mark.parametrize(
    ("module", "options"),
    [("06-webapp/webapp.py", ("--fencing",)), ("05-dependents/shop.py", ("--ha", "raft"))],
    ids=["deployment", "raft"],
)
def test_a_cluster_takes_what_is_rendered(module: str, options: tuple[str, ...], tmp_path: Path) -> None:
    result = helm(module, tmp_path, *options)
    assert result.exit_code == 0, result.exception
    context = {
        "Values": yaml.safe_load((tmp_path / "values.yaml").read_text()) | {"replicas": 0},
        "Release": {"Name": "brewer", "Namespace": "default"},
        "Chart": {"AppVersion": "1"},
    }
    templates = sorted((tmp_path / "templates").glob("*.yaml"))
    crds = [yaml.safe_load(file.read_text()) for file in sorted((tmp_path / "crds").iterdir())]
    rendered = [
        each for file in templates for each in yaml.safe_load_all(render(file.read_text(), context)) if each
    ]
    with Cluster() as cluster:
        applied = cluster.run(cluster.apply(*crds, *rendered), timeout_s=30)
    assert len(applied) == len(crds) + len(rendered)
    assert "brewer looks after" in render((tmp_path / "templates/NOTES.txt").read_text(), context).replace(
        " runs in default and", ""
    )


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
