"""Promises about what is done with containers while they run: hooks, probes, paths that change.

All pods with probes are made at once, and their time passes while other tests are run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

import pytest

from steersman.objects.conditions import find_condition
from steersman.objects.resources import EVENTS, PODS
from steersman.objects.times import parse_time
from steersman.testing import eventually

from .running import (
    NAMESPACE,
    PATIENCE_S,
    STATE,
    STATE_MOUNT,
    Object,
    Running,
    is_ready,
    promise,
    promised,
    script,
)

_SLEEP = "exec sleep 600"
_PORT = 8080
_ADDRESS: Object = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}

# --- hooks

#: Prints what it is asked for.
_RECORDER = """
import http.server, os
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path, flush=True)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer((os.environ["POD_IP"], 8080), Answer).serve_forever()
"""


def recorder() -> Object:
    probe = {"tcpSocket": {"port": _PORT}, "periodSeconds": 1}
    container: Object = {"name": "main", "image": "host/python3", "args": ["-c", _RECORDER]}
    return {**container, "env": [_ADDRESS], "readinessProbe": probe}


_HOOK = "Container Lifecycle Hook when create a pod with lifecycle hook should execute"
HOOKS = {
    promised(f"{_HOOK} poststart exec hook properly"): ("postStart", "exec"),
    promised(f"{_HOOK} poststart http hook properly"): ("postStart", "httpGet"),
    promised(f"{_HOOK} prestop exec hook properly"): ("preStop", "exec"),
    promised(f"{_HOOK} prestop http hook properly"): ("preStop", "httpGet"),
    promised("PreStop should call prestop when killing a pod"): ("preStop", "killed"),
}


@pytest.mark.parametrize(("moment", "way"), HOOKS.values(), ids=HOOKS.keys())
def test_hooks_are_run(running: Running, moment: str, way: str) -> None:
    running.run(check_hook(running, moment, way))


async def check_hook(running: Running, moment: str, way: str) -> None:
    address = (await running.ready("recorder"))["status"]["podIP"]
    name = f"hook-{moment}-{way}".lower()
    asking = f"import urllib.request as r; r.urlopen('http://{address}:{_PORT}/{name}')"
    handlers: Object = {
        "httpGet": {"httpGet": {"host": address, "port": _PORT, "path": f"/{name}"}},
        "exec": {"exec": {"command": ["python3", "-c", asking]}},
        "killed": {"exec": {"command": ["sh", "-c", f'python3 -c "{asking}"; sleep 0.1']}},
    }
    container = script(_SLEEP, lifecycle={moment: handlers[way]})
    await running.pod(name, container, terminationGracePeriodSeconds=30)
    await running.ready(name)

    async def asked() -> bool:
        return f"/{name}" in (await running.client.logs("recorder")).split()

    if moment == "preStop":
        assert not await asked()
        await running.client.delete(PODS, name)
        await running.gone(PODS, name)
    await eventually(asked, PATIENCE_S)


# --- probes

#: Says that it is sick from a second after its start on, where it is asked for its health.
_SERVER = """
import http.server, os, time
began = time.monotonic()
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        sick = self.path == "/sick" and time.monotonic() - began > 1
        self.send_response(500 if sick else 200)
        self.end_headers()
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer((os.environ["POD_IP"], 8080), Answer).serve_forever()
"""
_GRPC = """
import concurrent.futures, grpc, os, sys, time
began = time.monotonic()
class Health(grpc.GenericRpcHandler):
    def service(self, details):
        sick = sys.argv[1] == "sick" and time.monotonic() - began > 1
        return grpc.unary_unary_rpc_method_handler(lambda *_: b"\\x08\\x02" if sick else b"\\x08\\x01")
