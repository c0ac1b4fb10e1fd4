"""Promises about containers that start, say something and end: kept by programs on this machine.

All pods that run to their end are made at once; each test waits for its own.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson
import pytest

from steersman.http import Client as Http
from steersman.http import client_tls
from steersman.objects.conditions import find_condition
from steersman.objects.resources import PODS
from steersman.objects.times import parse_time
from steersman.testing import eventually

from .running import NAMESPACE, PATIENCE_S, Object, Running, promise, promised, script

ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason="only root may become somebody else")

_SLEEP = "exec sleep 600"
_GENERATOR = f"for n in $(seq 100); do echo line $n; done; {_SLEEP}"


class Promise(NamedTuple):
    name: str
    containers: list[Object]
    #: What is said at the end: the whole of it, or an expression found in it.
    says: str | re.Pattern[str]
    #: Where it is said: in the log, or as the container's last words.
    where: str = "log"
    phase: str = "Succeeded"
    spec: Object = {}  # noqa: RUF012 - never changed


def last_words() -> Iterator[Promise]:
    title = "Container Runtime blackbox test on terminated container should report termination message"
    fallback = "TerminationMessagePolicy FallbackToLogsOnError is set"
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}

    def case(name: str, text: str, says: str, phase: str = "Succeeded", **fields: Any) -> Promise:
        return Promise(promised(f"{title} {name}"), [script(text, **fields)], says, "message", phase)

    yield case(f"as empty when pod succeeds and {fallback}", "printf DONE; true", "", **policy)
    yield case(
        f"from file when pod succeeds and {fallback}",
        "printf OK > /dev/termination-log; echo DONE; true",
        "OK",
        **policy,
    )
    yield case(f"from log output if {fallback}", "printf DONE; false", "DONE", "Failed", **policy)
    path = "/dev/termination-custom-log"
    own: Object = {"terminationMessagePath": path, "securityContext": {"runAsUser": 10000} if ROOT else {}}
    yield case(
        "if TerminationMessagePath is set as non-root user and at a non-default path",
        f"printf DONE > {path}",
        "DONE",
        **own,
    )


def overridden() -> Iterator[Promise]:
    """`tester` is an image that says `default command` unless it is told something else."""

    def case(name: str, says: str, **fields: Any) -> Promise:
        container = {"name": "main", "image": "tester:v1", **fields}
        return Promise(promised(f"Containers should {name}"), [container], says)

    yield case("use the image defaults if command and args are blank", "default command\n")
    yield case(
        "be able to override the image's default arguments (container cmd)",
        "default override arguments\n",
        args=["override", "arguments"],
    )
    yield case(
        "be able to override the image's default command (container entrypoint)",
        "override command\n",
        command=["echo", "override", "command"],
    )
    yield case(
        "be able to override the image's default command and arguments",
        "override command override arguments\n",
        command=["echo", "override", "command"],
        args=["override", "arguments"],
    )


def secured() -> Iterator[Promise]:
    title = "Security Context"

    def case(name: str, text: str, says: Any, context: Object, **spec: Any) -> Promise:
        container = script(text, securityContext=context)
        return Promise(promised(name), [container], says, spec=spec)

    ids = "id -u; id -g"
    yield case(
        f"{title} When creating a container with runAsUser should run the container with uid 65534",
        "id -u",
        "65534\n",
        {"runAsUser": 65534},
    )
    yield case(
        f"{title} should support pod.Spec.SecurityContext.RunAsUser And pod.Spec.SecurityContext.RunAsGroup",
        ids,
        "1001\n2002\n",
        {},
        securityContext={"runAsUser": 1001, "runAsGroup": 2002},
    )
    yield case(
        f"{title} should support container.SecurityContext.RunAsUser And container.SecurityContext.RunAsGroup",
        ids,
        "1001\n2002\n",
        {"runAsUser": 1001, "runAsGroup": 2002},
        securityContext={"runAsUser": 7},
    )
    yield case(
        f"{title} When creating a pod with privileged should run the container as unprivileged when false",
        "mkdir /tmp/m; mount -t tmpfs none /tmp/m || echo not permitted; ip link add dummy0 type dummy || "
        "echo not permitted",
        "not permitted\nnot permitted\n",
        {"privileged": False},
    )
    yield case(
        f"{title} When creating a pod with readOnlyRootFilesystem should run the container with writable "
        "rootfs when readOnlyRootFilesystem=false",
        "touch /checkfile && echo written",
        "written\n",
        {"readOnlyRootFilesystem": False},
    )
    yield case(
        "Kubelet when scheduling a read only busybox container should not write to root filesystem",
        "echo test > /file || true",
        re.compile("Read-only file system", re.IGNORECASE),
        {"readOnlyRootFilesystem": True},
    )
    escalation = f"{title} when creating containers with AllowPrivilegeEscalation should not allow privilege"
    container: Object = {"name": "main", "image": "escalating:v1"}
    container["securityContext"] = {"runAsUser": 1000, "allowPrivilegeEscalation": False}
    yield Promise(promised(f"{escalation} escalation when false"), [container], "1000\n")
    setting = {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}
    yield case(
        "Sysctls should support sysctls",
        "cat /proc/sys/kernel/shm_rmid_forced",
        "1\n",
        {},
        securityContext=setting,
    )


def others() -> Iterator[Promise]:
    yield Promise(
        promised("Kubelet when scheduling a busybox command in a pod should print the output to logs"),
        [script("echo Hello World")],
        "Hello World\n",
    )
    volume = {"name": "image", "image": {"reference": "tester:v1", "pullPolicy": "Always"}}
    mount = {"name": "image", "mountPath": "/volume"}
    yield Promise(
        promised("ImageVolume should succeed with pod and pull policy of Always"),
        [script("cat /volume/dir/file /volume/file", volumeMounts=[mount])],
        "12",
        spec={"volumes": [volume]},
    )


OPEN = [*last_words(), *overridden(), *others()]
#: What only root can keep.
ROOTS = list(secured())


def make_images(running: Running) -> None:
    tester = running.folder / "tester"
    (tester / "dir").mkdir(parents=True)
    (tester / "dir" / "file").write_text("1")
    (tester / "file").write_text("2")
    config = {"entrypoint": ["echo", "default"], "cmd": ["command"]}
    (tester / "image.json").write_bytes(orjson.dumps(config))
    running.images.add("tester:v1", tester)
    escalating = running.folder / "escalating"
    escalating.mkdir()
    program = escalating / "who-am-i"
    shutil.copyfile(str(shutil.which("id")), program)
    program.chmod(0o4755)
    (escalating / "image.json").write_bytes(orjson.dumps({"entrypoint": ["/who-am-i", "-u"]}))
    running.images.add("escalating:v1", escalating)


def pod_name(one: Promise) -> str:
    return f"c{[*OPEN, *ROOTS].index(one)}"


@pytest.fixture(scope="module", autouse=True)
def made(running: Running) -> None:
    make_images(running)

    async def make() -> None:
        await begin(running)
        for one in (*OPEN, *(ROOTS if ROOT else ())):
            await running.pod(pod_name(one), *one.containers, restartPolicy="Never", **one.spec)

    running.run(make())


async def check(running: Running, one: Promise) -> None:
    name = pod_name(one)
    pod = await running.until(PODS, name, lambda pod: pod["status"]["phase"] in ("Succeeded", "Failed"))
    assert pod["status"]["phase"] == one.phase, (pod["status"], await running.client.logs(name))
    terminated = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    said = terminated.get("message", "") if one.where == "message" else await running.client.logs(name)
    if isinstance(one.says, str):
        assert said.endswith(one.says) if one in ROOTS else said == one.says, said
    else:
        assert one.says.search(said), said


@pytest.mark.parametrize("one", OPEN, ids=[one.name for one in OPEN])
def test_containers_say_what_was_promised(running: Running, one: Promise) -> None:
    running.run(check(running, one))


@as_root
@pytest.mark.parametrize("one", ROOTS, ids=[one.name for one in ROOTS])
def test_containers_may_what_was_promised(running: Running, one: Promise) -> None:
    running.run(check(running, one))


# --- ends


_FAILS = "Kubelet when scheduling a busybox command that always fails in a pod should"


@promise(f"{_FAILS} have an terminated reason")
async def test_failures_have_a_reason(running: Running) -> None:
    await running.pod("fails", script("/bin/false"), restartPolicy="Never")
    (status,) = (await running.phase("fails", "Failed"))["status"]["containerStatuses"]
    assert (status["state"]["terminated"]["reason"], status["state"]["terminated"]["exitCode"]) == (
        "Error",
        1,
    )


@promise(f"{_FAILS} be possible to delete")
async def test_failures_can_be_deleted(running: Running) -> None:
    await running.pod("fails-forever", script("/bin/false"))
    await running.client.delete(PODS, "fails-forever")
    await running.gone(PODS, "fails-forever")


@promise("Pods should allow activeDeadlineSeconds to be updated")
async def test_a_deadline_can_be_moved(running: Running) -> None:
    await running.pod("deadline", script(_SLEEP), activeDeadlineSeconds=600)
    await running.phase("deadline", "Running")
    await running.change(PODS, "deadline", {"spec": {"activeDeadlineSeconds": 1}})
    pod = await running.phase("deadline", "Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"


# --- init containers


def initialized(pod: Object) -> str:
    condition = find_condition(pod["status"].get("conditions"), "Initialized")
    return "" if condition is None else str(condition["status"])


async def make_initialized(running: Running, policy: str, then: str) -> Object:
    """What follows finds that those before it have run, in their order."""
    mounts = [{"name": "data", "mountPath": "/data"}]
    init = [
        script(f"printf {number} >> /data/order", f"init{number}", volumeMounts=mounts) for number in (1, 2)
    ]
    main = script(f'[ "$(cat /data/order)" = 12 ] && {then}', volumeMounts=mounts)
    volumes = [{"name": "data", "emptyDir": {}}]
    name = f"init-{policy.lower()}"
    await running.pod(name, main, restartPolicy=policy, initContainers=init, volumes=volumes)
    pod = await running.phase(name, "Succeeded" if policy == "Never" else "Running")
    assert initialized(pod) == "True"
    codes = [one["state"]["terminated"]["exitCode"] for one in pod["status"]["initContainerStatuses"]]
    assert codes == [0, 0]
    return pod


_UNINITIALIZED = [script("/bin/false", "init1"), script("/bin/true", "init2")]


@promise("InitContainer should invoke init containers on a RestartNever pod")
async def test_init_containers_of_a_pod_that_ends(running: Running) -> None:
    pod = await make_initialized(running, "Never", "true")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


@promise("InitContainer should invoke init containers on a RestartAlways pod")
async def test_init_containers_of_a_pod_that_goes_on(running: Running) -> None:
    await make_initialized(running, "Always", _SLEEP)


@promise(
    "InitContainer should not start app containers and fail the pod if init containers fail on a RestartNever pod"
)
async def test_init_containers_that_fail_end_a_pod(running: Running) -> None:
    await running.pod("uninitialized", script(_SLEEP), restartPolicy="Never", initContainers=_UNINITIALIZED)
    pod = await running.phase("uninitialized", "Failed")
    assert initialized(pod) == "False"
    assert pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
    assert "waiting" in pod["status"]["containerStatuses"][0]["state"]


# --- ephemeral containers


async def add_debugger(running: Running, pod: str, name: str) -> None:
    found = await running.client.get(PODS, pod)
    debuggers = found["spec"].get("ephemeralContainers") or []
    debugger = script("echo marco; echo polo", name, targetContainerName="main")
    change = {"spec": {"ephemeralContainers": [*debuggers, debugger]}}
    await running.change(PODS, pod, change, "ephemeralcontainers")

    async def spoke() -> bool:
        return "polo" in await running.client.logs(pod, container=name)

    await eventually(spoke, PATIENCE_S)


@promise("Ephemeral Containers will start an ephemeral container in an existing pod")
async def test_an_ephemeral_container(running: Running) -> None:
    await running.pod("ephemeral", script(_SLEEP))
    await running.phase("ephemeral", "Running")
    await add_debugger(running, "ephemeral", "debugger")


@promise("Ephemeral Containers should update the ephemeral containers in an existing pod")
async def test_ephemeral_containers(running: Running) -> None:
    await running.pod("ephemerals", script(_SLEEP))
    await running.phase("ephemerals", "Running")
    names = ["debugger-1", "debugger-2"]
    for name in names:
        await add_debugger(running, "ephemerals", name)
    pod = await running.client.get(PODS, "ephemerals")
    assert [one["name"] for one in pod["spec"]["ephemeralContainers"]] == names
    assert len(pod["status"]["ephemeralContainerStatuses"]) == 2


# --- logs and commands


async def received(running: Running, pod: str, rest: str, protocol: str) -> list[bytes]:
    """All that comes by a WebSocket."""
    cluster = running.cluster
    headers = [(b"Authorization", f"Bearer {cluster.token}".encode())]
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/{rest}"
    async with (
        asyncio.timeout(PATIENCE_S),
        Http(cluster.url, ssl=client_tls(ca=cluster.authority.pem)) as http,
    ):
        socket = await http.websocket(path, (protocol,), headers=headers)
        assert socket.subprotocol == protocol
        return [message async for message in socket if isinstance(message, bytes)]


@promise("Pods should support remote command execution over websockets")
async def test_commands_by_websocket(running: Running) -> None:
    await running.pod("websocket-exec", script(_SLEEP))
    await running.phase("websocket-exec", "Running")
    rest = "exec?stderr=1&stdout=1&container=main&command=echo&command=remote%20execution%20test"
    got = await received(running, "websocket-exec", rest, "channel.k8s.io")
    assert {message[:1] for message in got if len(message) > 1} == {b"\x01"}
    assert b"".join(message[1:] for message in got) == b"remote execution test\n"


@promise("Pods should support retrieving logs from the container over websockets")
async def test_logs_by_websocket(running: Running) -> None:
    await running.pod("websocket-logs", script(f"echo container is alive; {_SLEEP}"))
    await running.phase("websocket-logs", "Running")

    async def alive() -> bool:
        got = await received(running, "websocket-logs", "log?container=main", "binary.k8s.io")
        return b"".join(got) == b"container is alive\n"

    await eventually(alive, PATIENCE_S)


@promise("Kubectl logs logs should be able to retrieve and filter logs")
async def test_logs_by_kubectl(running: Running) -> None:
    await running.kubectl(
        "run", "logs-generator", "--image=host/sh", "--restart=Never", "--", "-c", _GENERATOR
    )

    async def logs(*options: str) -> str:
        return (await running.kubectl("logs", "logs-generator", "logs-generator", *options)).out

    async def all_there() -> bool:
        return "line 100\n" in await logs()

    await running.phase("logs-generator", "Running")
    await eventually(all_there, PATIENCE_S)
    assert await logs("--tail=1") == "line 100\n"
    assert await logs("--limit-bytes=1") == "l"
    moment, _, rest = (await logs("--tail=1", "--timestamps")).partition(" ")
    assert rest == "line 100\n"
    parse_time(moment)

    async def aged() -> bool:
        return await logs("--since=1s") == ""

    await eventually(aged, PATIENCE_S)
    assert len((await logs("--since=24h")).splitlines()) == 100
    await running.kubectl("delete", "pod", "logs-generator", "--grace-period=0", "--force")


# --- containers that are restarted, the second time after ten seconds

#: The first run fails, the second succeeds, the third goes on.
_THREE_RUNS = """
echo hello >> /restarts/count
case $(wc -l < /restarts/count) in 1) exit 1;; 2) exit 0;; esac
exec sleep 600
"""
#: By restart policy: phase, state, restarts, and whether it is ready.
_ENDS = {
    "Always": ("Running", "running", 2, True),
    "OnFailure": ("Succeeded", "terminated", 1, False),
    "Never": ("Failed", "terminated", 0, False),
}


async def begin(running: Running) -> None:
    """Their waits pass while other tests are run."""
    await running.pod("uninitialized-forever", script(_SLEEP), initContainers=_UNINITIALIZED)
    mounts = [{"name": "restarts", "mountPath": "/restarts"}]
    volumes = [{"name": "restarts", "emptyDir": {"medium": "Memory"}}]
    for policy in _ENDS:
        container = script(_THREE_RUNS, volumeMounts=mounts)
        await running.pod(f"ends-{policy.lower()}", container, volumes=volumes, restartPolicy=policy)


@promise(
    "Container Runtime blackbox test when starting a container that exits should run with the expected status"
)
async def test_ends_and_restart_policies(running: Running) -> None:
    for policy, (phase, state, restarts, ready) in _ENDS.items():

        def holds(pod: Object, phase: str = phase, restarts: int = restarts, ready: bool = ready) -> bool:
            (status,) = pod["status"].get("containerStatuses") or [{}]
            found = (pod["status"]["phase"], status.get("restartCount"), status.get("ready"))
            return found == (phase, restarts, ready)

        name = f"ends-{policy.lower()}"
        pod = await running.until(PODS, name, holds)
        assert list(pod["status"]["containerStatuses"][0]["state"]) == [state]
        await running.client.delete(PODS, name)
        await running.gone(PODS, name)


@promise("InitContainer should not start app containers if init containers fail on a RestartAlways pod")
async def test_init_containers_that_fail_are_tried_again(running: Running) -> None:
    def tried(pod: Object) -> bool:
        statuses = pod["status"].get("initContainerStatuses") or [{"restartCount": 0}]
        return bool(statuses[0]["restartCount"] >= 2)

    pod = await running.until(PODS, "uninitialized-forever", tried)
    assert (pod["status"]["phase"], initialized(pod)) == ("Pending", "False")
    condition = find_condition(pod["status"]["conditions"], "Initialized")
    assert condition is not None
    assert condition["message"] == "containers with incomplete status: [init1 init2]"
    assert "waiting" in pod["status"]["containerStatuses"][0]["state"]
