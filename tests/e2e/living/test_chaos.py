"""Every part of a cluster is killed at random while things change; in the end all is as it should be.

`STEERSMAN_CHAOS_S` says for how long, `STEERSMAN_CHAOS_SEED` repeats a run's choices.
"""

from __future__ import annotations

import http.client
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import waiting
from tests.support.waiting import pass_time_blocking

from .parts import NAMESPACE, Parts, deployment, insist, is_ready, soon, started

CHAOS_S = float(os.environ.get("STEERSMAN_CHAOS_S", "45"))
#: Until all that was begun is finished: leases run out, nodes are given up and come back.
SETTLING_S = 120.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(CHAOS_S + SETTLING_S + 120)]

Object = dict[str, Any]

APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
NODES = 4
#: There are never more Deployments at a time, with at most so many pods each.
MOST_DEPLOYMENTS, MOST_REPLICAS = 6, 5
JOB_COMPLETIONS = 3
CHANGE_EVERY_S = 0.2
KILL_EVERY_S = 3.0


class Churn(threading.Thread):
    """Changes what is wanted, and remembers it. What the API has not answered is said again."""

    def __init__(self, parts: Parts, choice: random.Random) -> None:
        super().__init__(name="churn", daemon=True)
        self._parts = parts
        self._choice = choice
        self._ended = threading.Event()
        self._numbers = iter(range(10**6))
        self.deployments: dict[str, Object] = {}
        self.kept: set[str] = set()
        self.jobs: set[str] = set()
        self.changes = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        kinds: list[Callable[[], None]] = [
            self._add, self._scale, self._roll, self._remove, self._keep, self._begin_job, self._evict,
        ]  # fmt: skip
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

    def _say(self, method: str, path: str, body: Any = None, *, done: tuple[int, ...] = ()) -> None:
        insist(self._parts.api, method, path, body, done=done)

    def _want(self, name: str, replicas: int, image: str) -> None:
        wanted = self.deployments[name] = deployment(name, replicas, image)
        self._say("PATCH", f"{APPS}/deployments/{name}?fieldManager=churn&force=true", wanted)

    def _add(self) -> None:
        if len(self.deployments) < MOST_DEPLOYMENTS:
            self._want(f"web-{next(self._numbers)}", self._choice.randint(0, MOST_REPLICAS), "app:1")

    def _scale(self) -> None:
        if self.deployments:
            name = self._choice.choice(sorted(self.deployments))
            self._want(name, self._choice.randint(0, MOST_REPLICAS), _image(self.deployments[name]))

    def _roll(self) -> None:
        if self.deployments:
            name = self._choice.choice(sorted(self.deployments))
            replicas = self.deployments[name]["spec"]["replicas"]
            self._want(name, replicas, f"app:{next(self._numbers)}")

    def _remove(self) -> None:
        if len(self.deployments) > MOST_DEPLOYMENTS // 2:
            name = self._choice.choice(sorted(self.deployments))
            del self.deployments[name]
            self._say("DELETE", f"{APPS}/deployments/{name}", done=(404,))

    def _keep(self) -> None:
        name = f"kept-{next(self._numbers)}"
        self._say("POST", f"{CORE}/configmaps", {"metadata": {"name": name}}, done=(409,))
        self.kept.add(name)

    def _begin_job(self) -> None:
        name = f"job-{next(self._numbers)}"
        self._say("POST", JOBS, _job(name), done=(409,))
        self.jobs.add(name)

    def _evict(self) -> None:
        """Delete any pod of a Deployment."""
        try:
            pods = [pod for pod in self._parts.pods() if "app" in pod["metadata"]["labels"]]
        except (OSError, http.client.HTTPException):
            return
        if pods:
            name = self._choice.choice(pods)["metadata"]["name"]
            self._say("DELETE", f"{CORE}/pods/{name}", done=(404,))


def _image(wanted: Object) -> str:
    image: str = wanted["spec"]["template"]["spec"]["containers"][0]["image"]
    return image


