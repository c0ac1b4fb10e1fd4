"""A member that shares ConfigMaps with others and writes down when it works on which. For test_sharding.py."""

from __future__ import annotations

import os
import time

from steersman.objects.builders import ConfigMap
from steersman.operator import Action, Context, Operator

EVERY_S = float(os.environ["EVERY_S"])
TAKES_S = 0.02

op = Operator(ConfigMap, name="sharded").in_namespaces(os.environ["NAMESPACE"]).with_concurrency(64)
op.with_sharding("sharded")
# At once and as a whole line each: this process may be killed at any moment.
diary = os.open(os.environ["DIARY"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


@op.reconcile
async def reconcile(ctx: Context[ConfigMap]) -> Action:
    os.write(diary, f"+ {ctx.name} {time.monotonic()}\n".encode())
    try:
        await ctx.clock.sleep(TAKES_S)
    finally:
        os.write(diary, f"- {ctx.name} {time.monotonic()}\n".encode())
    return Action.requeue(EVERY_S)