server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
server.add_generic_rpc_handlers((Health(),))
server.add_insecure_port(os.environ["POD_IP"] + ":8080")
server.start()
server.wait_for_termination()
"""


def often(handler: Object, **more: Any) -> Object:
    return {**handler, "periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 10, **more}


#: Nothing is probed before the server is there, however slow the machine is.
_THERE = often({"tcpSocket": {"port": _PORT}}, failureThreshold=100)


def http_server(path: str) -> Object:
    liveness = often({"httpGet": {"path": path, "port": _PORT}} if path else {"tcpSocket": {"port": _PORT}})
    container: Object = {"name": "main", "image": "host/python3", "args": ["-c", _SERVER]}
    return {**container, "env": [_ADDRESS], "startupProbe": _THERE, "livenessProbe": liveness}


def grpc_server(health: str) -> Object:
    command = [sys.executable, "-c", _GRPC, health]
    probes = {"startupProbe": _THERE, "livenessProbe": often({"grpc": {"port": _PORT}})}
    return {"name": "main", "image": "host/sh", "command": command, "env": [_ADDRESS], **probes}


def health_file(then: str) -> Object:
    begun = {"exec": {"command": ["sh", "-c", "until [ -e /state/began ]; do sleep 0.1; done"]}}
    return script(
        f"echo ok > /state/health; touch /state/began; {then}",
        startupProbe=often(begun, timeoutSeconds=60),
        livenessProbe=often({"exec": {"command": ["cat", "/state/health"]}}),
        volumeMounts=[STATE_MOUNT],
    )


def readiness(command: str, **more: Any) -> Object:
    return script(_SLEEP, readinessProbe=often({"exec": {"command": [command]}}, **more))


_PROBING = "Probing container should"
WELL = {
    promised(f"{_PROBING} *not* be restarted with a /healthz http liveness probe"): http_server("/healthz"),
    promised(f"{_PROBING} *not* be restarted with a tcp:8080 liveness probe"): http_server(""),
    promised(f'{_PROBING} *not* be restarted with a exec "cat /tmp/health" liveness probe'): health_file(
        _SLEEP
    ),
    promised(f"{_PROBING} *not* be restarted with a GRPC liveness probe"): grpc_server("well"),
}
SICK = {
    promised(f"{_PROBING} be restarted with a /healthz http liveness probe"): http_server("/sick"),
    promised(f'{_PROBING} be restarted with a exec "cat /tmp/health" liveness probe'): health_file(
        f"sleep 1; rm /state/health; {_SLEEP}"
    ),
    promised(f"{_PROBING} be restarted with a GRPC liveness probe"): grpc_server("sick"),
}
PROBED = {
    **{f"well-{number}": one for number, one in enumerate(WELL.values())},
    **{f"sick-{number}": one for number, one in enumerate(SICK.values())},
    "never-ready": readiness("false"),
    "late-ready": readiness("true", initialDelaySeconds=4),
}
_DELAY_S = 4
#: For how long nothing must happen: several periods.
_QUIET_S = 4.0

if find_spec("grpc") is None:
    PROBED = {name: one for name, one in PROBED.items() if _GRPC not in one.get("command", ())}


#: Every number of restarts that the first of the sick ones was seen with.
_COUNTS: list[int] = []


@pytest.fixture(scope="module", autouse=True)
def made(running: Running) -> Iterator[None]:
    async def make() -> None:
        await running.pod("recorder", recorder())
        for name, container in PROBED.items():
            await running.pod(name, container, volumes=[STATE])

    async def count() -> None:
        async with running.client.watch(PODS, NAMESPACE, fields="metadata.name=sick-0") as events:
            async for event in events:
                if event.type == "MODIFIED":
                    _COUNTS.append(status_of(event.decode())["restartCount"])

    counting = running.start(count())
    running.run(make())
    yield
    counting.cancel()


def status_of(pod: Object) -> Object:
    statuses: list[Object] = pod["status"].get("containerStatuses") or [{"restartCount": 0, "state": {}}]
    return statuses[0]


def seconds(text: str) -> float:
    return parse_time(text).timestamp()


async def after_a_while(running: Running, name: str) -> Object:
    """The pod when its container has run for a while."""

    def old(pod: Object) -> bool:
        began = status_of(pod)["state"].get("running", {}).get("startedAt")
        now = datetime.now(UTC).timestamp()
        return bool(began and now - seconds(began) > _QUIET_S + _DELAY_S)

    pod = await running.until(PODS, name, old)
    assert status_of(pod)["restartCount"] == 0, pod["status"]
    return pod


def made_or_skipped(name: str) -> str:
    if name not in PROBED:
        pytest.skip("needs grpcio")
    return name


@pytest.mark.parametrize("number", range(len(SICK)), ids=SICK.keys())
def test_sick_containers_are_restarted(running: Running, number: int) -> None:
    name = made_or_skipped(f"sick-{number}")
    running.run(running.until(PODS, name, lambda pod: status_of(pod)["restartCount"] >= 1))
    notes = [event["note"] for event in running.run(running.client.list(EVENTS, NAMESPACE))]
    assert any(note.startswith("Liveness probe failed: ") for note in notes)


@promise("Probing container with readiness probe should not be ready before initial delay and never restart")
async def test_readiness_waits(running: Running) -> None:
    pod = await running.ready("late-ready")
    ready = find_condition(pod["status"]["conditions"], "Ready")
    assert ready is not None
    began = status_of(pod)["state"]["running"]["startedAt"]
    # Times are shown in whole seconds.
    assert seconds(ready["lastTransitionTime"]) - seconds(began) >= _DELAY_S - 1
    assert is_ready(await after_a_while(running, "late-ready"))


@promise("Probing container with readiness probe that fails should never be ready and never restart")
async def test_readiness_fails(running: Running) -> None:
    pod = await after_a_while(running, "never-ready")
    ready = find_condition(pod["status"]["conditions"], "Ready")
    assert ready is not None
    assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")


@pytest.mark.parametrize("number", range(len(WELL)), ids=WELL.keys())
def test_healthy_containers_are_left_alone(running: Running, number: int) -> None:
    name = made_or_skipped(f"well-{number}")
    assert is_ready(running.run(after_a_while(running, name)))


# --- paths with variables


def paths(**variable: Any) -> Object:
    mount = {"name": "work", "mountPath": "/logs", "subPathExpr": "$(WHERE)"}
    return script("echo fine", env=[{"name": "WHERE", **variable}], volumeMounts=[mount])


_VOLUMES = [{"name": "work", "emptyDir": {}}]
_EXPANSION = "Variable Expansion should"
_FAILING = f"{_EXPANSION} fail substituting values in a volume subpath with"
REFUSED = {
    promised(f"{_FAILING} backticks"): "..",
    promised(f"{_FAILING} absolute path"): "/tmp",
}


def refused(pod: Object) -> bool:
    waiting: Object = status_of(pod)["state"].get("waiting") or {}
    return waiting.get("reason") == "CreateContainerConfigError"


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED.keys())
def test_paths_that_lead_elsewhere_are_refused(running: Running, value: str) -> None:
    async def check() -> None:
        name = f"path-{list(REFUSED.values()).index(value)}"
        await running.pod(name, paths(value=value), volumes=_VOLUMES)
        await running.until(PODS, name, refused)
        await running.client.delete(PODS, name)
        await running.gone(PODS, name)

    running.run(check())


@promise(
    f"{_EXPANSION} verify that a failing subpath expansion can be modified during the lifecycle of a container"
)
async def test_paths_can_become_right(running: Running) -> None:
    where = {"fieldRef": {"fieldPath": "metadata.annotations['where']"}}
    await running.pod("path-later", paths(valueFrom=where), volumes=_VOLUMES, restartPolicy="Never")
    await running.until(PODS, "path-later", refused)
    await running.change(PODS, "path-later", {"metadata": {"annotations": {"where": "here"}}})
    await running.phase("path-later", "Succeeded")


@promise("KubeletManagedEtcHosts should test kubelet managed /etc/hosts file")
async def test_hosts_files_are_managed_where_nobody_brings_one(running: Running) -> None:
    managed = "grep -c '^# Kubernetes-managed hosts file.$' /etc/hosts || true"
    host = [{"name": "hosts", "hostPath": {"path": "/etc/hosts", "type": "File"}}]
    own = script(managed, volumeMounts=[{"name": "hosts", "mountPath": "/etc/hosts"}])
    once = {"restartPolicy": "Never"}
    await running.pod("hosts-managed", script(managed), **once)
    await running.pod("hosts-own", own, volumes=host, **once)
    await running.pod("hosts-of-host", script(managed), hostNetwork=True, **once)
    for name, count in (("hosts-managed", "1"), ("hosts-own", "0"), ("hosts-of-host", "0")):
        await running.phase(name, "Succeeded")
        assert (await running.client.logs(name)).strip() == count


# --- what takes longest


@promise(f"{_PROBING} have monotonically increasing restart count")
async def test_restarts_are_counted(running: Running) -> None:
    await eventually(lambda: 2 in _COUNTS, PATIENCE_S)
    assert set(_COUNTS) >= {0, 1, 2}
    assert sorted(_COUNTS) == _COUNTS
