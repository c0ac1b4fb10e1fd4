"""Promises about containers that run, end and are told apart: kept by programs on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steersman.objects.conditions import find_condition
from steersman.objects.resources import PODS
from steersman.testing import eventually

from .prepared import KEPT, NAMESPACE, PATIENCE_S, Node, Object, kept, running_node, shell, volume_pod

LIST = Path(__file__).parents[3].parent / "shared" / "facts" / "conformance" / "kubelet.txt"
Test = Callable[[Node, Path], Awaitable[None]]

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("node")


@pytest.fixture(scope="module")
def node(folder: Path) -> Iterator[Node]:
    with running_node(folder) as running:
        yield running


def promise(*names: str) -> Callable[[Test], Callable[[Node, Path], None]]:
    """Make a test of an async function that keeps these promises."""
    for name in names:
        kept(name)

    def decorate(test: Test) -> Callable[[Node, Path], None]:
        def run(node: Node, folder: Path) -> None:
            async def work() -> None:
                await test(node, folder)

            node.run(work())

        run.__name__, run.__doc__ = test.__name__, f"{names[0]}."
        return run

    return decorate


def plain(script: str, **fields: Any) -> Object:
    """A container that runs a script and says nothing by itself."""
    return {"name": "main", "image": "host/sh", "command": ["sh", "-c", script], **fields}


def once(container: Object, **spec: Any) -> Object:
    return {"restartPolicy": "Never", "containers": [container], **spec}


async def ended(node: Node, name: str) -> Object:
    """How a pod's container ended."""
    pod = await node.until(name, lambda pod: pod["status"]["phase"] in ("Succeeded", "Failed"))
    terminated: Object = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    return terminated


MESSAGE = "Container Runtime blackbox test on terminated container should report termination message"
FALLBACK: Object = {"terminationMessagePolicy": "FallbackToLogsOnError"}


@promise(
    f"{MESSAGE} as empty when pod succeeds and TerminationMessagePolicy FallbackToLogsOnError is set",
    f"{MESSAGE} from file when pod succeeds and TerminationMessagePolicy FallbackToLogsOnError is set",
)
async def test_a_containers_last_words_are_reported(node: Node, folder: Path) -> None:
    specs = {
        "nothing": plain("echo DONE", **FALLBACK),
        "file": plain("printf OK > /dev/termination-log", **FALLBACK),
    }
    for name, container in specs.items():
        await node.create(name, once(container))
    found = {name: (await ended(node, name)).get("message", "") for name in specs}
    assert found == {"nothing": "", "file": "OK"}


@as_root
@promise(f"{MESSAGE} if TerminationMessagePath is set as non-root user and at a non-default path")
async def test_last_words_may_be_somewhere_else(node: Node, folder: Path) -> None:
    container = plain(
        "printf DONE > /dev/termination-custom-log",
        terminationMessagePath="/dev/termination-custom-log",
        securityContext={"runAsUser": 1000},
    )
    await node.create("elsewhere", once(container))
    assert (await ended(node, "elsewhere"))["message"] == "DONE"


@promise(
    "Container Runtime blackbox test when starting a container that exits should run with the expected status"
)
async def test_a_container_that_ends_is_restarted_as_the_policy_says(node: Node, folder: Path) -> None:
    count = "echo x >> /state/runs; [ $(wc -l < /state/runs) -ge 2 ]"
    expected = {"Always": ("Running", 2), "OnFailure": ("Succeeded", 1), "Never": ("Failed", 0)}
    for policy, (phase, least) in expected.items():
        name = f"rp-{policy.lower()}"
        mounts = [{"name": "state", "mountPath": "/state"}]
        script = f"{count} || exit 1; {'sleep 1000' if policy == 'Always' else ''}"
        spec = {
            "restartPolicy": policy,
            "containers": [plain(script, volumeMounts=mounts)],
            "volumes": [{"name": "state", "emptyDir": {}}],
        }
        await node.create(name, spec)
        restarts = 1 if policy == "Always" else least

        def holds(pod: Object, phase: str = phase, restarts: int = restarts) -> bool:
            statuses = pod["status"].get("containerStatuses") or [{"restartCount": -1}]
            count: int = statuses[0]["restartCount"]
            return pod["status"]["phase"] == phase and count == restarts

        await node.until(name, holds)


INIT = "InitContainer should"


@promise(
    f"{INIT} invoke init containers on a RestartNever pod",
    f"{INIT} invoke init containers on a RestartAlways pod",
)
async def test_init_containers_run_first_and_in_order(node: Node, folder: Path) -> None:
    mounts = [{"name": "v", "mountPath": "/v"}]
    for policy, rest in (("Never", "true"), ("Always", "sleep 1000")):
        spec = {
            "restartPolicy": policy,
            "volumes": [{"name": "v", "emptyDir": {}}],
            "initContainers": [
                {**plain(f"printf {number} >> /v/f", volumeMounts=mounts), "name": f"init{number}"}
                for number in (1, 2)
            ],
            "containers": [plain(f'[ "$(cat /v/f)" = 12 ] && {rest}', volumeMounts=mounts)],
        }
        name = f"init-{policy.lower()}"
        await node.create(name, spec)
        phase = "Succeeded" if policy == "Never" else "Running"
        pod = await node.until(name, lambda pod, phase=phase: pod["status"]["phase"] == phase)
        codes = [one["state"]["terminated"]["exitCode"] for one in pod["status"]["initContainerStatuses"]]
        assert codes == [0, 0]
        initialized = find_condition(pod["status"]["conditions"], "Initialized")
        assert initialized is not None
        assert initialized["status"] == "True"


