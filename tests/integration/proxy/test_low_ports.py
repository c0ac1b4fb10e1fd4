"""Services whose ports the proxy may not listen at answer at stand-ins, and everybody is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.proxy.setup import LowPorts
from steersman.objects.resources import EVENTS, SERVICES
from steersman.objects.stand_ins import STAND_IN_PORTS
from steersman.testing import eventually
from tests.integration.proxy.world import PATIENCE_S, World, ask, proxied

#: As an ordinary user has it.
FIRST_FREE = 1024


def with_low_ports(folder: Path | None, test: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with proxied(low_ports=LowPorts(FIRST_FREE, folder)) as world:
            try:
                await test(world)
            finally:
                world.close_servers()

    asyncio.run(run())


async def annotation(world: World, name: str) -> str | None:
    service = await world.client.get(SERVICES, name, "default")
    found: str | None = (service["metadata"].get("annotations") or {}).get(STAND_IN_PORTS)
    return found


def test_a_low_port_answers_at_its_stand_in_and_the_service_says_so(tmp_path: Path) -> None:
    stand_ins = tmp_path / "stand-ins"

    async def test(world: World) -> None:
        (a,) = await world.tcp("a")
        address = await world.service("web", port=80)
        await world.endpoints("web", a)
        assert await ask(address, 8080) == "a hi"
        await eventually(lambda: _is(annotation(world, "web"), "80=8080"), PATIENCE_S)
        assert json.loads((stand_ins / address).read_text()) == {"TCP": {"80": 8080}}
        (event,) = await eventually(lambda: _events(world, "web"), PATIENCE_S)
        assert event["type"] == "Normal"
        assert event["note"].startswith("port 80 answers at 8080 on this machine")

    with_low_ports(stand_ins, test)


def test_a_stand_in_takes_no_port_of_the_service_itself() -> None:
    async def test(world: World) -> None:
        a, b = await world.tcp("a", "b")
        ports = [
            {"name": "low", "port": 80, "targetPort": a.port},
            {"name": "main", "port": 8080, "targetPort": b.port},
        ]
        address = await world.service("both", port=0, ports=ports)
        b.is_expected = True
        await world.endpoints("both", b)
        await eventually(lambda: _is(annotation(world, "both"), "80=18080"), PATIENCE_S)
        assert await ask(address, 8080) == "b hi"

    with_low_ports(None, test)


def test_ports_that_change_are_told_anew_and_what_is_gone_is_forgotten(tmp_path: Path) -> None:
    stand_ins = tmp_path / "stand-ins"

    async def test(world: World) -> None:
        address = await world.service("web", port=80)
        await eventually(lambda: _is(annotation(world, "web"), "80=8080"), PATIENCE_S)
        await world.client.patch(
            SERVICES, "web", {"spec": {"ports": [{"name": "main", "port": 443}]}}, namespace="default"
        )
        await eventually(lambda: _is(annotation(world, "web"), "443=8443"), PATIENCE_S)
        await world.client.patch(
            SERVICES, "web", {"spec": {"ports": [{"name": "main", "port": 8000}]}}, namespace="default"
        )
        await eventually(lambda: _is(annotation(world, "web"), None), PATIENCE_S)
        await eventually(lambda: not (stand_ins / address).exists(), PATIENCE_S)
        other = stand_ins / await world.service("other", port=22)
        await eventually(lambda: other.exists() and "8022" in other.read_text(), PATIENCE_S)
        await world.client.delete(SERVICES, "other", "default")
        await eventually(lambda: not other.exists(), PATIENCE_S)

    with_low_ports(stand_ins, test)


def test_what_is_said_costs_one_write() -> None:
    async def test(world: World) -> None:
        await world.service("web", port=80)
        await eventually(lambda: _is(annotation(world, "web"), "80=8080"), PATIENCE_S)
        before = (await world.client.get(SERVICES, "web", "default"))["metadata"]["resourceVersion"]
        (a,) = await world.tcp("a")
        await world.endpoints("web", a)
        await world.settle()
        after = (await world.client.get(SERVICES, "web", "default"))["metadata"]["resourceVersion"]
        assert before == after

    with_low_ports(None, test)


def test_who_has_all_ports_takes_back_what_an_earlier_one_said() -> None:
    async def run() -> None:
        async with proxied(low_ports=LowPorts(1)) as world:
            await world.service("web", port=8000)
            said = {"name": "web", "namespace": "default", "annotations": {STAND_IN_PORTS: "8000=9000"}}
            earlier = {"apiVersion": "v1", "kind": "Service", "metadata": said}
            await world.client.apply(earlier, field_manager="steersman-proxy", kind=SERVICES)
            await eventually(lambda: _is(annotation(world, "web"), None), PATIENCE_S)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("port", "lie", "truth"),
    [
        pytest.param(80, "80=22", "80=8080", id="of a low port"),
        pytest.param(8000, "8000=22", None, id="of a port without a stand-in"),
    ],
)
def test_what_somebody_else_says_about_stand_ins_is_corrected(port: int, lie: str, truth: str | None) -> None:
    async def test(world: World) -> None:
        await world.service("web", port=port)
        await eventually(lambda: _is(annotation(world, "web"), "80=8080" if truth else None), PATIENCE_S)
        said = {"metadata": {"annotations": {STAND_IN_PORTS: lie, "mine": "stays"}}}
        await world.client.patch(SERVICES, "web", said, namespace="default")
        await eventually(lambda: _is(annotation(world, "web"), truth), PATIENCE_S)
        service = await world.client.get(SERVICES, "web", "default")
        assert service["metadata"]["annotations"]["mine"] == "stays"

    with_low_ports(None, test)


def test_a_list_that_cannot_be_written_is_told_and_written_as_soon_as_it_can_be(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stand_ins = tmp_path / "stand-ins"
    # Not even root may make a folder there.
    stand_ins.write_text("")

    async def test(world: World) -> None:
        (a,) = await world.tcp("a")
        address = await world.service("web", port=80)
        await world.endpoints("web", a)
        assert await ask(address, 8080) == "a hi"
        told = [record for record in caplog.records if "stand-in ports for pods" in record.message]
        assert [record.levelname for record in told] == ["WARNING"]
        assert str(stand_ins) in told[0].message
        stand_ins.unlink()
        await eventually(lambda: (stand_ins / address).exists(), PATIENCE_S)

    with_low_ports(stand_ins, test)


async def _is(asked: Coroutine[Any, Any, str | None], expected: str | None) -> bool:
    return await asked == expected


async def _events(world: World, name: str) -> list[dict[str, Any]]:
    events = await world.client.list(EVENTS, "default")
    return [one for one in events if (one["reason"], one["regarding"]["name"]) == ("StandInPort", name)]
