"""A first look: start a cluster in this process, apply web.yaml, see what is there, stop.

With kubectl on the PATH its commands are shown as you would type them; without it the same is done over
the API by hand.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from pathlib import Path

import orjson
import uvloop
import yaml

from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.http import Client, client_tls

MANIFESTS = Path(__file__).with_name("web.yaml")
BOLD, DIM, RESET = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")

PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
    "Service": "/api/v1/namespaces/{namespace}/services",
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments",
}


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
    await kubectl(cluster, "-n", "shop", "get", "deployments,services,configmaps", "-o", "wide")
    await kubectl(cluster, "-n", "shop", "scale", "deployment/web", "--replicas=5")
    await kubectl(cluster, "-n", "shop", "get", "deployment/web")
    await kubectl(cluster, "explain", "deployment.spec.strategy.type")


async def look_by_hand(cluster: LocalCluster) -> None:
    say(f"{DIM}(no kubectl on the PATH: talking to the API directly){RESET}")
    headers = [(b"authorization", b"Bearer " + cluster.token.encode())]
    async with Client(cluster.url, ssl=client_tls(ca=cluster.authority.pem), headers=headers) as client:
        for manifest in yaml.safe_load_all(MANIFESTS.read_text()):
            path = PATHS[manifest["kind"]].format(namespace=manifest["metadata"].get("namespace"))
            answer = await client.request("POST", path, content=orjson.dumps(manifest))
            say(f"POST {path} → {answer.status}")
        answer = await client.request("GET", "/apis/apps/v1/namespaces/shop/deployments/web")
        deployment = orjson.loads(answer.content)
        say(f"deployment web: {deployment['spec']['replicas']} replicas, uid {deployment['metadata']['uid']}")


async def main() -> None:
    started = time.perf_counter()
    async with LocalCluster(ClusterConfig()) as cluster:
        seconds = time.perf_counter() - started
        say(f"{BOLD}A Kubernetes API is up at {cluster.url} after {seconds:.2f} s{RESET}")
        await (look_with_kubectl if shutil.which("kubectl") else look_by_hand)(cluster)
    say(f"\n{DIM}Stopped; nothing was kept. For a cluster that stays: .venv/bin/steer up{RESET}")


if __name__ == "__main__":
    uvloop.run(main())
