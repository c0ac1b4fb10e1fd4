"""Whether a cluster that was just started can be used: who reads that it is up starts pods next.

Pods need a node that is ready and the account they run as. Both come a moment after the API server.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import orjson

from steersman.objects.conditions import is_ready
from steersman.objects.resources import NODES, SERVICE_ACCOUNTS

if TYPE_CHECKING:
    from steersman.client import Client
    from steersman.cluster.local import LocalCluster

__all__ = ["wait_usable"]

#: Something is wrong then, and is found sooner by looking at the cluster than by waiting.
_PATIENCE_S = 10.0
_LOOK_S = 0.02
#: Of more nodes than these the others follow.
_FIRST_NODES = 10


async def wait_usable(cluster: LocalCluster, stopped: asyncio.Event) -> None:
    """Return when pods can be started, if they ever can; at once when `stopped` is set."""
    config = cluster.config
    nodes = min(config.nodes + config.process_nodes, _FIRST_NODES)
    has_account = not config.runs("serviceaccount")
    deadline = time.monotonic() + _PATIENCE_S
    client = cluster.client(user_agent="steer-up")
    while not stopped.is_set() and time.monotonic() < deadline:
        has_account = has_account or await client.find(SERVICE_ACCOUNTS, "default", "default") is not None
        if has_account and await _ready_nodes(client, nodes) >= nodes:
            return
        await asyncio.sleep(_LOOK_S)


async def _ready_nodes(client: Client, most: int) -> int:
    if not most:
        return 0
    page = await client.list_page(NODES, limit=most)
    return sum(is_ready(orjson.loads(item)) for item in page.items)
