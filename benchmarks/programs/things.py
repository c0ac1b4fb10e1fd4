"""The measured operator: every Thing gets a ConfigMap and a status. Started by `steer run`."""

from __future__ import annotations

from steersman import ConfigMap, Context, CustomResource, Model, Operator


class ThingSpec(Model):
    value: str


class ThingStatus(Model):
    done: bool = False


class Thing(CustomResource, group="steersman.bench.example.com", version="v1"):
    spec: ThingSpec
    status: ThingStatus = ThingStatus()


op = Operator(Thing).owns(ConfigMap)


@op.reconcile
async def reconcile(ctx: Context[Thing]) -> None:
    await ctx.apply(ConfigMap(f"{ctx.name}-steersman").data("value", ctx.resource.spec.value))
    await ctx.set_status(ThingStatus(done=True))
