"""A cluster that tests of several modules need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .running import Running, running_cluster

#: Some promises are about pods of different nodes.
_NODES = 2


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_cluster(tmp_path_factory.mktemp("running"), _NODES) as cluster:
        yield cluster
