"""Work that goes on beside an object: is a TCP endpoint reachable?

A daemon runs for as long as its object exists, a timer is called in an interval. Neither needs a reconcile
function; both end when the object is deleted, or when this replica stops being the leader.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

from steersman import AGE, Condition, Context, CustomResource, Field, Model, Operator, PrinterColumn, list_map

REPORT_EVERY_S = 3600
CONNECT_TIMEOUT_S = 5


class TcpCheckSpec(Model):
    host: str
    port: int = Field(ge=1, le=65535)
    every_seconds: int = Field(10, ge=1)


class TcpCheckStatus(Model):
    conditions: Annotated[list[Condition], list_map("type")] = Field(default_factory=list)


class TcpCheck(
    CustomResource,
    group="examples.steersman.dev",
    version="v1",
    columns=[
        PrinterColumn("Host", ".spec.host"),
        PrinterColumn("Port", ".spec.port"),
        PrinterColumn("Reachable", '.status.conditions[?(@.type=="Reachable")].status', "string"),
        AGE,
    ],
):
    spec: TcpCheckSpec
    status: TcpCheckStatus = TcpCheckStatus()


op = Operator(TcpCheck)


@op.daemon
async def keep_looking(ctx: Context[TcpCheck]) -> None:
    """Look again and again. The spec may change meanwhile, so it is read anew each time."""
    while check := await ctx.get(TcpCheck, ctx.name):
        problem = await connect(check.spec)
        if problem:
            await ctx.set_condition("Reachable", False, "ConnectFailed", problem)
        else:
            await ctx.set_condition("Reachable", True, "Connected")
        await ctx.clock.sleep(check.spec.every_seconds)


@op.timer(every=REPORT_EVERY_S, catch_up=False)
async def report(ctx: Context[TcpCheck]) -> None:
    """Once an hour, say so if it is not reachable. A report that falls into a restart is no loss, so that
    nothing need be written down to make up for it."""
    for condition in ctx.resource.status.conditions:
        if condition.type == "Reachable" and condition.status != "True":
            await ctx.warning("Unreachable", f"since {condition.last_transition_time}: {condition.message}")


async def connect(spec: TcpCheckSpec) -> str:
    """Empty, or why there is no connection."""
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            _, writer = await asyncio.open_connection(spec.host, spec.port)
    except TimeoutError:
        return f"no answer within {CONNECT_TIMEOUT_S} s"
    except OSError as error:
        return error.strerror or str(error)
    writer.close()
    return ""


if __name__ == "__main__":
    op.run()