def _job(name: str) -> Object:
    template = {
        "metadata": {"annotations": {"simulated.steersman.dev/run-time": "0.5s"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "work", "image": "work:1"}]},
    }
    spec = {"completions": JOB_COMPLETIONS, "parallelism": 2, "backoffLimit": 100, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    with started(tmp_path) as parts:
        parts.start_controllers("controllers-a")
        parts.start_controllers("controllers-b")
        parts.start_scheduler()
        parts.start_nodes(NODES // 2, first=1)
        parts.start_nodes(NODES // 2, first=NODES // 2 + 1)
        soon(lambda: len(parts.items("/api/v1/nodes")) == NODES)
        yield parts


def _kill_at_random(parts: Parts, choice: random.Random) -> Counter[str]:
    """How often each part was killed."""
    killed: Counter[str] = Counter()
    deadline = time.monotonic() + CHAOS_S
    while time.monotonic() < deadline:
        name = choice.choice(["server", *parts.parts])
        killed[name] += 1
        if name == "server":
            parts.kill_server()
            pass_time_blocking(choice.uniform(0, 1), "how long it is gone")
            parts.start_server()
        else:
            parts.parts[name].kill()
            pass_time_blocking(choice.uniform(0, 1), "how long it is gone")
            parts.parts[name].start()
        pass_time_blocking(choice.uniform(0, KILL_EVERY_S), "until the next is killed")
    return killed


def test_a_cluster_whose_parts_are_killed_ends_where_it_should(parts: Parts) -> None:
    seed = os.environ.get("STEERSMAN_CHAOS_SEED") or str(random.randrange(10**9))
    print(f"STEERSMAN_CHAOS_SEED={seed}")
    churn = Churn(parts, random.Random(f"churn {seed}"))
    churn.start()
    killed = _kill_at_random(parts, random.Random(f"kill {seed}"))
    churn.end()
    print(f"{churn.changes} changes; killed: {dict(killed)}")
    assert churn.deployments
    assert churn.jobs

    _settle(parts, churn)
    _check_nothing_is_lost(parts, churn)
    _check_owners(parts)
    _check_jobs(parts)


def _settle(parts: Parts, churn: Churn) -> None:
    waiting.soon(
        lambda: not _unsettled(parts, churn), SETTLING_S, lambda _: _unsettled(parts, churn), every_s=0.5
    )


def _unsettled(parts: Parts, churn: Churn) -> list[str]:
    """What is not as it should be yet."""
    found = {item["metadata"]["name"]: item for item in parts.items(f"{APPS}/deployments")}
    wrong = sorted(found.keys() ^ churn.deployments.keys())
    pods = parts.items(f"{CORE}/pods")
    for name, wanted in churn.deployments.items():
        replicas = wanted["spec"]["replicas"]
        own = [pod for pod in pods if pod["metadata"]["labels"].get("app") == name]
        right = [
            pod for pod in own if is_ready(pod) and pod["spec"]["containers"][0]["image"] == _image(wanted)
        ]
        if not len(own) == len(right) == replicas == found.get(name, {}).get("status", {}).get("replicas", 0):
            wrong.append(f"{name}: {replicas} wanted, {len(own)} there, {len(right)} right")
    alive = {*churn.deployments, None}
    wrong += [pod["metadata"]["name"] for pod in pods if pod["metadata"]["labels"].get("app") not in alive]
    for job in parts.items(JOBS):
        if job["status"].get("succeeded") != JOB_COMPLETIONS or not job["status"].get("completionTime"):
            wrong.append(f"{job['metadata']['name']}: {job['status']}")
    return wrong


def _check_nothing_is_lost(parts: Parts, churn: Churn) -> None:
    assert churn.kept <= {item["metadata"]["name"] for item in parts.items(f"{CORE}/configmaps")}
    assert churn.jobs == {item["metadata"]["name"] for item in parts.items(JOBS)}
    for number in range(1, NODES + 1):
        assert parts.node_ready(f"node-{number}") == "True"


def _check_owners(parts: Parts) -> None:
    """Nothing is left of what is gone, and no two pods share an address."""
    alive = {
        item["metadata"]["uid"]
        for path in (f"{APPS}/deployments", f"{APPS}/replicasets", JOBS)
        for item in parts.items(path)
    }
    pods = parts.items(f"{CORE}/pods")
    for item in [*parts.items(f"{APPS}/replicasets"), *pods]:
        owners = [owner["uid"] for owner in item["metadata"]["ownerReferences"]]
        assert len(owners) == 1, item["metadata"]
        assert owners[0] in alive, item["metadata"]
    addresses = Counter(pod["status"]["podIP"] for pod in pods if pod["status"]["phase"] == "Running")
    assert not [address for address, count in addresses.items() if count > 1]


def _check_jobs(parts: Parts) -> None:
    """Exactly as many pods of a job succeeded as it asked for."""
    succeeded = Counter(
        pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]
        for pod in parts.items(f"{CORE}/pods")
        if pod["status"]["phase"] == "Succeeded"
    )
    assert set(succeeded.values()) <= {JOB_COMPLETIONS}, succeeded
