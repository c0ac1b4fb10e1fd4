"""A cluster whose pods are processes of this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kubectl import Kubectl
from tests.support.steer import DEADLINE_S, Steer, running
from tests.support.waiting import soon


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the cluster keeps everything."""
    return tmp_path_factory.mktemp("processes")


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[Steer]:
    with running("--nodes=1", "--runtime=process", data=folder) as steer:
        yield steer


@pytest.fixture(scope="session")
def cluster_kubectl(server: Steer, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl for this cluster: the one for the other end-to-end tests is bound to theirs."""
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl on the PATH")
    return Kubectl(server.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture
def kubectl(server: Steer, cluster_kubectl: Kubectl, namespace: str) -> Kubectl:
    """kubectl in a namespace of the test's own, as soon as pods can be made there."""
    own = cluster_kubectl.within(namespace)
    soon(
        lambda: not own.attempt("get", "serviceaccount", "default").code,
        DEADLINE_S,
        lambda _: f"the namespace got no service account: {server.errors}",
        every_s=0.1,
    )
    return own
