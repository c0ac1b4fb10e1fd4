"""Tenants that come and go while the process runs, and those beside them that notice nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from steersman.aio import Scope
from steersman.highlander.config import load
from steersman.highlander.errors import ConfigError
from steersman.highlander.process import Highlander
from steersman.http import Client as Http
from steersman.objects.resources import LEASES, PODS
from steersman.testing import Cluster, eventually, virtual_time

Object = dict[str, Any]

_COMMON: Object = {
    "storageType": "lease",
    "port": 0,
    "api": {"bind": "127.0.0.1"},
    "election": {"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "0.5s"},
}


def tenant(name: str, **fields: Any) -> Object:
    """With one process of its own name."""
    return {"tenant": name, "workloads": {"processes": [{"name": name, "image": "image"}]}, **fields}


class Stage:
    """A process, its file and the cluster."""

    def __init__(self, cluster: Cluster, file: Path) -> None:
        self.cluster, self.client, self.file = cluster, cluster.client(), file
        self.process = Highlander(
            lambda: load(file, environment={}), clock=cluster.clock, connect=lambda _: cluster.client()
        )

    def say(self, *tenants: Object, **common: Any) -> None:
        self.file.write_text(yaml.safe_dump({**_COMMON, **common, "tenants": list(tenants)}))

    def become(self, *tenants: Object, **common: Any) -> None:
        self.say(*tenants, **common)
        self.process.reload()

    async def pods(self) -> dict[str, str]:
        found = await self.client.list(PODS, labels="managed-by=highlander")
        return {
            f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod["metadata"]["uid"]
            for pod in found
            if (pod.get("status") or {}).get("phase") == "Running"
        }

    async def until_pods(self, *names: str) -> dict[str, str]:
        async def are_there() -> bool:
            return set(await self.pods()) == set(names)

        await eventually(are_there, 120, what=f"the pods are {names}")
        return await self.pods()

    async def holder(self, name: str) -> str:
        lease = await self.client.find(LEASES, f"highlander-{name}")
        return (((lease or {}).get("spec")) or {}).get("holderIdentity") or ""

    async def served(self) -> list[str]:
        async with Http(f"http://127.0.0.1:{self.process.port}") as http:
            answer = json.loads((await http.request("GET", "/api/tenants")).content)
        return [one["tenant"] for one in answer["data"]]


@asynccontextmanager
async def stage(file: Path, *tenants: Object) -> AsyncIterator[Stage]:
    async with Cluster(controllers=("all",), nodes=1) as cluster, Scope() as scope:
        file.write_text(yaml.safe_dump({**_COMMON, "tenants": list(tenants)}))
        made = Stage(cluster, file)
        run = scope.start(made.process.run())
        yield made
        made.process.stop()
        await run
        assert await made.pods() == {}


@virtual_time
async def _come_and_go(file: Path) -> None:
    async with stage(file, tenant("a"), tenant("b")) as on:
        first = await on.until_pods("default/a-pod", "default/b-pod")
        board = on.process.tenants["a"].board
        epoch, since = board.controller.epoch, board.controller.leader_since
        await on.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})

        on.become(tenant("a"), tenant("c", namespace="shop"))
        later = await on.until_pods("default/a-pod", "shop/c-pod")
        await eventually(lambda: on.process.tenants["c"].board.controller.is_leader, 60)

        async def is_released() -> bool:
            return not await on.holder("b")

        await eventually(is_released, 60)
        assert await on.served() == ["a", "c"]

        on.become(tenant("a"), tenant("b"))
        last = await on.until_pods("default/a-pod", "default/b-pod")
        assert await on.served() == ["a", "b"]

        assert first["default/a-pod"] == later["default/a-pod"] == last["default/a-pod"]
        assert on.process.tenants["a"].board is board
        assert (board.controller.epoch, board.controller.leader_since) == (epoch, since)
        assert first["default/b-pod"] != last["default/b-pod"]
        assert on.process.tenants["b"].board.controller.epoch > 1
        assert on.process.client_of("a") is on.process.client_of("b")


def test_a_tenant_comes_another_goes_and_a_third_notices_nothing(tmp_path: Path) -> None:
    _come_and_go(tmp_path / "highlander.yaml")


@virtual_time
async def _left(file: Path) -> None:
    leaving = tenant("b", onLoss="leave")
    async with stage(file, tenant("a"), leaving) as on:
        before = await on.until_pods("default/a-pod", "default/b-pod")
        on.become(tenant("a"))

        async def is_released() -> bool:
            return not await on.holder("b")

        await eventually(is_released, 60)
        assert await on.pods() == before
        # Back again, it takes over as anybody would: by a copy of its own epoch.
        on.become(tenant("a"), leaving)
        await eventually(lambda: on.process.tenants["b"].board.controller.is_leader, 60)

        async def is_new() -> bool:
            return (await on.pods()).get("default/b-pod") not in (None, before["default/b-pod"])

        await eventually(is_new, 60)


def test_workloads_of_a_tenant_that_goes_stay_if_its_policy_says_so(tmp_path: Path) -> None:
    _left(tmp_path / "highlander.yaml")


@virtual_time
async def _at_once(file: Path) -> None:
    async with stage(file, tenant("a"), tenant("b")) as on:
        before = await on.until_pods("default/a-pod", "default/b-pod")
        on.become(tenant("a"))
        on.become(tenant("a"), tenant("b"))

        async def is_new() -> bool:
            return (await on.pods()).get("default/b-pod") not in (None, before["default/b-pod"])

        await eventually(is_new, 60)
        assert (await on.pods())["default/a-pod"] == before["default/a-pod"]


def test_a_tenant_that_comes_back_waits_until_it_has_gone(tmp_path: Path) -> None:
    _at_once(tmp_path / "highlander.yaml")


@virtual_time
async def _refused(file: Path) -> None:
    async with stage(file, tenant("a")) as on:
        before = await on.until_pods("default/a-pod")
        cases: dict[str, tuple[list[Object], Object]] = {
            "databaseURLFile": (
                [tenant("a"), tenant("b"), tenant("c", storageType="db", databaseURLFile="/nowhere")],
                {},
            ),
            "storage_type cannot change": ([tenant("a", storageType="redis"), tenant("b")], {}),
            "port cannot change": ([tenant("a"), tenant("b")], {"port": 1}),
            "api cannot change": ([tenant("a"), tenant("b")], {"api": {"bind": "127.0.0.2"}}),
            "customResources cannot change": ([tenant("a", customResources=True), tenant("b")], {}),
        }
        for message, (tenants, common) in cases.items():
            with pytest.raises(ConfigError, match=message):
                on.become(*tenants, **common)
            assert list(on.process.tenants) == ["a"]
            assert message in on.process.tenants["a"].board.controller.config_error
        on.become(tenant("a"))
        assert on.process.tenants["a"].board.controller.config_error == ""
        assert await on.pods() == before


def test_a_configuration_that_cannot_be_taken_over_changes_nothing(tmp_path: Path) -> None:
    _refused(tmp_path / "highlander.yaml")
