"""What is recorded of connections: audit events and metrics, and that they take nobody's turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from steersman.client import Client
from tests.support.streaming_node import streaming_cluster
from tests.support.waiting import until

DEADLINE_S = 60


def run(act: Callable[[Client], Awaitable[None]], **config: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(DEADLINE_S), streaming_cluster(**config) as (cluster, _, admin):
            # The admin would wait for nobody.
            async with cluster.client(await _token(admin)) as client:
                await act(client)

    asyncio.run(main())


async def _token(admin: Client) -> str:
    """Of somebody who may do everything, in their turn."""
    await admin.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "somebody"}})
    await admin.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "somebody"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [{"kind": "ServiceAccount", "name": "somebody", "namespace": "default"}],
        }
    )
    path = "/api/v1/namespaces/default/serviceaccounts/somebody/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(json.loads(await admin.request("POST", path, body=request))["status"]["token"])


def test_a_connection_is_audited_when_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"

    def stages() -> list[tuple[str, int]]:
        events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        connections = [event for event in events if event["objectRef"].get("subresource") == "exec"]
        return [(event["stage"], event["responseStatus"]["code"]) for event in connections]

    async def act(client: Client) -> None:
        async with await client.exec("one", ["cat"], stdin=True) as process:
            await process.write(b"x")
            assert (await anext(process)).data == b"x"
            await until(stages, 60)
            assert stages() == [("ResponseStarted", 101)]
        await until(lambda: len(stages()) >= 2, 60)

    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n"
        "rules: [{level: Metadata, resources: [{group: '', resources: [pods/exec]}]}, {level: None}]\n"
    )
    run(act, audit_policy=policy, audit_log=str(log))
    assert stages() == [("ResponseStarted", 101), ("ResponseComplete", 101)]


def test_a_connection_is_counted_as_one() -> None:
    async def act(client: Client) -> None:
        await client.run("one", ["true"])
        await client.logs("one")

        async def connections() -> str:
            counted = (await client.request("GET", "/metrics")).decode()
            return counted if 'verb="connect"' in counted and 'code="101"' in counted else ""

        counted = await until(connections, 60)
        series = 'apiserver_request_total{code="%d",group="",resource="pods",verb="connect"} 1.0'
        assert series % 101 in counted
        assert series % 200 in counted

    run(act)


def test_open_connections_take_nobodys_turn() -> None:
    async def act(client: Client) -> None:
        processes = [await client.exec("one", ["cat"], stdin=True) for _ in range(40)]
        for process in processes:
            await process.write(b"x")
            assert (await anext(process)).data == b"x"
        assert (await client.run("one", ["true"])).exit_code == 0
        for process in processes:
            async with process:
                pass

    run(act, max_requests_inflight=20)
