"""A first look: start a cluster in this process, apply web.yaml, see its pods run, break one, stop.

With kubectl on the PATH its commands are shown as you would type them; without it the same is done with
the project's own client.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from pathlib import Path

import uvloop
import yaml

from steersman import ClusterConfig, LocalCluster
from steersman.objects.resources import DEPLOYMENTS, PODS

MANIFESTS = Path(__file__).with_name("web.yaml")
BOLD, DIM, RESET = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")


def say(text: str) -> None:
    print(text, flush=True)


async def kubectl(cluster: LocalCluster, *arguments: str) -> None:
    say(f"\n{BOLD}$ kubectl {' '.join(arguments)}{RESET}")
    process = await asyncio.create_subprocess_exec(
        "kubectl", "--kubeconfig", str(cluster.kubeconfig), *arguments
    )
    if await process.wait():
        raise SystemExit(f"kubectl {arguments[0]} failed")


async def look_with_kubectl(cluster: LocalCluster) -> None:
    await kubectl(cluster, "apply", "-f", str(MANIFESTS))
    await kubectl(cluster, "-n", "shop", "rollout", "status", "deployment/web", "--timeout=60s")
    await kubectl(cluster, "-n", "shop", "get", "pods,services,endpointslices", "-o", "wide")
    await kubectl(cluster, "-n", "shop", "scale", "deployment/web", "--replicas=5")
    await kubectl(cluster, "-n", "shop", "rollout", "status", "deployment/web", "--timeout=60s")
    await kubectl(cluster, "get", "nodes")
    await kubectl(cluster, "explain", "deployment.spec.strategy.type")


async def look_by_hand(cluster: LocalCluster) -> None:
    say(f"{DIM}(no kubectl on the PATH: using the project's own client){RESET}")
    client = cluster.client(namespace="shop")
    for manifest in yaml.safe_load_all(MANIFESTS.read_text()):
        created = await client.create(manifest)
        say(f"created {created['kind']} {created['metadata']['name']}")
    async with client.watch(DEPLOYMENTS, "shop") as changes:
        async for change in changes:
            if change.decode().get("status", {}).get("readyReplicas") == 2:
                break
    for pod in await client.list(PODS, "shop"):
        say(f"pod {pod['metadata']['name']} runs on {pod['spec']['nodeName']}")


async def main() -> None:
    started = time.perf_counter()
    async with LocalCluster(ClusterConfig(controllers=("all",), nodes=3)) as cluster:
        seconds = time.perf_counter() - started
        say(f"{BOLD}A Kubernetes cluster is up at {cluster.url} after {seconds:.2f} s{RESET}")
        await (look_with_kubectl if shutil.which("kubectl") else look_by_hand)(cluster)
    say(f"\n{DIM}Stopped; nothing was kept. For a cluster that stays: .venv/bin/steer up --nodes 3{RESET}")


if __name__ == "__main__":
    uvloop.run(main())
