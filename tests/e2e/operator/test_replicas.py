"""Replicas of an operator, and a leader that is killed, paused or cut off in the middle of its work.

Another takes over and finishes it, and no child is written by a leader after one of a later term has written:
neither do leaders that are no longer, nor do their requests that arrive late.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.cli.loading import load
from steersman.client import Client
from steersman.objects.builders import Deployment, Service
from steersman.operator.fencing import fencing_policy
from steersman.operator.terms import TERM
from tests.support.postgres_server import postgres_server
from tests.support.redis_server import redis_server
from tests.support.steer import Steer, running

from .operators import EXAMPLES
from .replicas import Engine, Fleet, Replica, until

pytestmark = pytest.mark.slow

WEBAPP = load(str(EXAMPLES / "06-webapp" / "webapp.py")).module
WebApp: Any = WEBAPP.WebApp

APPS = [f"web-{number}" for number in range(30)]
HALF = len(APPS) // 2

AUDITED = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "RequestResponse",
            "verbs": ["create", "update", "patch"],
            "resources": [
                {"group": "apps", "resources": ["deployments"]},
                {"group": "", "resources": ["services"]},
            ],
        },
        {"level": "None"},
    ],
}


@dataclass(frozen=True)
class Audited:
    """A server that notes every attempt to write a child."""

    server: Steer
    log: Path

    def refused_terms(self, namespace: str) -> set[str]:
        """The terms of attempts that the policy refused."""
        whole, _, _ = self.log.read_text().rpartition("\n")
        events = [json.loads(line) for line in whole.splitlines()]
        return {
            event["requestObject"]["metadata"]["annotations"][TERM]
            for event in events
            if event["objectRef"]["namespace"] == namespace and event["responseStatus"]["code"] == 403
        }


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    folder = tmp_path_factory.mktemp("audited")
    policy, log = folder / "policy.yaml", folder / "audit.log"
    policy.write_text(json.dumps(AUDITED))
    options = ("--controllers", "none", "--audit-policy", str(policy), "--audit-log", str(log))
    with running(*options, data=folder / "cluster") as server:
        for manifest in (WebApp.crd(), *fencing_policy([WEBAPP.op])):
            _post(server, manifest)
        yield Audited(server, log)


def _post(server: Steer, manifest: dict[str, Any]) -> None:
    plurals = {
        "CustomResourceDefinition": "customresourcedefinitions",
        "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
        "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    }
    answer = server.api.post(f"/apis/{manifest['apiVersion']}/{plurals[manifest['kind']]}", manifest)
    assert answer.status == 201, answer.text


@pytest.fixture(params=["lease", "redis", "postgres"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "redis":
        with redis_server() as redis:
            yield Engine("redis", redis.socket, lambda port: f"redis://127.0.0.1:{port}/0")
    elif request.param == "postgres":
        with postgres_server() as postgres:
            address = "postgresql://postgres@127.0.0.1:{}/postgres?sslmode=disable"
            yield Engine("postgres", postgres.socket, address.format)
    else:
        yield Engine("lease")


class Apps:
    """What the user wants, and whether it is so."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._version = 0

    @property
    def image(self) -> str:
        return f"nginx:1.{self._version}"

    async def create(self) -> None:
        for name in APPS:
            metadata = {"name": name, "namespace": self._namespace}
            await self._client.create(
                WebApp.from_object({"metadata": metadata, "spec": {"image": self.image}})
            )
        await self.converge()

    def next_version(self) -> None:
        self._version += 1

    async def roll_out(self, names: Iterable[str]) -> None:
        """All at once, so that the operator has work to do when this is over."""
        patch = {"spec": {"image": self.image}}
        await asyncio.gather(*(self._client.patch(WebApp, name, patch, self._namespace) for name in names))

    async def converge(self) -> None:
        await until(self._converged, f"all run {self.image}")

    async def _converged(self) -> bool:
        apps = await self._client.list(WebApp, self._namespace)
        deployments = await self._client.list(Deployment, self._namespace)
        images = [each.spec["template"]["spec"]["containers"][0]["image"] for each in deployments]
        seen = all(app.status.observed_generation == app.metadata.generation for app in apps)
        return seen and images == [self.image] * len(APPS)


async def terms_of_writes(client: Client, namespace: str, since: str) -> list[int]:
    """The terms of all writes to children, in the order in which they were made."""
    terms: dict[int, int] = {}

    async def collect(kind: type[Deployment | Service]) -> None:
        history = client.watch(kind, namespace, resource_version=since, timeout_s=1, bookmarks=False)
        async with history as events:
            async for event in events:
                metadata = event.decode()["metadata"]
                terms[int(metadata["resourceVersion"])] = int(metadata["annotations"][TERM])

    await asyncio.gather(collect(Deployment), collect(Service))
    return [terms[version] for version in sorted(terms)]


async def fail_over(fleet: Fleet, apps: Apps, fault: str, *, after: int = HALF) -> Replica:
    """Something happens to the leader when so many apps are changed, and another does the rest. The old one."""
    leader = fleet.leader
    term = leader.term
    apps.next_version()
    await apps.roll_out(APPS[:after])
    getattr(leader, fault)()
    await apps.roll_out(APPS[after:])
    await apps.converge()
    assert fleet.leader is not leader
    assert fleet.leader.term > term
    return leader


async def stays_led(fleet: Fleet, apps: Apps) -> None:
    """The leader goes on to work, and its followers send nothing but looks at the lease, if there is one."""
    leader, followers = fleet.leader, fleet.followers
    before = [replica.requests for replica in followers]
    apps.next_version()
    await apps.roll_out(APPS)
    await apps.converge()
    assert fleet.leader is leader
    for replica, earlier in zip(followers, before, strict=True):
        sent = {method for method, count in replica.requests.items() if count != earlier.get(method)}
        assert sent <= ({"GET"} if fleet.engine.name == "lease" else set())


def test_a_leader_that_fails_is_replaced_and_never_writes_after_its_successor(
    audited: Audited, engine: Engine, tmp_path: Path
) -> None:
    namespace = f"replicas-{engine.name}"

    async def scenario() -> list[int]:
        async with Client.load(kubeconfig=audited.server.kubeconfig) as client, Scope() as scope:
            made = await client.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            )
            with Fleet(audited.server, engine, namespace, tmp_path, scope) as fleet:
                await fleet.start(3)
                apps = Apps(client, namespace)
                await apps.create()
                await stays_led(fleet, apps)

                fleet.remove(await fail_over(fleet, apps, "kill"))
                paused = await fail_over(fleet, apps, "pause")
                paused.resume()
                await stays_led(fleet, apps)

                cut_off = await fail_over(fleet, apps, "cut_off", after=0)
                cut_off.connect()
                late = {str(cut_off.term)}
                await until(lambda: audited.refused_terms(namespace) == late, "its late writes are refused")
                await apps.converge()
                return await terms_of_writes(client, namespace, made["metadata"]["resourceVersion"])

    terms = asyncio.run(scenario())
    assert terms == sorted(terms)
    assert len(set(terms)) == 4
