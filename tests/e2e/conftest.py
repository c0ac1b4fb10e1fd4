"""What the end-to-end tests share: one server for all of them, and a namespace for each."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterator

import pytest

from steersman.cluster.controllers.registry import IN_SERVER
from tests.support.kubectl import Kubectl
from tests.support.steer import Steer, running

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steer]:
    """The API server with nobody but the test as its client."""
    controllers = f"--controllers={','.join(IN_SERVER)}"
    with running(controllers, data=tmp_path_factory.mktemp("cluster")) as steer:
        yield steer


@pytest.fixture
def namespace(server: Steer, request: pytest.FixtureRequest) -> str:
    """A namespace of the test's own."""
    words = re.sub("[^a-z0-9]+", "-", request.node.originalname.removeprefix("test_").lower())
    name = f"{words[:40].strip('-')}-{next(_numbers)}"
    answer = server.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    assert answer.status == 201, answer.text
    return name


@pytest.fixture(scope="session")
def cluster_kubectl(server: Steer, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl in the default namespace, for what has no namespace."""
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl on the PATH")
    return Kubectl(server.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture
def kubectl(cluster_kubectl: Kubectl, namespace: str) -> Kubectl:
    """kubectl in the test's own namespace."""
    return cluster_kubectl.within(namespace)
