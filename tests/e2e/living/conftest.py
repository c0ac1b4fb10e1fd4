"""A cluster that lives: controllers, scheduler and simulated nodes in one process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.support.kubectl import Kubectl
from tests.support.steer import Steer, running


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steer]:
    with running("--nodes=3", "--runtime=simulated", data=tmp_path_factory.mktemp("living")) as steer:
        yield steer


@pytest.fixture(scope="session")
def cluster_kubectl(server: Steer, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl for this cluster: the one for the other end-to-end tests is bound to theirs."""
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl on the PATH")
    return Kubectl(server.kubeconfig, tmp_path_factory.mktemp("home"))
