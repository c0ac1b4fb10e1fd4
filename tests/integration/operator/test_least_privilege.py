"""The WebApp operator runs under exactly the rights that are derived from it, and needs each of them.

Everything in one life of a WebApp: two API servers' ways of following objects (lists, and streams), a
conflict, an event that happens twice, the end. A right that is taken away is missed in that life, and the
operator's log says which one it was.
"""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any, cast

import pytest

from steersman.aio import Scope
from steersman.cli.loading import load
from steersman.client import Client
from steersman.client.credentials import FixedFields, bearer
from steersman.election import RaftConfig
from steersman.election.raft.replicas import ReplicaFollower
from steersman.objects.builders import ConfigMap, Deployment
from steersman.objects.resources import NAMESPACES
from steersman.operator import Context, Operator, Settings
from steersman.operator.packaging import Permission, permissions, rbac
from steersman.raft.manager import RaftNodeManager
from steersman.runtime import Manager
from steersman.runtime.insight import Insight
from steersman.testing import Cluster, eventually, mark_ready, virtual_time
from steersman.webhooks import WebhookSettings
from tests.integration.operator.things import Thing, thing

NAME, NAMESPACE = "webapp-operator", "default"


webapp = load(str(Path(__file__).parents[3] / "examples" / "06-webapp" / "webapp.py")).module
GRANTED = permissions([webapp.op], namespace=NAMESPACE, name=NAME)
#: Off by default in Kubernetes, on in OpenShift: asks for rights that nothing else asks for.
STRICT: dict[str, Any] = {"enabled_admission": ("OwnerReferencesPermissionEnforcement",)}


def refusal_without(missing: Permission) -> str:
    """What is said to somebody who lacks a right."""
    if missing.resource.endswith("/finalizers"):
        return "refers to a resource you can't set finalizers on"
    return f'cannot {missing.verb} resource "{missing.resource}" in API group "{missing.group}"'


async def live(cluster: Cluster, granted: list[Permission]) -> bool:
    """A WebApp's life under an operator with these rights; whether it came to its end."""
    client = cluster.client()
    await cluster.apply(*rbac(granted, name=NAME, namespace=NAMESPACE))
    credentials = FixedFields(bearer(await token(client)))
    # Servers that cannot stream their objects are asked for lists.
    cluster.faults.refuse(422, verb="watch", times=3)
    operator = cluster.run_operator(webapp.op, credentials=credentials)
    await cluster.clock.advance(5)
    await client.create(web())
    await cluster.clock.advance(5)
    for _ in range(2):  # the same thing happens twice
        await ready_if_there(client)
        await cluster.clock.advance(5)
        await client.patch(webapp.WebApp, "web", {"spec": {"image": "nginx:1.27"}})
        await cluster.clock.advance(5)
    cluster.faults.refuse(409, verb="patch", resource="webapps/status", times=1)
    await client.patch(webapp.WebApp, "web", {"spec": {"replicas": 4}})
    await cluster.clock.advance(5)
    await client.delete(webapp.WebApp, "web")
    await cluster.clock.advance(15)
    await operator.stop()
    return await client.find(webapp.WebApp, "web") is None


def web() -> Any:
    return {
        "apiVersion": "example.com/v1",
        "kind": "WebApp",
        "metadata": {"name": "web"},
        "spec": {"image": "nginx:1.25", "replicas": 3},
    }


async def token(client: Client) -> str:
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}/token"
    made = await client.request("POST", path, body={"spec": {"expirationSeconds": 3600}})
    issued: str = json.loads(made)["status"]["token"]
    return issued


async def ready_if_there(client: Client) -> None:
    if await client.find(Deployment, "web") is not None:
        await mark_ready(client, Deployment, "web")


