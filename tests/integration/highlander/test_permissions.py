"""A controller that has only the permissions of its manifests can do all that it has to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
import yaml

from steersman.aio import Scope
from steersman.client import Client, Unavailable
from steersman.highlander.api import logs_of
from steersman.highlander.config import load
from steersman.highlander.manifests import manifests
from steersman.highlander.process import Highlander
from steersman.highlander.state import WorkloadPhase
from tests.support.steer import Steer, running

pytestmark = pytest.mark.slow

_PATIENCE_S = 60.0
WORKLOADS = """
workloads:
  processes:
  - {name: ledger, image: app, command: [run]}
  - {name: books, image: app, command: [run], namespace: other}
  cronJobs:
  - {name: nightly, image: app, command: [run], schedule: "0 0 1 1 *"}
  services:
  - {name: web, image: app, command: [run], ports: [{name: http, containerPort: 80}]}
  persistentSets:
  - {name: store, image: app, command: [run], ports: [{name: http, containerPort: 80}]}
"""


def test_the_manifests_permissions_are_enough(tmp_path: Path) -> None:
    with running("--nodes=1", "--runtime=simulated", data=tmp_path / "data") as steer:
        asyncio.run(_lives(steer, tmp_path))


async def _lives(steer: Steer, tmp_path: Path) -> None:
    file = tmp_path / "highlander.yaml"
    settings = {
        "tenant": "shop",
        "namespace": "shop",
        "port": 0,
        "storageType": "lease",
        "cluster": {"kubeconfig": str(tmp_path / "kubeconfig")},
        "api": {"bind": "127.0.0.1"},
    }
    file.write_text(yaml.safe_dump(settings) + WORKLOADS)
    async with Client.load(kubeconfig=steer.kubeconfig) as admin:
        token = await _installed(admin, file)
    config = yaml.safe_load(steer.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))

    process = Highlander(lambda: load(file, environment={}))
    started = asyncio.Event()
    async with Scope() as scope:
        run = scope.start(process.run(started.set))
        await started.wait()
        tenant = process.tenants["shop"]
        board = tenant.board
        await _until(lambda: len(board.workloads) == 5 and all(one.ready for one in board.workloads.values()))
        (pod,) = [pod for pod in board.pods if pod.name == "ledger-pod"]
        # Simulated nodes have none, but that is said only to those who may ask.
        with pytest.raises(Unavailable):
            await logs_of(process.client_of("shop"))(pod, "ledger", 5)
        for key in board.workloads:
            await tenant.pause(key)
        await _until(lambda: all(one.phase is WorkloadPhase.PAUSED for one in board.workloads.values()))
        for key in tuple(board.workloads):
            await tenant.resume(key)
        await _until(lambda: all(one.ready for one in board.workloads.values()))
        problems = [one.last_error for one in board.workloads.values()] + [board.controller.last_error]
        assert not [problem for problem in problems if "forbidden" in problem]
        process.stop()
        await run


async def _installed(admin: Client, file: Path) -> str:
    """Everything but the controllers themselves; a token of their account."""
    for name in ("highlander", "shop", "other"):
        await admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for one in manifests(file.read_text(), load(file, environment={}).tenants):
        if one["kind"] != "Deployment":
            await admin.create(one)
    path = "/api/v1/namespaces/highlander/serviceaccounts/highlander/token"
    answer = orjson.loads(await admin.request("POST", path, body={"spec": {}}))
    token: str = answer["status"]["token"]
    return token


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not true():
            await asyncio.sleep(0.05)
