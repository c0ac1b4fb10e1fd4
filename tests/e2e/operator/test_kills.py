"""`kill -9` in the middle of the work, again and again, and `steer run` once more: all is there, nothing twice."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.kubectl import Kubectl
from tests.support.steer import Steer

from .operators import running, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.usefixtures("webapps")]

PROGRAM = Path(__file__).with_name("quick_webapp.py")
APPS = 30
SCALES = 3
#: In each chapter, and of all those so many at least in the middle of the work.
KILLS = 2
ENOUGH_KILLS = 5
SEED = 4


class Namespace:
    """What is in a namespace, asked of the API directly: kubectl takes too long to start."""

    def __init__(self, server: Steer, name: str) -> None:
        self._api = server.api
        self._name = name

    def _items(self, version: str, plural: str) -> dict[str, Any]:
        answer = self._api.get(f"{version}/namespaces/{self._name}/{plural}")
        assert answer.status == 200, answer.text
        return {item["metadata"]["name"]: item for item in answer.json["items"]}

    @property
    def apps(self) -> dict[str, Any]:
        return self._items("/apis/example.com/v1", "webapps")

    @property
    def deployments(self) -> dict[str, Any]:
        return self._items("/apis/apps/v1", "deployments")

    @property
    def services(self) -> dict[str, Any]:
        return self._items("/api/v1", "services")

    def scaled(self, replicas: int) -> int:
        return sum(each["spec"]["replicas"] == replicas for each in self.deployments.values())

    def converged(self, replicas: int) -> bool:
        """Every app has its two children, and says so."""
        apps, deployments, services = self.apps, self.deployments, self.services
        if not apps.keys() == deployments.keys() == services.keys() or self.scaled(replicas) != len(apps):
            return False
        for name, app in apps.items():
            if app.get("status", {}).get("observedGeneration") != app["metadata"]["generation"]:
                return False
            for child in (deployments[name], services[name]):
                owners = [owner["uid"] for owner in child["metadata"]["ownerReferences"]]
                assert owners == [app["metadata"]["uid"]]
        return True


@dataclass(frozen=True, slots=True)
class Chapter:
    """Something to do for all apps: how far it is, and whether it is done."""

    begin: Callable[[], object]
    progress: Callable[[], int]
    done: Callable[[], bool]


def chapters(kubectl: Kubectl, app: Any, here: Namespace) -> Iterator[Chapter]:
    """Create, scale some times, delete."""
    for replicas in range(1, SCALES + 1):
        wanted = [app(f"web-{number}", replicas=replicas) for number in range(APPS)]
        yield Chapter(
            partial(kubectl.apply, *wanted), partial(here.scaled, replicas), partial(here.converged, replicas)
        )
    yield Chapter(
        lambda: kubectl("delete", "webapps", "--all", "--wait=false"),
        lambda: APPS - len(here.apps),
        lambda: not (here.apps or here.deployments or here.services),
    )


def test_an_operator_that_is_killed_again_and_again_gets_there(
    server: Steer, kubectl: Kubectl, app: Any, tmp_path: Path
) -> None:
    here = Namespace(server, kubectl.namespace)
    chance = random.Random(SEED)
    started = partial(running, PROGRAM, server.kubeconfig, tmp_path / "log", "--namespace", kubectl.namespace)
    kills = 0
    for number, chapter in enumerate(chapters(kubectl, app, here), 1):
        chapter.begin()
        for _ in range(KILLS):
            far = min(chapter.progress() + chance.randint(1, APPS // KILLS - 1), APPS)
            with started() as operator:
                until(lambda: operator.alive and chapter.progress() >= far)  # noqa: B023
                operator.kill()
            kills += not chapter.done()
        with started() as operator:
            operator.wait_ready()
            until(lambda: operator.alive and chapter.done())  # noqa: B023
            assert operator.stop() == 0
        generations = {each["metadata"]["generation"] for each in here.deployments.values()}
        assert generations <= {number}, "a child was changed more often than its app"
    assert kills >= ENOUGH_KILLS, "it was killed too late to show anything"
