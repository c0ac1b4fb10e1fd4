from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import orjson
import pytest

from steersman.highlander.api import events
from steersman.highlander.state import WorkloadKind, WorkloadPhase
from steersman.http import Client
from steersman.http.errors import ClientError
from tests.support.highlander import PretendedTenant, lively
from tests.unit.highlander.api.serving import data_of, serving

_PATIENCE_S = 30.0


class Viewer:
    """Reads events; pulses are set aside."""

    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        self._lines = lines
        self.last_id = ""
        self.pulses: list[dict[str, Any]] = []

    async def next(self) -> tuple[str, Any]:
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                what, data = await self._message()
                if what != "pulse":
                    return what, data
                self.pulses.append(data)

    async def pulse(self) -> dict[str, Any]:
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                what, data = await self._message()
                if what == "pulse":
                    return data

    async def to_the_end(self) -> None:
        while True:
            await self.next()

    async def _message(self) -> tuple[str, Any]:
        fields: dict[str, str] = {}
        async for line in self._lines:
            text = line.decode().rstrip("\n")
            if not text and fields:
                self.last_id = fields.get("id", self.last_id)
                return fields["event"], orjson.loads(fields["data"])
            if text and not text.startswith(":"):
                name, _, value = text.partition(": ")
                fields[name] = value
        raise EOFError


@asynccontextmanager
async def viewing(client: Client, query: str = "", last_id: str = "") -> AsyncIterator[Viewer]:
    headers = ((b"Last-Event-ID", last_id.encode()),) if last_id else ()
    async with client.stream("GET", f"/api/events{query}", headers=headers) as answer:
        assert answer.status == 200
        assert answer.headers.get("content-type") == "text/event-stream; charset=utf-8"
        yield Viewer(answer.lines())


def test_a_viewer_gets_a_snapshot_then_changes() -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (_, client), viewing(client) as viewer:
            what, snapshot = await viewer.next()
            assert what == "snapshot"
            assert snapshot["controller"]["epoch"] == 42
            assert len(snapshot["workloads"]) == 8
            assert len(snapshot["history"]) == 6
            await tenant.pause("process/singletons/ledger-writer")
            what, change = await viewer.next()
            assert (what, change["data"]["phase"]) == ("workload", WorkloadPhase.PAUSED)
            tenant.board.forget("process/singletons/ledger-writer")
            assert (await viewer.next())[0] == "workload-gone"
            tenant.board.transition("controller-9_x", "lease expired", 43)
            assert (await viewer.next())[0] == "controller"
            what, change = await viewer.next()
            assert (what, change["data"]["to"], change["data"]["epoch"]) == (
                "transition",
                "controller-9_x",
                43,
            )

    asyncio.run(check())


def test_the_pulse_tells_how_much_of_the_lease_is_left() -> None:
    async def check() -> None:
        tenant = PretendedTenant()
        tenant.margin_s = 7.5
        async with serving(tenant) as (_, client), viewing(client) as viewer:
            pulse = await viewer.pulse()
            assert (pulse["leaseMarginSeconds"], pulse["renewLagSeconds"]) == (7.5, 7.5)
            tenant.margin_s = 0
            assert (await viewer.pulse())["isLeader"] is False

    asyncio.run(check())


def test_who_comes_back_gets_only_what_was_missed() -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (_, client):
            async with viewing(client) as viewer:
                await viewer.next()
                last_id = viewer.last_id
            await tenant.restart("process/singletons/ledger-writer")
            await tenant.restart("process/singletons/ledger-writer")
            async with viewing(client, last_id=last_id) as viewer:
                restarts = [(await viewer.next())[1]["data"]["restarts"] for _ in range(2)]
                assert restarts == [1, 2]

    asyncio.run(check())


@pytest.mark.parametrize("last_id", ["other-5", "nonsense", "-", "BOOT-99999999", "BOOT-x"])
def test_who_cannot_be_told_what_was_missed_gets_a_snapshot(last_id: str) -> None:
    async def check() -> None:
        async with serving(lively()) as (_, client):
            async with viewing(client) as viewer:
                await viewer.next()
                boot = viewer.last_id.rpartition("-")[0]
            async with viewing(client, last_id=last_id.replace("BOOT", boot)) as viewer:
                assert (await viewer.next())[0] == "snapshot"

    asyncio.run(check())


