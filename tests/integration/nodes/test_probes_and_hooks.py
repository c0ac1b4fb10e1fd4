"""What probes and hooks do to pods."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from steersman.objects.resources import CONFIG_MAPS
from steersman.testing import eventually

from .prepared_world import NAMESPACE, PATIENCE_S, Object, PreparedWorld, with_prepared_node
from .world import is_ready, main_of


def runs(command: str, **probe: Any) -> Object:
    return {"exec": {"command": [command]}, "periodSeconds": 1, **probe}


@with_prepared_node
async def test_a_pod_is_ready_as_its_probe_says(world: PreparedWorld) -> None:
    world.engine.codes["ready"] = 1
    await world.create("p", container={"readinessProbe": runs("ready", failureThreshold=2)})
    pod = await world.until("p", lambda pod: pod["status"]["phase"] == "Running")
    assert (main_of(pod)["started"], main_of(pod)["ready"]) == (True, False)
    assert await world.told("p", "Unhealthy") == "Readiness probe failed: said"
    world.engine.codes["ready"] = 0
    await world.until("p", is_ready)
    world.engine.codes["ready"] = 1
    pod = await world.until("p", lambda pod: not is_ready(pod))
    assert main_of(pod)["restartCount"] == 0


@with_prepared_node
async def test_a_container_that_does_not_live_is_started_again(world: PreparedWorld) -> None:
    probe = runs("alive", failureThreshold=1, terminationGracePeriodSeconds=1)
    await world.create("p", container={"livenessProbe": probe})
    await world.until("p", is_ready)
    world.engine.codes["alive"] = 1
    pod = await world.until("p", lambda pod: main_of(pod)["restartCount"] >= 1)
    world.engine.codes["alive"] = 0
    assert await world.told("p", "Unhealthy") == "Liveness probe failed: said"
    assert await world.told("p", "Killing") == "Container main failed liveness probe, will be restarted"
    assert "terminated" in main_of(pod)["lastState"]
    await world.until("p", is_ready)


@with_prepared_node
async def test_a_container_is_not_ready_before_it_has_started(world: PreparedWorld) -> None:
    world.engine.codes["started"] = 1
    probes = {"startupProbe": runs("started", failureThreshold=30), "readinessProbe": runs("ready")}
    await world.create("p", container=probes)
    pod = await world.until("p", lambda pod: pod["status"]["phase"] == "Running")
    await asyncio.sleep(5)
    assert (main_of(pod)["started"], main_of(pod)["ready"]) == (False, False)
    assert ("ready",) not in world.engine.commands
    world.engine.codes["started"] = 0
    pod = await world.until("p", is_ready)
    assert main_of(pod)["started"]


@with_prepared_node
async def test_hooks_run_after_the_start_and_before_the_end(world: PreparedWorld) -> None:
    lifecycle = {"postStart": {"exec": {"command": ["hello"]}}, "preStop": {"exec": {"command": ["bye"]}}}
    await world.create("p", container={"lifecycle": lifecycle})
    await world.until("p", is_ready)
    assert world.engine.commands == [("hello",)]
    await world.delete("p", grace_s=10)
    assert world.engine.commands == [("hello",), ("bye",)]


@with_prepared_node
async def test_a_hook_that_fails_ends_the_container(world: PreparedWorld) -> None:
    world.engine.codes["hello"] = 2
    await world.create("p", container={"lifecycle": {"postStart": {"exec": {"command": ["hello"]}}}})
    await world.waiting("p", "CrashLoopBackOff")
    assert await world.told("p", "FailedPostStartHook") == "PostStartHook failed"
    world.engine.codes["hello"] = 0
    await asyncio.sleep(PATIENCE_S)
    await world.until("p", is_ready)


@with_prepared_node
async def test_without_the_api_containers_are_probed_and_restarted_as_before(world: PreparedWorld) -> None:
    data = {"metadata": {"name": "cm", "namespace": NAMESPACE}, "data": {"KEY": "one"}}
    await world.client.create(data, kind=CONFIG_MAPS)
    container = {
        "livenessProbe": runs("alive", failureThreshold=1),
        "envFrom": [{"configMapRef": {"name": "cm"}}],
    }
    await world.create("p", {"name": "v", "configMap": {"name": "cm"}}, container=container)
    await world.until("p", is_ready)
    file = Path(world.engine.made[0].mounts[0].host_path) / "KEY"
    with world.faults.lose_requests():
        world.faults.drop_watches()
        await world.client.patch(CONFIG_MAPS, "cm", {"data": {"KEY": "two"}}, NAMESPACE)
        world.engine.codes["alive"] = 1
        await eventually(lambda: len(world.engine.made) >= 2, PATIENCE_S)
        world.engine.codes["alive"] = 0
        assert world.engine.made[1].env == world.engine.made[0].env
        assert file.read_text() == "one"
    await world.until("p", lambda pod: main_of(pod)["restartCount"] >= 1 and is_ready(pod))
    await eventually(lambda: file.read_text() == "two", PATIENCE_S)
