"""A node's agent, its keeper, the process that carries connections and the API server are killed at random
while things change and a service is asked; in the end all is as it should be, and nothing is left over.

`STEERSMAN_CHAOS_S` says for how long, `STEERSMAN_CHAOS_SEED` repeats a run's choices.
"""

from __future__ import annotations

import http.client
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.living.parts import NAMESPACE, insist, is_ready, soon
from tests.e2e.nodes.machine_parts import (
    CORE,
    NODE,
    Asking,
    MachineParts,
    Traces,
    machine_parts,
    service,
    web,
)
from tests.support import waiting
from tests.support.waiting import pass_time_blocking

CHAOS_S = float(os.environ.get("STEERSMAN_CHAOS_S", "40"))
#: Containers that were killed often are started again after up to five minutes.
SETTLING_S = 90.0 if CHAOS_S < 100 else 400.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(CHAOS_S + SETTLING_S + 240)]

Object = dict[str, Any]

APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
WEB, WEB_REPLICAS = "web", 2
MOST_DEPLOYMENTS, MOST_REPLICAS = 4, 4
CHANGE_EVERY_S = 0.4
KILL_EVERY_S = 3.0
#: A keeper's end is that of all containers; so it is killed more rarely than others.
VICTIMS = {"agent": 4, "forwarder": 4, "server": 3, "keeper": 1}
#: Connections and timers that come and go by themselves.
SOME_DESCRIPTORS = 8


class Churn(threading.Thread):
    """Changes which pods are wanted, and remembers it."""

    def __init__(self, parts: MachineParts, choice: random.Random) -> None:
        super().__init__(name="churn", daemon=True)
        self._parts = parts
        self._choice = choice
        self._ended = threading.Event()
        self._numbers = iter(range(10**6))
        #: By Deployment: how many pods it is to have.
        self.wanted: dict[str, int] = {}
        self.changes = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        kinds: list[Callable[[], None]] = [self._add, self._scale, self._scale, self._remove, self._evict]
        try:
            while not self._ended.wait(CHANGE_EVERY_S):
                self._choice.choice(kinds)()
                self.changes += 1
        except BaseException as error:  # noqa: BLE001 - `end` raises it
            self.failure = error

    def end(self) -> None:
        self._ended.set()
        self.join()
        if self.failure is not None:
            raise self.failure

    def want(self, name: str, wanted: Object) -> None:
        path = f"{APPS}/deployments/{name}?fieldManager=churn&force=true"
        self.wanted[name] = wanted["spec"]["replicas"]
        insist(self._parts.api, "PATCH", path, wanted)

    def _add(self) -> None:
        if len(self.wanted) <= MOST_DEPLOYMENTS:
            name = f"idle-{next(self._numbers)}"
            self.want(name, _idle(name, self._choice.randint(0, MOST_REPLICAS)))

    def _scale(self) -> None:
        if idle := sorted(self.wanted.keys() - {WEB}):
            name = self._choice.choice(idle)
            self.want(name, _idle(name, self._choice.randint(0, MOST_REPLICAS)))

    def _remove(self) -> None:
        if len(self.wanted) > MOST_DEPLOYMENTS // 2:
            name = self._choice.choice(sorted(self.wanted.keys() - {WEB}))
            self.remove(name)

    def remove(self, name: str) -> None:
        del self.wanted[name]
        insist(self._parts.api, "DELETE", f"{APPS}/deployments/{name}", done=(404,))

    def _evict(self) -> None:
        try:
            pods = self._parts.pods()
        except (OSError, http.client.HTTPException):
            return
        if pods:
            name = self._choice.choice(pods)["metadata"]["name"]
            insist(self._parts.api, "DELETE", f"{CORE}/pods/{name}", done=(404,))


def _idle(name: str, replicas: int) -> Object:
    """Pods with volumes of several sorts, which do nothing."""
    labels = {"app": name}
    container = {
        "name": "idle",
        "image": "host/sleep",
        "args": ["100000"],
        "volumeMounts": [
            {"name": "settings", "mountPath": "/etc/settings"},
            {"name": "scratch", "mountPath": "/scratch"},
        ],
    }
    volumes = [
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "scratch", "emptyDir": {"medium": "Memory"}},
    ]
    spec = {"containers": [container], "volumes": volumes, "terminationGracePeriodSeconds": 1}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _kill_at_random(parts: MachineParts, choice: random.Random) -> list[str]:
    """Who was killed, in order."""
    killed = []
    deadline = time.monotonic() + CHAOS_S
    while time.monotonic() < deadline:
        (victim,) = choice.choices(list(VICTIMS), list(VICTIMS.values()))
        killed.append(victim)
        pause_s = choice.uniform(0, 1)
        if victim == "server":
            parts.kill_server()
            pass_time_blocking(pause_s, "how long it is gone")
            parts.start_server()
        elif victim == "agent":
            parts.agent.kill()
            pass_time_blocking(pause_s, "how long it is gone")
            parts.agent.start()
        else:
            parts.kill(parts.keeper if victim == "keeper" else parts.forwarder)
        pass_time_blocking(choice.uniform(0, KILL_EVERY_S), "until the next is killed")
    return killed


