"""What the tests of `steer run` share: a server, the WebApp example, and its resource on the server.

The server has no controllers: here the tests say how a rollout goes.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import WAIT, Kubectl
from tests.support.steer import DEADLINE_S, STEER, Steer, running

from .operators import EXAMPLES

PROGRAM = EXAMPLES / "06-webapp" / "webapp.py"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steer]:
    with running("--controllers", "none", data=tmp_path_factory.mktemp("cluster")) as steer:
        yield steer


@pytest.fixture(scope="session")
def cluster_kubectl(server: Steer, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl on the PATH")
    return Kubectl(server.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def webapp() -> Path:
    return PROGRAM


@pytest.fixture(scope="session")
def webapps(cluster_kubectl: Kubectl) -> None:
    """The custom resource, installed as a user would: `steer crd | kubectl apply`."""
    done = subprocess.run(
        [str(STEER), "crd", str(PROGRAM)], capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert done.returncode == 0, done.stderr
    cluster_kubectl("apply", "-f", "-", stdin=done.stdout)
    cluster_kubectl("wait", "crd/webapps.example.com", "--for=condition=Established", WAIT)


def _app(name: str, replicas: int = 2, image: str = "nginx:1.25") -> dict[str, Any]:
    spec = {"image": image, "replicas": replicas}
    return {"apiVersion": "example.com/v1", "kind": "WebApp", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="session")
def app() -> Any:
    return _app
