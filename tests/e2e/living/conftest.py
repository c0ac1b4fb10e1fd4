"""A cluster that lives: controllers, scheduler and simulated nodes in one process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.steer import Steer, running


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steer]:
    with running("--nodes=3", data=tmp_path_factory.mktemp("living")) as steer:
        yield steer
