"""A cluster whose pods really run, and an image with two of the examples in it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from steersman.cluster.node.process.image_index import ImageIndex
from steersman.testing import Cluster
from tests.support.kubectl import Kubectl

EXAMPLES = Path(__file__).parents[3] / "examples"
WEBAPP = EXAMPLES / "06-webapp" / "webapp.py"
SHOP = EXAMPLES / "05-dependents" / "shop.py"
IMAGE = "registry.example.com/operators:1"


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("image")
    for module in (WEBAPP, SHOP):
        shutil.copy(module, folder)
    # The interpreter of the tests is the one that the image has.
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    (folder / "image.json").write_text(json.dumps({"env": {"PATH": path}, "workingDir": "/"}))
    images = tmp_path_factory.mktemp("images") / "images.json"
    ImageIndex(images).add(IMAGE, folder)
    with Cluster(controllers=("all",), process_nodes=1, images=images) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def kubectl(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl on the PATH")
    return Kubectl(cluster.kubeconfig, tmp_path_factory.mktemp("home"))
