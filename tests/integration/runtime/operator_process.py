"""An operator in a process of its own: one controller whose reconciles take SECONDS. Says what happens."""

from __future__ import annotations

import asyncio
import sys

from steersman.client import Client
from steersman.election import LeaseElector
from steersman.objects.resource_type import ResourceType
from steersman.runtime.controller import Controller
from steersman.runtime.manager import Manager
from steersman.runtime.requests import Request


def say(*words: object) -> None:
    print(*words, flush=True)


async def main(seconds: float) -> None:
    async def reconcile(_: Request) -> None:
        say("began")
        await asyncio.sleep(seconds)
        say("done")

    async with Client.load() as client:
        manager = Manager(client, elector=LeaseElector(client, "lock", "default"), address=None)
        namespaces = manager.informers.get(ResourceType("", "v1", "Namespace", "namespaces", False))
        only = Controller("one", reconcile).primary(namespaces, lambda change: change.key.name == "default")
        manager.add(only)
        await manager.run_until_signalled()
    say("ended")


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
