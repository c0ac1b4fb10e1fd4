"""Three nodes of different prices, and pods that mind or do not."""

from __future__ import annotations

import sys

import uvloop
from frugal import MOST, PRICE, SCHEDULER, frugal

from steersman import Client, ClusterConfig, LocalCluster
from steersman.aio import Scope
from steersman.objects.resources import NODES, PODS

BOLD, DIM, RESET = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")
PRICES = {"node-1": 40, "node-2": 10, "node-3": 25}


def say(text: str) -> None:
    print(text, flush=True)


async def label_nodes(client: Client) -> None:
    """Wait for the nodes, and give them their prices."""
    missing = set(PRICES)
    async with client.watch(NODES) as changes:
        async for change in changes:
            missing.discard(change.decode()["metadata"]["name"])
            if not missing:
                break
    for name, price in PRICES.items():
        await client.patch(NODES, name, {"metadata": {"labels": {PRICE: str(price)}}})
        say(f"an hour of {name} costs {price} cents")


async def create(client: Client, name: str, most: int | None = None) -> None:
    labels = {} if most is None else {MOST: str(most)}
    containers = [{"name": "work", "image": "work:1"}]
    spec = {"schedulerName": SCHEDULER, "containers": containers}
    await client.create({"metadata": {"name": name, "labels": labels}, "spec": spec}, kind=PODS)


async def outcome(client: Client, name: str, *, waits: bool = True) -> str:
    """Where a pod was put; or, if it `waits`, why nowhere."""
    async with client.watch(PODS, fields=f"metadata.name={name}") as changes:
        async for change in changes:
            pod = change.decode()
            if node := pod["spec"].get("nodeName"):
                return f"is on {node}"
            for condition in pod["status"].get("conditions") or ():
                if waits and condition["type"] == "PodScheduled":
                    return f"waits: {condition['message'].partition(' preemption:')[0]}"
    raise SystemExit("the watch has ended")


async def look(client: Client) -> None:
    say(f"\n{BOLD}A pod that does not say what it is worth{RESET}")
    await create(client, "any")
    say(f"any {await outcome(client, 'any')}")
    say(f"\n{BOLD}The cheapest node is closed: the next best will do{RESET}")
    await client.patch(NODES, "node-2", {"spec": {"unschedulable": True}})
    await create(client, "next")
    say(f"next {await outcome(client, 'next')}")
    say(f"\n{BOLD}A pod that is worth 20 cents waits until a node costs no more{RESET}")
    await create(client, "poor", most=20)
    say(f"poor {await outcome(client, 'poor')}")
    await client.patch(NODES, "node-1", {"metadata": {"labels": {PRICE: "15"}}})
    say("an hour of node-1 costs 15 cents")
    say(f"poor {await outcome(client, 'poor', waits=False)}")


async def main() -> None:
    async with LocalCluster(ClusterConfig(controllers=("all",), nodes=len(PRICES))) as cluster:
        client = cluster.client()
        await label_nodes(client)
        async with Scope() as scope:
            scope.start(frugal(cluster.client()).run())
            await look(client)
    say(f"\n{DIM}Stopped; nothing was kept.{RESET}")


if __name__ == "__main__":
    uvloop.run(main())
