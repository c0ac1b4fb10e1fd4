"""Parts of a cluster in the place of each other: ours on the original API server, the original's on ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.client import Client
from steersman.cluster.components import Components, components_manager
from steersman.cluster.controllers.registry import CONTROLLERS
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.objects.builders import Container, Deployment
from steersman.objects.resources import CONFIG_MAPS, DEPLOYMENTS, JOBS, NAMESPACES, PODS, SERVICES
from steersman.runtime import Manager
from steersman.testing import eventually
from tests.originals.programs import NOT_INSTALLED, installed
from tests.originals.servers import original_cluster, original_parts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.original,
    pytest.mark.skipif(
        not installed("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
        reason=NOT_INSTALLED,
    ),
    pytest.mark.timeout(240),
]

PATIENCE_S = 90.0
#: Enough that kube-apiserver compresses a WatchList, in parts.
MANY = 330


@asynccontextmanager
async def our_parts(client: Client, **parts: Any) -> AsyncIterator[None]:
    components = Components(**parts)
    async with components_manager(client, components) as manager, Scope() as scope:
        running = scope.start(manager.run())
        try:
            yield
        finally:
            manager.stop()
            await running


@asynccontextmanager
async def the_original(**options: Any) -> AsyncIterator[Client]:
    with ExitStack() as stack:
        cluster = await asyncio.to_thread(stack.enter_context, original_cluster(**options))
        async with Client.load(kubeconfig=cluster.kubeconfig) as client:
            yield client


async def a_day_at_work(client: Client) -> None:
    """What every cluster does all day: a rollout that is scaled and replaced, a Job, a namespace that goes."""
    await client.create({"metadata": {"name": "work"}}, kind=NAMESPACES)
    await eventually(lambda: _has_account(client), PATIENCE_S)
    app = Deployment("web").replicas(2).container(Container("app").image("registry.k8s.io/pause:3.10"))
    await client.create(app, namespace="work")
    await client.create(
        {
            "metadata": {"name": "web", "namespace": "work"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        },
        kind=SERVICES,
    )
    await eventually(lambda: _ready(client, 2), PATIENCE_S, what="two are ready")
    await client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 4}}, namespace="work")
    await eventually(lambda: _ready(client, 4), PATIENCE_S, what="four are ready")
    (first, *_) = await client.list(PODS, "work")
    await client.delete(PODS, first["metadata"]["name"], "work")
    await eventually(lambda: _ready(client, 4), PATIENCE_S, what="four are ready again")
    job = {
        "metadata": {
            "name": "once", "namespace": "work",
        },
        "spec": {
            "template": {
                "metadata": {"annotations": {"simulated.steersman.dev/exit-after": "0s"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "busybox"}]},
            }
        },
    }  # fmt: skip
    await client.create(job, kind=JOBS)
    await eventually(lambda: _pod_of_job(client), PATIENCE_S, what="a pod of the Job")
    await client.delete(NAMESPACES, "work")
    await eventually(lambda: _gone(client), PATIENCE_S, what="the namespace is gone")


async def _has_account(client: Client) -> bool:
    await client.request("GET", "/api/v1/namespaces/work/serviceaccounts/default")
    return True


async def _ready(client: Client, count: int) -> bool:
    deployment = await client.get(DEPLOYMENTS, "web", "work")
    pods = [pod for pod in await client.list(PODS, "work") if pod["metadata"].get("labels", {}).get("app")]
    return deployment.get("status", {}).get("readyReplicas") == count == len(pods)


async def _pod_of_job(client: Client) -> bool:
    return any("job-name" in pod["metadata"].get("labels", {}) for pod in await client.list(PODS, "work"))


async def _gone(client: Client) -> bool:
    return await client.find(NAMESPACES, "work") is None


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(main())


def test_our_controllers_scheduler_and_nodes_on_the_original() -> None:
    async def main() -> None:
        async with (
            the_original() as client,
            our_parts(client, controllers=tuple(CONTROLLERS), scheduler=True, nodes=2),
        ):
            await a_day_at_work(client)

    run(main)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param({"controllers": True}, {"scheduler": True, "nodes": 2}, id="our scheduler"),
        pytest.param(
            {"scheduler": True}, {"controllers": tuple(CONTROLLERS), "nodes": 2}, id="our controllers"
        ),
        pytest.param({"controllers": True, "scheduler": True}, {"nodes": 2}, id="our nodes"),
    ],
)
def test_one_part_of_ours_among_the_original_ones(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    async def main() -> None:
        async with the_original(**theirs) as client, our_parts(client, **ours):
            await a_day_at_work(client)

    run(main)


def test_the_original_controllers_and_scheduler_on_ours(tmp_path: Path) -> None:
    async def main() -> None:
        async with LocalCluster(ClusterConfig(controllers=(), nodes=2)) as cluster:
            with ExitStack() as stack:
                await asyncio.to_thread(
                    stack.enter_context, original_parts(tmp_path, cluster.kubeconfig, cluster.authority.pem)
                )
                await a_day_at_work(cluster.client())

    run(main)


def test_caches_fill_on_the_original_at_every_start() -> None:
    """A WatchList of many objects comes in several gzip members."""

    async def main() -> None:
        async with the_original() as client:
            for number in range(MANY):
                body = {"metadata": {"name": f"c{number}", "namespace": "default"}, "data": {"k": "v" * 200}}
                await client.create(body, kind=CONFIG_MAPS)
            for _ in range(3):
                await _fill(client)

    run(main)


async def _fill(client: Client) -> None:
    manager = Manager(client, address=None)
    informer = manager.informers.get(CONFIG_MAPS, namespace="default")
    async with Scope() as scope, asyncio.timeout(PATIENCE_S):
        running = scope.start(manager.run())
        await informer.wait_synced()
        assert len(informer.cache) == MANY
        manager.stop()
        await running