def test_whatever_is_killed_no_pod_is_lost_or_doubled_and_nothing_is_left(tmp_path: Path) -> None:
    seed = os.environ.get("STEERSMAN_CHAOS_SEED") or str(random.randrange(10**9))
    print(f"STEERSMAN_CHAOS_SEED={seed}")
    with machine_parts(tmp_path) as parts:
        parts.apply(f"{CORE}/configmaps/settings", _settings())
        before = parts.traces()
        parts.apply(f"{CORE}/services/{WEB}", service(WEB))
        churn = Churn(parts, random.Random(f"churn {seed}"))
        churn.want(WEB, web(WEB, WEB_REPLICAS))
        parts.running(WEB_REPLICAS)
        asking = Asking(parts.cluster_ip(WEB))
        churn.start()
        asking.start()
        killed = _kill_at_random(parts, random.Random(f"kill {seed}"))
        churn.end()
        settled_s = _settle(parts, churn)
        _check_answers(asking)
        pods = sum(churn.wanted.values())
        print(f"{churn.changes} changes; killed: {dict(Counter(killed))}; settled within {settled_s:.1f} s, "
              f"{pods} pods; {asking.answered} requests answered, {len(asking.failures)} not")  # fmt: skip
        _check_what_runs(parts)

        for name in list(churn.wanted):
            churn.remove(name)
        parts.ask("DELETE", f"{CORE}/services/{WEB}")
        soon(lambda: not parts.items(f"{CORE}/pods"))
        _check_nothing_is_left(parts, before)
        parts.agent.stop()
        soon(lambda: not parts.keeper)
        assert parts.addresses() == set()
        soon(lambda: not parts.groups())


def _settings() -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"colour": "blue"},
    }


def _settle(parts: MachineParts, churn: Churn) -> float:
    """How long it took until everything was as wanted."""
    began = time.monotonic()
    waiting.soon(
        lambda: not _unsettled(parts, churn), SETTLING_S, lambda _: _unsettled(parts, churn), every_s=0.5
    )
    return time.monotonic() - began


def _unsettled(parts: MachineParts, churn: Churn) -> list[str]:
    pods = parts.items(f"{CORE}/pods")
    there = Counter(pod["metadata"]["labels"]["app"] for pod in pods)
    ready = Counter(pod["metadata"]["labels"]["app"] for pod in pods if is_ready(pod))
    wrong = [
        f"{name}: {churn.wanted.get(name, 0)} wanted, {there[name]} there, {ready[name]} ready"
        for name in sorted(churn.wanted.keys() | there.keys())
        if not churn.wanted.get(name, 0) == there[name] == ready[name]
    ]
    if parts.node_ready(NODE) != "True":
        wrong.append("the node is not ready")
    return wrong


def _check_answers(asking: Asking) -> None:
    """The service answers again, by all of its connections."""
    answered, failed = asking.answered, len(asking.failures)

    def calm() -> bool:
        nonlocal answered, failed
        if len(asking.failures) > failed:
            answered, failed = asking.answered, len(asking.failures)
        return asking.answered > answered + 100

    soon(calm)
    asking.end()


def _check_what_runs(parts: MachineParts) -> None:
    """For every container one process and one group, for every pod one folder and one address of its own."""
    pods = parts.pods()
    containers = {container for container, _ in parts.restarts().values()}
    traces = parts.traces()
    assert traces.processes.keys() == containers
    assert [pids for pids in traces.processes.values() if len(pids) != 1] == []
    assert traces.pods == {pod["metadata"]["uid"] for pod in pods}
    addresses = [pod["status"]["podIP"] for pod in pods]
    assert len(set(addresses)) == len(addresses)
    if traces.addresses:
        assert traces.addresses == _lent(parts).union(addresses)
    if traces.groups:
        assert traces.groups == {container[:24] for container in containers}


def _check_nothing_is_left(parts: MachineParts, before: Traces) -> None:
    waiting.soon(
        lambda: not _left(parts, before), SETTLING_S, lambda _: str(_left(parts, before)), every_s=0.2
    )


def _lent(parts: MachineParts) -> set[str]:
    """Addresses that this machine has for the node and for services."""
    services = parts.items("/api/v1/services")
    found = {str(parts.ranges.node(1)), *(one["spec"].get("clusterIP", "None") for one in services)}
    return found - {"None", ""}


def _left(parts: MachineParts, before: Traces) -> list[str]:
    """What there is that was not there before there were pods."""
    now = parts.traces()
    left = [f"{name}: {getattr(now, name)}" for name in ("processes", "pods", "groups") if getattr(now, name)]
    if now.mounts != before.mounts:
        left.append(f"mounts: {now.mounts}")
    if now.addresses - _lent(parts):
        left.append(f"addresses: {now.addresses - _lent(parts)}")
    for name, count in now.descriptors.items():
        if count > before.descriptors[name] + SOME_DESCRIPTORS:
            left.append(f"descriptors of the {name}: {count}, before {before.descriptors[name]}")
    return left
