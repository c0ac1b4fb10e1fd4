"""When probes are made, and what follows from them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.cluster.node.cri import ContainerConfig, PodRuntime, PodSandboxConfig
from steersman.cluster.node.downward import DownwardNodeFacts
from steersman.cluster.node.events import NodeEvents
from steersman.cluster.node.health import HEALTHY, ContainerHealth
from steersman.cluster.node.probing import ContainerProber
from steersman.testing import VirtualClock, run_virtual

from .engine import AnsweringRuntime, exits, fails

Object = dict[str, Any]


class Told(NodeEvents):
    """Keeps what is told."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def warning(self, about: Any, reason: str, note: str) -> None:
        assert about["fieldPath"] == "spec.containers{main}"
        self.notes.append((reason, note))


class World:
    """One pod with one running container, and whoever probes it."""

    def __init__(self, scope: Scope, container: Object) -> None:
        self.scope = scope
        self.clock = VirtualClock()
        self.runtime = AnsweringRuntime(self.clock)
        scope.start(self.runtime.timers.run())
        self.told = Told()
        self.prober = self.new_prober()
        self.container = {"name": "main", "image": "i", **container}
        self.pod: Object = {
            "metadata": {"name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "1"},
            "spec": {"containers": [self.container]},
        }
        self.container_id = ""

    def new_prober(self) -> ContainerProber:
        self.pokes: list[float] = []
        node = DownwardNodeFacts("n", ("10.0.0.1",))
        timers, start = self.runtime.timers, self.scope.start
        prober = ContainerProber(self.runtime, self.told, timers, start, node, rand=lambda: 0.5)
        prober.subscribe(lambda event: self.pokes.append(self.clock.monotonic()))
        return prober

    async def run_container(self) -> None:
        sandbox = await self.runtime.run_pod_sandbox(PodSandboxConfig("u", "ns", "p"))
        config = ContainerConfig("main", 0, "i", "i", self.container)
        self.container_id = await self.runtime.create_container(sandbox, config)
        await self.runtime.start_container(self.container_id)
        # The runtime reports starts too.
        self.pokes.clear()

    async def health(self) -> ContainerHealth | None:
        runtime = PodRuntime(
            await self.runtime.list_pod_sandboxes("u"), await self.runtime.list_containers("u")
        )
        return self.prober.health(self.pod, runtime).get(self.container_id)

    def attempts(self) -> list[float]:
        return [round(when, 3) for when, _, _ in self.runtime.asked]


def probed(**probes: Object) -> Callable[[Callable[[World], Awaitable[None]]], Callable[[], None]]:
    """Make a test of one that takes a world; probes by a command unless they say otherwise."""

    def decorate(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
        async def body() -> None:
            handler = {"exec": {"command": ["check"]}}
            container = {f"{kind}Probe": {**handler, **spec} for kind, spec in probes.items()}
            async with Scope() as scope:
                world = World(scope, container)
                await world.run_container()
                await test(world)

        def run() -> None:
            run_virtual(body())

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


READY = ContainerHealth(started=True, ready=True)
UNREADY = ContainerHealth(started=True, ready=False)


@probed()
async def test_without_probes_a_container_is_healthy(world: World) -> None:
    assert await world.health() == HEALTHY
    assert not world.runtime.timers


@probed(readiness={"periodSeconds": 5, "initialDelaySeconds": 3})
async def test_a_container_is_ready_when_its_probe_says_so(world: World) -> None:
    assert await world.health() == UNREADY
    await asyncio.sleep(14)
    assert await world.health() == READY
    assert world.attempts() == [3, 8, 13]
    assert world.pokes == [3]
    assert world.told.notes == []


@probed(readiness={"periodSeconds": 10, "failureThreshold": 2})
async def test_a_container_that_comes_up_is_found_ready_soon(world: World) -> None:
    world.runtime.answer = exits(1)
    assert await world.health() == UNREADY
    await asyncio.sleep(0.5)
    world.runtime.answer = exits(0)
    await asyncio.sleep(0.5)
    assert await world.health() == READY
    assert world.attempts() == [0, 0.05, 0.125, 0.238, 0.406, 0.659]
    assert world.told.notes == []


@probed(readiness={"periodSeconds": 1})
async def test_a_container_that_does_not_come_up_is_asked_as_often_as_it_should_be(world: World) -> None:
    world.runtime.answer = exits(1)
    assert await world.health() == UNREADY
    await asyncio.sleep(3.5)
    late = [at for at in world.attempts() if at > 0.7]
    assert late == [1, 2, 3]
    assert len(world.told.notes) == 3


@probed(readiness={"periodSeconds": 1, "failureThreshold": 2})
async def test_a_container_that_fails_often_enough_is_not_ready_any_more(world: World) -> None:
    await world.health()
    await asyncio.sleep(2.5)
    world.runtime.answer = exits(1, b"oh no")
    await asyncio.sleep(1)
    assert await world.health() == READY
    await asyncio.sleep(1)
    assert await world.health() == UNREADY
    assert world.told.notes == [("Unhealthy", "Readiness probe failed: oh no")] * 2
    world.runtime.answer = exits(0)
    await asyncio.sleep(1)
    assert await world.health() == READY
    assert world.pokes == [0, 4, 5]


@probed(readiness={"periodSeconds": 1, "successThreshold": 3, "failureThreshold": 1})
async def test_several_successes_may_be_needed(world: World) -> None:
    await world.health()
    await asyncio.sleep(1.5)
    assert await world.health() == UNREADY
    await asyncio.sleep(1)
    assert await world.health() == READY
    assert world.attempts() == [0, 1, 2]


@probed(liveness={"periodSeconds": 2, "failureThreshold": 2})
async def test_a_container_that_does_not_live_is_to_be_killed_and_left_alone(world: World) -> None:
    world.runtime.answer = exits(1)
    assert await world.health() == READY
    await asyncio.sleep(10)
    assert await world.health() == ContainerHealth(started=True, ready=True, failed="liveness")
    assert world.attempts() == [0, 2]
    assert world.pokes == [2]


@probed(startup={"periodSeconds": 1, "failureThreshold": 5}, liveness={}, readiness={"periodSeconds": 1})
async def test_nothing_else_is_probed_before_a_container_has_started(world: World) -> None:
    world.runtime.answer = exits(1)
    assert await world.health() == ContainerHealth(started=False, ready=False)
    await asyncio.sleep(2.5)
    assert await world.health() == ContainerHealth(started=False, ready=False)
    before = len(world.attempts())
    world.runtime.answer = exits(0)
    await asyncio.sleep(0.6)
    # The probe that it has started, and at once the two others.
    assert len(world.attempts()) == before + 3
    assert await world.health() == READY
    await asyncio.sleep(3)
    assert len(world.attempts()) == before + 6


@probed(startup={"periodSeconds": 1, "failureThreshold": 2})
async def test_a_container_that_never_starts_is_to_be_killed(world: World) -> None:
    world.runtime.answer = exits(1)
    await world.health()
    await asyncio.sleep(5)
    assert await world.health() == ContainerHealth(started=False, ready=True, failed="startup")
    assert [note for _, note in world.told.notes] == ["Startup probe failed: "] * 2


@probed(liveness={"failureThreshold": 1, "periodSeconds": 1})
async def test_a_probe_that_cannot_be_made_says_nothing_about_the_container(world: World) -> None:
    world.runtime.answer = fails("no exec here")
    await world.health()
    await asyncio.sleep(0.5)
    assert await world.health() == READY
    assert world.attempts() == [0, 0, 0]
    assert world.told.notes == [
        ("Unhealthy", "Liveness probe errored and resulted in unknown state: no exec here")
    ]


@probed(liveness={"periodSeconds": 1}, readiness={"periodSeconds": 1})
async def test_a_pod_that_ends_is_probed_for_readiness_only(world: World) -> None:
    await world.health()
    await asyncio.sleep(0.5)
    world.pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world.runtime.answer = exits(1)
    assert await world.health() == READY
    await asyncio.sleep(5)
    assert await world.health() == UNREADY
    assert {note for _, note in world.told.notes} == {"Readiness probe failed: "}


@pytest.mark.parametrize("how", ["stopped", "ended"])
def test_what_does_not_run_is_not_probed(how: str) -> None:
    @probed(liveness={"periodSeconds": 1})
    async def test(world: World) -> None:
        await world.health()
        await asyncio.sleep(1.5)
        if how == "stopped":
            await world.runtime.stop_container(world.container_id, 0)
            assert await world.health() is None
        else:
            world.prober.ended("u")
        await asyncio.sleep(5)
        assert world.attempts() == [0, 1]
        assert not world.runtime.timers

    test()


@probed(startup={"periodSeconds": 1}, readiness={"periodSeconds": 4}, liveness={"periodSeconds": 4})
async def test_what_was_found_out_before_an_agents_restart_counts(world: World) -> None:
    await world.health()
    await asyncio.sleep(1)
    world.pod["status"] = {
        "containerStatuses": [
            {"name": "main", "containerID": f"x://{world.container_id}", "started": True, "ready": True}
        ]
    }
    world.prober.ended("u")
    world.runtime.asked.clear()
    world.prober = world.new_prober()
    world.runtime.answer = exits(1)
    assert await world.health() == READY
    await asyncio.sleep(2.5)
    # Not all at once: after some part of their period.
    assert world.attempts() == [3, 3]
    assert await world.health() == READY


@probed(readiness={"periodSeconds": 1}, liveness={"periodSeconds": 5})
async def test_attempts_are_counted_by_result_while_the_container_runs(world: World) -> None:
    await world.health()
    await asyncio.sleep(2.5)
    world.runtime.answer = exits(1)
    await asyncio.sleep(1)
    assert dict(world.prober.counts()) == {
        ("Readiness", "successful", "main", "p", "ns", "u"): 3,
        ("Readiness", "failed", "main", "p", "ns", "u"): 1,
        ("Liveness", "successful", "main", "p", "ns", "u"): 1,
    }
    world.prober.ended("u")
    assert not list(world.prober.counts())
