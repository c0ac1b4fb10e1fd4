"""Replicas that share the work: every parcel is handled by one of them, and by another when that one goes.

With leader election one replica works and the others wait. Here all of them work, each on its part of the
objects; who has which follows from the members alone, and nobody hands out anything.
"""

from __future__ import annotations

import os

from steersman import AGE, Action, Context, CustomResource, Model, Operator, PrinterColumn

LOOK_EVERY_S = 60


class ParcelSpec(Model):
    to: str


class ParcelStatus(Model):
    handled_by: str = ""


class Parcel(
    CustomResource,
    group="examples.steersman.dev",
    version="v1",
    columns=[
        PrinterColumn("To", ".spec.to"),
        PrinterColumn("Handled by", ".status.handledBy"),
        AGE,
    ],
):
    spec: ParcelSpec
    status: ParcelStatus = ParcelStatus()


def post_office(member: str) -> Operator[Parcel]:
    """One member, under a name of its own."""
    op = Operator(Parcel).with_sharding("parcels")

    @op.reconcile
    async def handle(ctx: Context[Parcel]) -> Action:
        await ctx.set_status(ParcelStatus(handled_by=member))
        return Action.requeue(LOOK_EVERY_S)

    return op


op = post_office(os.environ.get("POD_NAME") or f"process-{os.getpid()}")

if __name__ == "__main__":
    op.run()