def refusals(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [text for text in (record.getMessage() for record in caplog.records) if " is forbidden: " in text]


@virtual_time
async def test_it_runs_under_exactly_these_rights(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with Cluster(**STRICT) as cluster:
        assert await live(cluster, GRANTED)
    assert refusals(caplog) == []


@pytest.mark.parametrize("missing", GRANTED, ids=lambda each: f"{each.verb}-{each.resource}{each.name}")
def test_every_right_is_missed_when_it_is_taken_away(
    missing: Permission, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    @virtual_time
    async def lived() -> None:
        async with Cluster(**STRICT) as cluster:
            await live(cluster, [each for each in GRANTED if each != missing])

    lived()
    expected = refusal_without(missing)
    assert any(expected in text for text in refusals(caplog)), refusals(caplog)


def clerk() -> Operator[Thing]:
    """What else an operator can declare: chosen namespaces, others' objects, members that share the work, a
    timer that catches up."""
    chosen = Operator(Thing, name="clerk").in_namespaces(selector="tier=web")
    op = chosen.watches(ConfigMap, lambda _: []).with_sharding("things")

    @op.timer(20, catch_up=True)
    async def tick(ctx: Context[Thing]) -> None:
        return None

    return op


BESIDES = [
    each
    for each in permissions([clerk()], namespace=NAMESPACE, name=NAME)
    if each.resource in ("configmaps", "leases", "namespaces")
    or (each.resource, each.verb) == ("things", "patch")
]


@virtual_time
async def share(granted: list[Permission]) -> None:
    """Two members under these rights, of whom one dies."""
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        await cluster.apply(Thing.crd(), *rbac(granted, name=NAME, namespace=NAMESPACE))
        await client.patch(NAMESPACES, NAMESPACE, {"metadata": {"labels": {"tier": "web"}}})
        await client.create(thing())
        for resource in ("configmaps", "leases", "namespaces"):
            cluster.faults.refuse(422, verb="watch", resource=resource, times=1)
        cluster.faults.refuse(409, verb="update", resource="leases", times=1)
        credentials = FixedFields(bearer(await token(client)))
        first, second = (cluster.run_operator(clerk(), install=False, credentials=credentials) for _ in "ab")
        await cluster.clock.advance(30)
        await first.kill()
        await cluster.clock.advance(60)
        await second.stop()


def test_members_run_under_exactly_their_rights(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    share(permissions([clerk()], namespace=NAMESPACE, name=NAME))
    assert refusals(caplog) == []


@pytest.mark.parametrize("missing", BESIDES, ids=lambda each: f"{each.verb}-{each.resource}")
def test_members_miss_every_right(missing: Permission, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    granted = permissions([clerk()], namespace=NAMESPACE, name=NAME)
    share([each for each in granted if each != missing])
    assert any(refusal_without(missing) in text for text in refusals(caplog)), refusals(caplog)


def test_the_leader_of_a_raft_cluster_may_see_its_stateful_set_and_misses_the_right(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Here only who follows the StatefulSet; tests/e2e/packaging has whole nodes under exactly their rights."""
    raft = RaftConfig("things").service_name("things-nodes", stateful_set="things")
    granted = permissions([clerk_of_nodes(raft)], namespace=NAMESPACE, name=NAME)
    [needed] = [each for each in granted if each.resource == "statefulsets"]

    @virtual_time
    async def follow(granted: list[Permission]) -> None:
        async with Cluster(controllers=()) as cluster:
            await cluster.apply(*rbac(granted, name=NAME, namespace=NAMESPACE))
            client = cluster.client(token=await token(cluster.client()))
            follower = ReplicaFollower(client, raft.stateful_set, NAMESPACE, cluster.clock)
            async with Scope() as scope:
                scope.start(follower.run(cast(RaftNodeManager, None)))
                await cluster.clock.advance(1)
                scope.cancel()

    follow(granted)
    assert refusals(caplog) == []
    follow([each for each in granted if each != needed])
    assert any(refusal_without(needed) in text for text in refusals(caplog)), refusals(caplog)


def clerk_of_nodes(raft: RaftConfig) -> Operator[Thing]:
    op = Operator(Thing).with_leader_election(raft)

    @op.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        return None

    return op


EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize(
    ("module", "objects"),
    [
        ("05-dependents/shop.py", "shop.yaml"),
        ("08-webapp-with-webhooks/guarded.py", "shop.yaml"),
        ("09-sharded/parcels.py", "parcel.yaml"),
        ("10-multi-version/recipes.py", "recipe.yaml"),
    ],
    ids=["dependents", "webhooks", "sharded", "versions"],
)
def test_other_operators_run_under_exactly_their_rights(
    module: str, objects: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    loaded = load(str(EXAMPLES / module))
    granted = permissions(loaded.operators(), namespace=NAMESPACE, name=NAME)

    async def lived() -> None:
        async with Cluster(**STRICT) as cluster:
            await cluster.apply(*loaded.crds(), *rbac(granted, name=NAME, namespace=NAMESPACE))
            client = cluster.client()
            settings = Settings(address=None, webhooks=WebhookSettings(address="127.0.0.1:0"))
            running = cluster.run_operator(
                *loaded.operators(),
                install=False,
                settings=settings,
                credentials=FixedFields(bearer(await token(client))),
            )
            await running
            manager = running.manager
            assert manager is not None
            await eventually(lambda: not manager.probes.problems(), timeout_s=30)
            await cluster.apply((EXAMPLES / module).parent / objects)
            await eventually(lambda: reconciled(manager), timeout_s=30)
            await running.stop()

    asyncio.run(lived())
    assert refusals(caplog) == []


def reconciled(manager: Manager) -> bool:
    return any(each["results"]["success"] + each["results"]["requeue_after"] for each in told(manager))


def told(manager: Manager) -> list[dict[str, Any]]:
    return Insight(manager._controllers, lambda: True).controllers()
