"""Pods whose containers really run, through the pod workers and the API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from steersman.cluster.local import LocalCluster
from steersman.objects.conditions import find_condition
from steersman.objects.resources import NODES, PODS
from steersman.testing import eventually
from tests.integration.nodes.process.pod_world import (
    NAMESPACE,
    NODE,
    PATIENCE_S,
    Object,
    PodWorld,
    cluster,
    process_node,
    shell,
)


def run_pods(test: Callable[[PodWorld], Awaitable[None]], folder: Path) -> None:
    async def run() -> None:
        async with cluster() as api, process_node(api, folder) as world:
            await test(world)

    asyncio.run(run())


def main_of(pod: Object) -> Object:
    statuses = pod["status"].get("containerStatuses") or [{"state": {}, "lastState": {}, "restartCount": 0}]
    status: Object = statuses[0]
    return status


def test_the_node_is_this_machine(tmp_path: Path) -> None:
    async def test(world: PodWorld) -> None:
        node = await world.client.get(NODES, NODE)
        ready = find_condition(node["status"]["conditions"], "Ready")
        assert ready is not None
        assert ready["status"] == "True"
        assert node["status"]["nodeInfo"]["containerRuntimeVersion"] == "process://1"
        assert int(node["status"]["capacity"]["cpu"]) > 0
        assert node["status"]["addresses"][0] == {"type": "InternalIP", "address": "127.0.0.1"}

    run_pods(test, tmp_path)


def test_a_pod_lives_from_its_first_to_its_last_word(tmp_path: Path) -> None:
    async def test(world: PodWorld) -> None:
        await world.create(
            "whole",
            shell("cat /work/from-init; echo $POD_IP; while :; do sleep 0.1; done", volumeMounts=[
                {"name": "work", "mountPath": "/work"},
            ]),
            initContainers=[
                shell("echo prepared > /work/from-init", "init", volumeMounts=[
                    {"name": "work", "mountPath": "/work"},
                ]),
            ],
            volumes=[{"name": "work", "emptyDir": {}}],
        )  # fmt: skip
        pod = await world.phase("whole", "Running")
        address = pod["status"]["podIP"]
        container = main_of(pod)["containerID"].removeprefix("process://")
        log = world.runtime.log_path(container)
        await eventually(lambda: address in log.read_text(), PATIENCE_S)
        assert "prepared" in log.read_text()
        assert pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"
        await world.delete("whole")
        await eventually(lambda: not list((tmp_path / "pods").iterdir()), PATIENCE_S)

    run_pods(test, tmp_path)


def test_pods_end_and_restart_as_their_policy_says(tmp_path: Path) -> None:
    async def test(world: PodWorld) -> None:
        await world.create("once", shell("exit 0"), restartPolicy="Never")
        await world.create(
            "failed", shell("printf why > /dev/termination-log; exit 3"), restartPolicy="Never"
        )
        await world.create("always", shell("exit 1"))
        assert main_of(await world.phase("once", "Succeeded"))["state"]["terminated"]["reason"] == "Completed"
        ended = main_of(await world.phase("failed", "Failed"))["state"]["terminated"]
        assert (ended["exitCode"], ended["message"]) == (3, "why")
        pod = await world.until("always", lambda pod: main_of(pod)["restartCount"] == 1)
        assert main_of(pod)["lastState"]["terminated"]["exitCode"] == 1
        crashing = await world.until(
            "always", lambda pod: main_of(pod)["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff"
        )
        assert main_of(crashing)["lastState"]["terminated"]["exitCode"] == 1

    run_pods(test, tmp_path)


def test_what_cannot_be_run_is_explained(tmp_path: Path) -> None:
    async def test(world: PodWorld) -> None:
        await world.create("image", {"name": "main", "image": "nginx:1.27"})
        await world.create("command", {"name": "main", "image": "host/sh", "command": ["no-such-program"]})
        waiting = await world.until(
            "image", lambda pod: main_of(pod)["state"].get("waiting", {}).get("reason") == "ErrImagePull"
        )
        assert "use host/<program>" in main_of(waiting)["state"]["waiting"]["message"]
        await world.until("command", lambda pod: "executable file not found in $PATH" in str(main_of(pod)))
        assert "executable file not found" in await world.told("command", "Failed")

    run_pods(test, tmp_path)


def test_hooks_and_probes_run_in_the_container(tmp_path: Path) -> None:
    async def test(world: PodWorld) -> None:
        probe = {"exec": {"command": ["test", "-e", "/tmp/steersman/ready"]}, "periodSeconds": 1}
        await world.create(
            "probed",
            shell(
                "trap 'exit 0' TERM; while :; do sleep 0.1; done",
                readinessProbe=probe,
                volumeMounts=[{"name": "scratch", "mountPath": "/tmp/steersman"}],
                lifecycle={"postStart": {"exec": {"command": ["touch", "/tmp/steersman/ready"]}}},
            ),
            volumes=[{"name": "scratch", "emptyDir": {}}],
        )
        await world.until("probed", lambda pod: main_of(pod).get("ready"))

    run_pods(test, tmp_path)


def test_a_conflict_of_ports_is_told(tmp_path: Path) -> None:
    async def test(world: PodWorld) -> None:
        script = (
            "import socket, sys, time; s = socket.socket(); s.bind(('0.0.0.0', int(sys.argv[1]))); s.listen();"
            "print('port', s.getsockname()[1], flush=True); time.sleep(1000)"
        )

        def listener(port: int) -> Object:
            return {
                "name": "main", "image": "host/python3", "args": ["-c", script, str(port)],
                "ports": [{"containerPort": port or 1}],
            }  # fmt: skip

        await world.create("first", listener(0))
        pod = await world.phase("first", "Running")
        log = world.runtime.log_path(main_of(pod)["containerID"].removeprefix("process://"))
        await eventually(lambda: "port " in log.read_text(), PATIENCE_S)
        port = int(log.read_text().rpartition("port ")[2])
        await world.create("second", listener(port))
        assert f"has port {port}: " in await world.told("second", "PortConflict")

    run_pods(test, tmp_path)


def test_pods_go_on_while_their_agent_is_away(tmp_path: Path) -> None:
    async def test() -> None:
        async with cluster() as api:
            ids = await _leave_pods(api, tmp_path)
            await api.client().delete(PODS, "deleted", NAMESPACE, grace_s=0)
            async with process_node(api, tmp_path) as world:
                pod = await world.phase("stays", "Running")
                assert main_of(pod)["containerID"] == ids["stays"]
                assert main_of(pod)["restartCount"] == 0
                await world.phase("ends", "Succeeded")
                folders = {path.name for path in (tmp_path / "pods").iterdir()}
                assert pod["metadata"]["uid"] in folders
                assert len(folders) <= 2

    asyncio.run(test())


async def _leave_pods(api: LocalCluster, folder: Path) -> dict[str, str]:
    """Pods that run when the process with their node has ended; their containers."""
    async with process_node(api, folder, stop_pods=False) as world:
        await world.create("stays", shell("exec sleep 1000"))
        await world.create("deleted", shell("exec sleep 1000"))
        await world.create("ends", shell("sleep 1; exit 0"), restartPolicy="Never")
        return {
            name: main_of(await world.phase(name, "Running"))["containerID"]
            for name in ("stays", "deleted", "ends")
        }
