"""`steer uninstall`: nothing of an operator is left, nothing hangs, nothing else is touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from steersman.cli import app as entry
from steersman.cli.failure import CommandFailed
from steersman.cli.packaged import Plan, released
from steersman.client import Client, NoSuchKind, NotFound
from steersman.objects.resource_type import ResourceType
from steersman.operator.packaging import manifests
from steersman.testing import Cluster, eventually

WEBAPP = Path(__file__).parents[3] / "examples" / "06-webapp" / "webapp.py"
WEBAPPS = ResourceType("example.com", "v1", "WebApp", "webapps")
OURS, OTHERS = "webapp.example.com/finalizer", "example.com/others"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(controllers=("all",)) as cluster:
        yield cluster


def web(name: str, *finalizers: str) -> dict[str, Any]:
    metadata = {"name": name, "finalizers": list(finalizers)}
    spec = {"image": "nginx:1.25"}
    return {"apiVersion": "example.com/v1", "kind": "WebApp", "metadata": metadata, "spec": spec}


def installed(cluster: Cluster) -> list[dict[str, Any]]:
    _, release = released(Plan(str(WEBAPP), image="webapp:1", fencing=True, replicas=0))
    objects = manifests(release)
    cluster.run(cluster.apply(*objects), timeout_s=30)
    return objects


def uninstall(cluster: Cluster, *options: str) -> Any:
    command = ["uninstall", str(WEBAPP), "--kubeconfig", str(cluster.kubeconfig), *options]
    return CliRunner().invoke(entry.app, command)


async def is_gone(client: Client, obj: dict[str, Any]) -> bool:
    metadata = obj["metadata"]
    try:
        resource = await client.resource_type(obj["apiVersion"], obj["kind"])
        await client.get(resource, metadata["name"], metadata.get("namespace"))
    except (NotFound, NoSuchKind):
        return True
    return False


def test_nothing_is_left(cluster: Cluster) -> None:
    objects = installed(cluster)
    cluster.run(cluster.apply(web("a", OURS), web("b", OURS), web("c")), timeout_s=20)
    result = uninstall(cluster, "--yes")
    assert result.exit_code == 0, result.exception
    said = result.stdout.splitlines()
    assert said[0] == "Deployment webapp-operator removed"
    freed = said.index(f"finalizer {OURS} removed from 2 objects of WebApp")
    assert freed < said.index("3 objects of WebApp removed")
    assert said[-1] == "Namespace webapp-operator removed"

    async def all_gone() -> bool:
        client = cluster.client()
        return all([await is_gone(client, obj) for obj in objects])

    cluster.run(eventually(all_gone, timeout_s=30), timeout_s=40)
    again = uninstall(cluster, "--yes")
    assert (again.exit_code, again.stdout) == (0, "")


def test_what_others_hold_is_told_and_left_to_them(cluster: Cluster) -> None:
    installed(cluster)
    cluster.run(cluster.apply(web("a", OURS, OTHERS)), timeout_s=20)
    said = uninstall(cluster, "--yes").stdout.splitlines()
    assert f"WebApp default/a is still there because of other finalizers: {OTHERS}" in said
    left = cluster.run(cluster.client().get(WEBAPPS, "a"), timeout_s=20)
    assert left["metadata"]["finalizers"] == [OTHERS]


def test_objects_can_stay(cluster: Cluster) -> None:
    installed(cluster)
    cluster.run(cluster.apply(web("a", OURS)), timeout_s=20)
    assert uninstall(cluster, "--yes", "--keep-crds").exit_code == 0
    left = cluster.run(cluster.client().get(WEBAPPS, "a"), timeout_s=20)
    assert "finalizers" not in left["metadata"]
    assert "deletionTimestamp" not in left["metadata"]


def test_nothing_happens_unasked(cluster: Cluster) -> None:
    installed(cluster)
    cluster.run(cluster.apply(web("a", OURS)), timeout_s=20)
    with cluster.assert_no_writes(by_anyone=True):
        result = uninstall(cluster)
    assert isinstance(result.exception, CommandFailed)
    assert "webapp-operator from " in str(result.exception)
    assert "with all 1 objects of WebApp; confirm with --yes" in str(result.exception)
