"""Dependents as a graph: branches at the same time, forward references, and deletion the other way round."""

from __future__ import annotations

from steersman.client import Client
from steersman.objects.builders import ConfigMap, Secret, Service
from steersman.operator import Context, Operator
from steersman.testing import Cluster, virtual_time
from tests.integration.operator.things import Thing, thing

HOLD = "example.com/hold"


class Diamond:
    """base → left, right → top."""

    def __init__(self) -> None:
        self.made: list[tuple[str, float]] = []
        self.fails = False
        op = self.operator = Operator(Thing)

        @op.dependent(Service, after=("left", "right"))
        async def top(ctx: Context[Thing]) -> Service:
            self.note(ctx, "top")
            return Service(ctx.name).port(80, 80).selector(app=ctx.name)

        @op.dependent(ConfigMap, after="base", ready=lambda live: "ready" in live.to_object().get("data", {}))
        async def left(ctx: Context[Thing]) -> ConfigMap:
            await ctx.clock.sleep(10)
            self.note(ctx, "left")
            return ConfigMap(f"{ctx.name}-left")

        @op.dependent(ConfigMap, after="base")
        async def right(ctx: Context[Thing]) -> ConfigMap:
            await ctx.clock.sleep(10)
            if self.fails:
                raise RuntimeError("right does not work today")
            self.note(ctx, "right")
            return ConfigMap(f"{ctx.name}-right")

        @op.dependent(Secret)
        async def base(ctx: Context[Thing]) -> Secret:
            self.note(ctx, "base")
            return Secret(f"{ctx.name}-base")

    def note(self, ctx: Context[Thing], name: str) -> None:
        self.made.append((name, ctx.clock.monotonic()))


async def names(client: Client) -> set[str]:
    found = set()
    for kind in (Secret, ConfigMap, Service):
        for obj in await client.list(kind):
            metadata = obj.to_object()["metadata"]
            if metadata["name"].startswith("a"):
                found.add(metadata["name"])
    return found


@virtual_time
async def test_branches_are_brought_about_at_the_same_time() -> None:
    diamond = Diamond()
    async with Cluster(controllers=()) as cluster, cluster.run_operator(diamond.operator):
        client = cluster.client()
        await client.create(thing())
        await cluster.clock.advance(11)
        assert {name for name, _ in diamond.made} == {"base", "left", "right"}
        assert len({round(when) for name, when in diamond.made if name != "base"}) == 1
        await client.patch(ConfigMap, "a-left", {"data": {"ready": "yes"}})
        await cluster.clock.advance(11)
        assert diamond.made[-1][0] == "top"


@virtual_time
async def test_a_branch_that_fails_does_not_hold_up_the_other() -> None:
    diamond = Diamond()
    diamond.fails = True
    async with Cluster(controllers=()) as cluster, cluster.run_operator(diamond.operator):
        client = cluster.client()
        await client.create(thing())
        await cluster.clock.advance(10.5)
        assert await names(client) == {"a-base", "a-left"}
        diamond.fails = False
        await client.patch(ConfigMap, "a-left", {"data": {"ready": "yes"}})
        await cluster.clock.advance(40)
        assert await names(client) == {"a-base", "a-left", "a-right", "a"}


@virtual_time
async def test_they_are_taken_down_in_the_opposite_order() -> None:
    diamond = Diamond()
    diamond.operator.with_ordered_deletion()
    async with Cluster(controllers=()) as cluster, cluster.run_operator(diamond.operator):
        client = cluster.client()
        await client.create(thing())
        await cluster.clock.advance(11)
        await client.patch(ConfigMap, "a-left", {"data": {"ready": "yes"}})
        await cluster.clock.advance(40)
        everything = {"a-base", "a-left", "a-right", "a"}
        assert await names(client) == everything
        for kind, name in ((Service, "a"), (ConfigMap, "a-left")):
            await client.patch(kind, name, {"metadata": {"finalizers": [HOLD]}})
        await cluster.clock.advance(40)  # the changes of the children were looked at

        await client.delete(Thing, "a")
        await cluster.clock.advance(1)
        assert await names(client) == everything, "the last one is held, so all others stay"
        await client.patch(Service, "a", {"metadata": {"finalizers": None}})
        await cluster.clock.advance(1)
        assert await names(client) == {"a-base", "a-left"}, "left is held, and base is needed by it"
        await client.patch(ConfigMap, "a-left", {"metadata": {"finalizers": None}})
        await cluster.clock.advance(1)
        assert await names(client) == set()
        assert await client.find(Thing, "a") is None