@promise(
    f"{INIT} not start app containers and fail the pod if init containers fail on a RestartNever pod",
    f"{INIT} not start app containers if init containers fail on a RestartAlways pod",
)
async def test_init_containers_that_fail_keep_the_others_from_starting(node: Node, folder: Path) -> None:
    for policy in ("Never", "Always"):
        spec = {
            "restartPolicy": policy,
            "initContainers": [{**plain("false"), "name": "init1"}, {**plain("true"), "name": "init2"}],
            "containers": [plain("true")],
        }
        await node.create(f"failing-{policy.lower()}", spec)
    pod = await node.until("failing-never", lambda pod: pod["status"]["phase"] == "Failed")
    assert "waiting" in pod["status"]["containerStatuses"][0]["state"]

    def tried_again(pod: Object) -> bool:
        statuses = pod["status"].get("initContainerStatuses") or [{"restartCount": 0}]
        return bool(statuses[0]["restartCount"] >= 1)

    pod = await node.until("failing-always", tried_again)
    assert pod["status"]["phase"] == "Pending"
    assert "waiting" in pod["status"]["containerStatuses"][0]["state"]
    initialized = find_condition(pod["status"]["conditions"], "Initialized")
    assert initialized is not None
    assert initialized["message"] == "containers with incomplete status: [init1 init2]"


BUSYBOX = "Kubelet when scheduling a busybox command that always fails in a pod should"


@promise(f"{BUSYBOX} have an terminated reason", f"{BUSYBOX} be possible to delete")
async def test_a_command_that_fails_has_a_reason_and_can_be_deleted(node: Node, folder: Path) -> None:
    await node.create("fails", {"containers": [plain("false")]})

    def reason(pod: Object) -> str:
        status = (pod["status"].get("containerStatuses") or [{}])[0]
        states = (status.get("state") or {}, status.get("lastState") or {})
        found: str = next((one["terminated"]["reason"] for one in states if "terminated" in one), "")
        return found

    assert reason(await node.until("fails", reason)) == "Error"
    await node.world.delete("fails")


@promise("Kubelet when scheduling a busybox command in a pod should print the output to logs")
async def test_what_a_command_prints_is_its_log(node: Node, folder: Path) -> None:
    await node.create("printing", once(plain("echo Hello World; sleep 0.1")))
    pod = await node.until("printing", lambda pod: pod["status"]["phase"] == "Running")
    container_id = pod["status"]["containerStatuses"][0]["containerID"].partition("://")[2]
    path = node.world.runtime.log_path(container_id)
    await eventually(lambda: path.exists() and "Hello World" in path.read_text(), PATIENCE_S)


@promise("Pods should allow activeDeadlineSeconds to be updated")
async def test_a_deadline_can_be_moved(node: Node, folder: Path) -> None:
    await node.create("deadline", {"containers": [plain("sleep 1000")], "activeDeadlineSeconds": 600})
    await node.until("deadline", lambda pod: pod["status"]["phase"] == "Running")
    await node.world.client.patch(PODS, "deadline", {"spec": {"activeDeadlineSeconds": 1}}, NAMESPACE)
    pod = await node.until("deadline", lambda pod: pod["status"]["phase"] == "Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"


@promise(
    "Ephemeral Containers will start an ephemeral container in an existing pod",
    "Ephemeral Containers should update the ephemeral containers in an existing pod",
)
async def test_ephemeral_containers_come_later(node: Node, folder: Path) -> None:
    await node.create("debugged", {"containers": [plain("sleep 1000")]})
    await node.until("debugged", lambda pod: pod["status"]["phase"] == "Running")
    for count in (1, 2):
        debuggers = [
            {**shell("printf polo; sleep 0.1"), "name": f"debugger-{number}"} for number in range(count)
        ]
        patch = {"spec": {"ephemeralContainers": debuggers}}
        await node.world.client.patch(
            PODS, "debugged", patch, NAMESPACE, type="strategic", subresource="ephemeralcontainers"
        )

        def done(pod: Object, count: int = count) -> bool:
            statuses = pod["status"].get("ephemeralContainerStatuses") or ()
            return [one["state"].get("terminated", {}).get("message") for one in statuses] == ["polo"] * count

        await node.until("debugged", done)


CONTEXT = "Security Context should support"


@as_root
@promise(
    "Security Context When creating a container with runAsUser should run the container with uid 65534",
    f"{CONTEXT} pod.Spec.SecurityContext.RunAsUser And pod.Spec.SecurityContext.RunAsGroup",
    f"{CONTEXT} container.SecurityContext.RunAsUser And container.SecurityContext.RunAsGroup",
)
async def test_containers_run_as_who_they_should(node: Node, folder: Path) -> None:
    script = "id -u; id -g"
    own = {"securityContext": {"runAsUser": 65534}}
    both = {"securityContext": {"runAsUser": 1001, "runAsGroup": 2002}}
    await node.create("as-nobody", volume_pod("id -u", container=own))
    await node.create("as-pod-says", volume_pod(script, **both))
    await node.create(
        "as-container-says", volume_pod(script, container=both, securityContext={"runAsUser": 7})
    )
    assert await node.said("as-nobody") == "65534"
    assert await node.said("as-pod-says") == "1001\n2002"
    assert await node.said("as-container-says") == "1001\n2002"


@pytest.mark.skipif(not LIST.exists(), reason="the list of promises is not here")
def test_the_promises_kept_here_are_public_ones() -> None:
    lines = [re.sub(r"\[[^]]*\]", "", line) for line in LIST.read_text().splitlines()]
    assert {" ".join(line.split()) for line in lines} >= KEPT
