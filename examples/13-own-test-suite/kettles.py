"""A small operator to be tested in every way: a Kettle heats its water, one degree a second."""

from __future__ import annotations

from steersman import Action, ConfigMap, Context, CustomResource, Field, Model, Operator

TAP = 20


class KettleSpec(Model):
    celsius: int = Field(ge=TAP, le=100)


class KettleStatus(Model):
    celsius: int = TAP
    seconds_left: int = 0


class Kettle(CustomResource, group="examples.steersman.dev", version="v1"):
    spec: KettleSpec
    status: KettleStatus = KettleStatus()


op = Operator(Kettle).owns(ConfigMap)


def heated(now: int, wanted: int) -> KettleStatus:
    """The state after one more second. Pure: most of what can go wrong is tested here, without a cluster."""
    step = (wanted > now) - (wanted < now)
    return KettleStatus(celsius=now + step, seconds_left=abs(wanted - now - step))


@op.reconcile
async def heat(ctx: Context[Kettle]) -> Action:
    kettle = ctx.resource
    await ctx.apply(ConfigMap(f"{ctx.name}-label").data("text", f"{kettle.spec.celsius} °C"))
    if kettle.status.celsius == kettle.spec.celsius:
        return Action.done()
    status = heated(kettle.status.celsius, kettle.spec.celsius)
    await ctx.set_status(status)
    return Action.requeue(1) if status.seconds_left else Action.done()


if __name__ == "__main__":
    op.run()
