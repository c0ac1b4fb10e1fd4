"""Operators that work in some namespaces, chosen by name or by labels that come and go."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.client import Client
from steersman.objects.builders import ConfigMap
from steersman.objects.resources import NAMESPACES
from steersman.operator import Context, Operator, OperatorError
from steersman.testing import Cluster, virtual_time
from tests.integration.operator.things import Thing, thing


class Calls:
    def __init__(self, name: str = "", **chosen: Any) -> None:
        self.seen: list[str] = []
        self.operator = Operator(Thing, name=name).owns(ConfigMap).in_namespaces(**chosen)
        self.operator.reconcile(self.reconcile)

    async def reconcile(self, ctx: Context[Thing]) -> None:
        self.seen.append(f"{ctx.namespace}/{ctx.name}")
        await ctx.apply(ConfigMap(ctx.name).data("value", ctx.resource.spec.value))

    def taken(self) -> list[str]:
        seen, self.seen = sorted(self.seen), []
        return seen


async def make(client: Client, name: str, **labels: str) -> None:
    metadata = {"name": name, "labels": labels}
    await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


async def label(client: Client, name: str, **labels: str | None) -> None:
    await client.patch(NAMESPACES, name, {"metadata": {"labels": labels}})


@virtual_time
async def test_namespaces_come_and_go_with_their_labels() -> None:
    calls = Calls(selector="tier=web")
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        await make(client, "first", tier="web")
        await make(client, "other")
        async with cluster.run_operator(calls.operator):
            for namespace in ("first", "other"):
                await client.create(thing("a", namespace))
            await cluster.clock.settle()
            assert calls.taken() == ["first/a"]

            await label(client, "other", tier="web")
            await cluster.clock.advance(1)
            assert calls.taken() == ["other/a"], "what is there already is found"
            await client.create(thing("b", "other"))
            await client.delete(ConfigMap, "a", "other")
            await cluster.clock.settle()
            assert calls.taken() == ["other/a", "other/b"], "children are watched there, too"

            await make(client, "late", tier="web")
            await client.create(thing("c", "late"))
            await cluster.clock.advance(1)
            assert calls.taken() == ["late/c"]

            await label(client, "first", tier=None)
            await cluster.clock.settle()
            calls.taken()
            await client.patch(Thing, "a", {"spec": {"value": "w"}}, namespace="first")
            await client.delete(ConfigMap, "a", "first")
            await cluster.clock.advance(1)
            assert calls.taken() == [], "it is none of its business any more"


@virtual_time
async def test_two_operators_with_different_labels_do_not_disturb_each_other() -> None:
    web, data = Calls("web", selector="tier=web"), Calls("data", selector="tier=data")
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        await make(client, "first", tier="web")
        await make(client, "second", tier="data")
        async with cluster.run_operator(web.operator, data.operator):
            for namespace in ("first", "second"):
                await client.create(thing("a", namespace))
            await cluster.clock.settle()
            assert (web.taken(), data.taken()) == (["first/a"], ["second/a"])


@virtual_time
async def test_a_definition_that_is_missing_at_the_start_is_waited_for() -> None:
    calls = Calls(selector="tier=web")
    async with Cluster(controllers=()) as cluster:
        client = cluster.client()
        await make(client, "first", tier="web")
        async with cluster.run_operator(calls.operator, install=False):
            await cluster.clock.advance(60)
            await client.create(Thing.crd())
            await cluster.clock.advance(1)
            await client.create(thing("a", "first"))
            await cluster.clock.advance(60)
            assert calls.taken() == ["first/a"]


def test_names_and_labels_are_not_mixed() -> None:
    with pytest.raises(OperatorError, match="not by both"):
        Operator(Thing).in_namespaces("a", selector="b=c")
