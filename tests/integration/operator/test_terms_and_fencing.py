"""Terms on what leaders write, and the API server refusing those of former leaders; in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.client import Client, Forbidden
from steersman.client.credentials import FixedFields, bearer
from steersman.client.transport import Transport
from steersman.election import Lease
from steersman.http import ClientResponse
from steersman.objects.builders import ConfigMap
from steersman.operator import Context, Operator, Settings, serve
from steersman.operator.fencing import fencing_policy
from steersman.operator.terms import TERM
from steersman.testing import Cluster, virtual_time
from tests.integration.operator.things import Status, Thing, thing

Object = dict[str, Any]

#: Longer than any lease lasts, shorter than the first resync.
FAILOVER_S = 60.0


def operator(identity: str = "", *, name: str = "", key: str = "value") -> Operator[Thing]:
    """It writes each thing's value into a child. With an identity, it contends for a lease."""
    op = Operator(Thing, name=name).owns(ConfigMap)
    if identity:
        op.with_leader_election(Lease(f"things{name}", identity=identity))

    @op.reconcile
    async def reconcile(ctx: Context[Thing]) -> None:
        await ctx.apply(ConfigMap(ctx.name).data(key, ctx.resource.spec.value))
        await ctx.set_status(Status(seen=ctx.resource.spec.value))

    return op


async def child(cluster: Cluster, name: str = "a") -> Object:
    return (await cluster.client().get(ConfigMap, name)).to_object()


def term_of(obj: Object) -> str | None:
    term: str | None = obj["metadata"].get("annotations", {}).get(TERM)
    return term


class Network:
    """One client's way to the server. It can hold requests back, which then arrive when nobody waits for them
    any more."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._holding = False
        self._held: list[tuple[str, str, Object]] = []

    async def request(self, method: str, target: str, **options: Any) -> ClientResponse:
        if self._holding:
            self._held.append((method, target, options))
            await asyncio.Event().wait()
        return await self._inner.request(method, target, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def hold(self) -> None:
        self._holding = True

    async def deliver(self) -> dict[str, ClientResponse]:
        """What is held back arrives, in order. The answers by what was asked; the last, of several."""
        self._holding = False
        answers = {}
        for method, target, options in self._held:
            answers[f"{method} {target.partition('?')[0]}"] = await self._inner.request(
                method, target, **options
            )
        return answers


@asynccontextmanager
async def serving(cluster: Cluster, op: Operator[Thing]) -> AsyncIterator[Network]:
    """The operator, behind a network of its own."""
    network = Network(cluster.server.transport("held"))
    transport: Any = network
    credentials = FixedFields(bearer(cluster.server.token))
    client = Client(transport, credentials=credentials, clock=cluster.clock)
    async with Scope() as scope:
        scope.start(serve(op, client=client, clock=cluster.clock, settings=Settings(address=None)))
        await cluster.clock.settle()
        yield network


@virtual_time
async def test_a_late_write_of_a_former_leader_is_refused_and_those_of_the_new_one_pass() -> None:
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        await cluster.apply(Thing.crd(), *fencing_policy([operator()]))
        async with serving(cluster, operator("old")) as network, serving(cluster, operator("new")):
            await client.create(thing(value="first"))
            await cluster.clock.settle()
            assert term_of(await child(cluster)) == "1"

            network.hold()
            await client.patch(Thing, "a", {"spec": {"value": "second"}})
            await cluster.clock.advance(FAILOVER_S)
            await client.patch(Thing, "a", {"spec": {"value": "third"}})
            await cluster.clock.settle()
            written = await child(cluster)
            assert (written["data"], term_of(written)) == ({"value": "third"}, "2")

            answers = await network.deliver()
            late = answers["PATCH /api/v1/namespaces/default/configmaps/a"]
            assert late.status == 403
            assert b"written in term 2 already, refused in term 1" in late.content
            assert await child(cluster) == written

            await client.patch(Thing, "a", {"spec": {"value": "fourth"}})
            await cluster.clock.settle()
            assert (await child(cluster))["data"] == {"value": "fourth"}


@virtual_time
async def test_only_lower_terms_are_refused() -> None:
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        await cluster.apply(*fencing_policy([operator()]))
        await client.create(ConfigMap("a").to_object())

        async def annotate(term: str | None) -> None:
            await client.patch(ConfigMap, "a", {"metadata": {"annotations": {TERM: term}}})

        for term in ("9", "9", "10", "2000000000"):
            await annotate(term)
        with pytest.raises(Forbidden):
            await annotate("10")
        await client.patch(ConfigMap, "a", {"data": {"changed": "by hand"}})
        # Somebody who takes the term away starts anew, and what is no term stands in nobody's way.
        for value in (None, "1", "none", "1", "9" * 30, "2"):
            await annotate(value)
        assert term_of(await child(cluster)) == "2"


@virtual_time
async def test_a_new_term_is_no_reason_to_write() -> None:
    things = [f"t-{number}" for number in range(20)]
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        first = await cluster.run_operator(operator("one"))
        for name in things:
            await client.create(thing(name))
        await cluster.clock.settle()
        await first.stop()
        with cluster.assert_no_writes():
            second = await cluster.run_operator(operator("two"), install=False)
            await cluster.clock.advance(FAILOVER_S)
            assert second.manager is not None
            assert second.manager.is_leader
        assert {term_of(await child(cluster, name)) for name in things} == {"1"}

        await client.patch(Thing, "t-3", {"spec": {"value": "w"}})
        await cluster.clock.settle()
        changed = {name for name in things if term_of(await child(cluster, name)) == "2"}
        assert changed == {"t-3"}
        await client.patch(ConfigMap, "t-4", {"data": {"value": "broken"}})
        await cluster.clock.settle()
        repaired = await child(cluster, "t-4")
        assert (repaired["data"], term_of(repaired)) == ({"value": "v"}, "2")


@virtual_time
async def test_without_an_election_nothing_carries_a_term() -> None:
    async with Cluster(controllers=()) as cluster, cluster.run_operator(operator()):
        await cluster.client().create(thing())
        await cluster.clock.settle()
        assert "annotations" not in (await child(cluster))["metadata"]


@virtual_time
async def test_operators_of_two_elections_do_not_fight_over_the_term_of_a_shared_child() -> None:
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        async with cluster.run_operator(operator("w", name="left", key="left")):
            # So that the next leader has another term than that of the other election.
            await cluster.clock.settle()
        async with (
            cluster.run_operator(operator("x", name="left", key="left"), install=False),
            cluster.run_operator(operator("y", name="right", key="right"), install=False),
        ):
            await client.create(thing())
            await cluster.clock.advance(FAILOVER_S)
            assert (await child(cluster))["data"] == {"left": "v", "right": "v"}
            with cluster.assert_no_writes():
                await cluster.clock.advance(FAILOVER_S)
