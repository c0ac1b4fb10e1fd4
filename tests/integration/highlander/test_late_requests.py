"""Whatever a former leader has sent may arrive once more, when another leads: it changes nothing that counts."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from steersman.client.transport import PassingTransport
from steersman.http import ClientResponse
from steersman.objects.resources import CRON_JOBS, DEPLOYMENTS, STATEFUL_SETS
from steersman.operator.terms import TERM
from steersman.testing import eventually, virtual_time
from tests.integration.highlander.worlds import config, process, world

BEAT = "process/default/beat"
WORKLOADS: dict[str, Any] = {
    "processes": [process()],
    "cronJobs": [{"name": "tick", "image": "image", "schedule": "* * * * *"}],
    "services": [{"name": "web", "image": "image", "ports": [{"containerPort": 80}]}],
    "persistentSets": [{"name": "db", "image": "image"}],
}


class RecordingTransport(PassingTransport):
    """Remembers everything that writes, but for the lock."""

    def __init__(self, transport: Any) -> None:
        super().__init__(transport)
        self.sent: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def request(self, *arguments: Any, **options: Any) -> Awaitable[ClientResponse]:
        method, target = arguments[:2]
        if method != "GET" and "/leases" not in target:
            self.sent.append((arguments, options))
        return super().request(*arguments, **options)

    async def again(self) -> list[int]:
        """All of it, in order; how it was answered."""
        return [
            (await super(RecordingTransport, self).request(*arguments, **options)).status
            for arguments, options in self.sent
        ]


@virtual_time
async def test_what_a_former_leader_has_sent_arrives_again() -> None:
    async with world() as here:
        recorders: list[RecordingTransport] = []

        def recorded(transport: Any) -> RecordingTransport:
            recorders.append(RecordingTransport(transport))
            return recorders[-1]

        first = here.start(config(workloads=WORKLOADS))
        first.client.carry(recorded)
        keys = [str(key) for key in first.tenant.specs]
        for key in keys:
            await here.running(first, key)
        first.tenant.configure(config(workloads={**WORKLOADS, "services": [_changed()]}))
        await here.pass_time(30)
        await first.die()
        second = here.start(config("b", workloads={**WORKLOADS, "services": [_changed()]}))
        for key in keys:
            await here.running(second, key)
        first.faults.clear()
        epoch = str(second.tenant.board.controller.epoch)
        for _ in range(3):
            assert 409 in await recorders[0].again()
            await here.pass_time(20)

            async def restored() -> bool:
                kinds = (CRON_JOBS, DEPLOYMENTS, STATEFUL_SETS)
                found = [each for kind in kinds for each in await here.client.list(kind)]
                return {each["metadata"]["annotations"][TERM] for each in found} == {epoch}

            await eventually(restored, 60)
            for key in keys:
                await here.running(second, key)
        await second.stop()


@virtual_time
async def test_what_makes_a_process_arrives_when_its_sender_leads_no_more() -> None:
    async with world() as here:
        recorders: list[RecordingTransport] = []

        def recorded(transport: Any) -> RecordingTransport:
            recorders.append(RecordingTransport(transport))
            return recorders[-1]

        first = here.start(config())
        first.client.carry(recorded)
        await here.running(first)
        await first.die()
        second = here.start(config("b"))
        await here.running(second)
        # Now the name is free.
        await second.tenant.pause(BEAT)
        await eventually(lambda: second.phase() == "paused", 60)
        first.faults.clear()
        second.faults.delay(20, resource="pods", verb="delete")
        for _ in range(3):
            assert 201 in await recorders[0].again()

            async def is_gone() -> bool:
                return await here.pod() is None

            await eventually(is_gone, 60)
        second.faults.clear()
        await second.tenant.resume(BEAT)
        await here.running(second)
        # The witness sees what was started: never the former leader's again.
        assert here.witness.epochs[BEAT] == [1, 2, 2]
        await second.stop()


def _changed() -> dict[str, Any]:
    return {**WORKLOADS["services"][0], "image": "another"}
