"""Connections are real, hours are not: a test in virtual time is over in a moment."""

from __future__ import annotations

import asyncio
import socket

import checks
import pytest
from checks import TcpCheck, TcpCheckSpec, op

from steersman import Client, ObjectMeta
from steersman.objects.resource_type import ResourceType
from steersman.testing import Cluster, eventually, virtual_time
from steersman.testing.plugin import OperatorRunner

EVENTS = ResourceType("events.k8s.io", "v1", "Event", "events")


def check(port: int = 1, every_seconds: int = 1) -> TcpCheck:
    spec = TcpCheckSpec(host="127.0.0.1", port=port, every_seconds=every_seconds)
    return TcpCheck(metadata=ObjectMeta(name="local"), spec=spec)


async def reachable(client: Client) -> str:
    conditions = (await client.get(TcpCheck, "local")).status.conditions
    return next((each.status for each in conditions if each.type == "Reachable"), "")


async def test_the_daemon_follows_the_world_and_the_spec(
    client: Client, run_operator: OperatorRunner
) -> None:
    await run_operator(op)
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        await client.create(check(unused.getsockname()[1]))
        assert await eventually(lambda: reachable(client)) == "False"
        await client.patch(TcpCheck, "local", {"spec": {"port": port}})

        async def connected() -> bool:
            return await reachable(client) == "True"

        await eventually(connected)
    server.close()
    await server.wait_closed()


@virtual_time
async def test_a_check_that_stays_the_same_is_written_once_and_reported_hourly() -> None:
    asked = 0

    async def refuse(spec: TcpCheckSpec) -> str:
        nonlocal asked
        asked += 1
        return "refused"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "connect", refuse)
        async with Cluster() as cluster, cluster.run_operator(op):
            client = cluster.client()
            with cluster.record() as seen:
                await client.create(check(every_seconds=60))
                await cluster.clock.advance(6 * 3600)
            reports = [event for event in await client.list(EVENTS) if event["reason"] == "Unreachable"]
            told = sum(event.get("series", {}).get("count", 1) for event in reports)
    assert asked == pytest.approx(6 * 60, abs=2)
    assert [write.subresource for write in seen.writes if write.resource == "tcpchecks"] == ["", "status"]
    assert told == 6


@virtual_time
async def test_a_deleted_check_is_not_looked_at_any_more() -> None:
    asked = 0

    async def refuse(spec: TcpCheckSpec) -> str:
        nonlocal asked
        asked += 1
        return ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "connect", refuse)
        async with Cluster() as cluster, cluster.run_operator(op):
            client = cluster.client()
            await client.create(check())
            await cluster.clock.advance(60)
            await client.delete(TcpCheck, "local")
            await cluster.clock.settle()
            before = asked
            await cluster.clock.advance(3600)
    assert before > 50
    assert asked == before
