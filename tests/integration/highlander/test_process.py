"""A whole process: several tenants over one client, and a file that changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from steersman.aio import Scope
from steersman.highlander.config import load
from steersman.highlander.errors import ConfigError
from steersman.highlander.process import Highlander
from steersman.objects.resources import PODS
from steersman.testing import Cluster, eventually, virtual_time

FILE = """
storageType: lease
port: 0
api: {{bind: 127.0.0.1}}
election: {{leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 0.5s}}
tenants:
- tenant: a
  workloads: {{processes: [{{name: one, image: {image}}}]}}
- tenant: b
  workloads: {{processes: [{{name: two, image: image}}]}}
"""


@asynccontextmanager
async def running(cluster: Cluster, file: Path) -> AsyncIterator[Highlander]:
    made = Highlander(
        lambda: load(file, environment={}),
        file=file,
        clock=cluster.clock,
        connect=lambda _: cluster.client(),
    )
    async with Scope() as scope:
        task = scope.start(made.run())
        yield made
        made.stop()
        await task


async def images(cluster: Cluster) -> dict[str, str]:
    pods = await cluster.client().list(PODS, labels="managed-by=highlander")
    return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in pods}


@virtual_time
async def _run(file: Path) -> None:
    async with Cluster(controllers=("all",), nodes=1) as cluster:
        async with running(cluster, file) as process:

            async def both(first: str) -> bool:
                return await images(cluster) == {"one-pod": first, "two-pod": "image"}

            await eventually(lambda: both("image"), 60)
            file.write_text(FILE.format(image="another"))
            await eventually(lambda: both("another"), 60)

            file.write_text("prot: 1")
            boards = [tenant.board for tenant in process.tenants.values()]
            await eventually(lambda: all("prot" in board.controller.config_error for board in boards), 60)
            assert all(board.controller.is_leader for board in boards)
            with pytest.raises(ConfigError, match="prot"):
                await process.tenants["a"].reload()

            file.write_text(FILE.format(image="image"))
            await process.tenants["a"].reload()
            await eventually(lambda: both("image"), 60)
            assert not boards[0].controller.config_error
        assert await images(cluster) == {}


def test_a_changed_file_is_followed_and_a_wrong_one_is_not(tmp_path: Path) -> None:
    file = tmp_path / "highlander.yaml"
    file.write_text(FILE.format(image="image"))
    _run(file)