def test_too_long_an_absence_ends_in_a_snapshot() -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (_, client):
            async with viewing(client) as viewer:
                await viewer.next()
                last_id = viewer.last_id
            for count in range(2100):
                tenant.show(WorkloadKind.PROCESS, "busy", restarts=count)
            async with viewing(client, last_id=last_id) as viewer:
                assert (await viewer.next())[0] == "snapshot"

    asyncio.run(check())


def test_workloads_of_other_tenants_are_not_told() -> None:
    async def check() -> None:
        one, other = lively("one"), lively("other")
        async with serving(one, other) as (_, client), viewing(client, "?tenant=other") as viewer:
            _, snapshot = await viewer.next()
            assert snapshot["tenant"] == "other"
            one.show(WorkloadKind.PROCESS, "unseen")
            one.board.change(priority=7)
            what, change = await viewer.next()
            assert (what, change["tenant"], change["data"]["summary"]["workloads"]) == (
                "controller",
                "one",
                9,
            )
            other.show(WorkloadKind.PROCESS, "seen")
            assert (await viewer.next())[1]["data"]["name"] == "seen"

    asyncio.run(check())


def test_a_viewer_that_does_not_read_is_dropped_and_the_others_are_not() -> None:
    async def check() -> None:
        tenant = lively()
        async with serving(tenant) as (_, client), viewing(client) as slow:
            await slow.next()
            big = {"schedule": "x" * 50_000}
            count = 0

            async def viewers() -> int:
                return int((await data_of(client, "/debug/status"))["serverInfo"]["viewers"])

            async with asyncio.timeout(_PATIENCE_S):
                while await viewers() == 1:
                    for _ in range(20):
                        count += 1
                        tenant.show(WorkloadKind.CRON_JOB, "big", details={**big, "count": count})
            async with viewing(client) as quick:
                assert (await quick.next())[0] == "snapshot"
            with pytest.raises((ClientError, EOFError)):
                await slow.to_the_end()

    asyncio.run(check())


def test_a_long_snapshot_may_take_its_time() -> None:
    """More than a viewer may usually have waiting, and events come before it has read it."""

    async def check() -> None:
        tenant = lively()
        for number in range(100):
            tenant.show(WorkloadKind.CRON_JOB, f"big-{number}", details={"schedule": "x" * 100_000})
        async with serving(tenant) as (_, client), viewing(client) as slow:
            for count in range(5):
                tenant.show(WorkloadKind.PROCESS, "small", restarts=count)
            assert (await data_of(client, "/debug/status"))["serverInfo"]["viewers"] == "1"
            what, snapshot = await slow.next()
            assert (what, len(snapshot["workloads"])) == ("snapshot", 108)
            assert [(await slow.next())[1]["data"]["restarts"] for _ in range(5)] == [0, 1, 2, 3, 4]

    asyncio.run(check())


def test_those_who_only_hold_streams_open_cannot_keep_the_server_busy() -> None:
    async def check() -> None:
        async with serving(lively()) as (api, client), AsyncExitStack() as held:
            hub = api._hub
            for _ in range(3):
                await held.enter_async_context(viewing(client))
            with pytest.MonkeyPatch.context() as fewer:
                fewer.setattr(events, "_MOST_VIEWERS", 3)
                answer = await client.request("GET", "/api/events")
                assert (answer.status, answer.headers.get("retry-after")) == (503, "10")
                assert (await client.request("GET", "/readyz")).status == 200
            assert hub.viewers == 3

    asyncio.run(check())


def test_viewers_are_told_of_tenants_that_come_and_go() -> None:
    async def check() -> None:
        async with serving(lively("one")) as (api, client), viewing(client) as viewer:
            await viewer.next()
            api.add(lively("two"))
            what, tenants = await viewer.next()
            assert (what, [one["tenant"] for one in tenants]) == ("tenants", ["one", "two"])
            api.remove("two")
            assert [one["tenant"] for one in (await viewer.next())[1]] == ["one"]

    asyncio.run(check())
