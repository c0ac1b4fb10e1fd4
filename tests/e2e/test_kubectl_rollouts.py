"""Rollouts as people do them: kubectl rollout, scale, set image and autoscale's target, with controllers."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from steersman.aio import Scope
from steersman.cluster.controllers.registry import add_controllers
from steersman.cluster.controllers.setup import Setup
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.objects.resources import NODES
from steersman.runtime import Manager
from tests.integration.controllers.workloads import Nodes
from tests.support.kubectl import WAIT, Kubectl
from tests.support.manifests import deployment

pytestmark = pytest.mark.slow

CONTROLLERS = ("deployment", "replicaset", "replicationcontroller", "statefulset", "daemonset")


class _Living:
    """A cluster with controllers and played nodes, in a thread of its own."""

    def __init__(self) -> None:
        self.kubeconfig = Path()
        self._ready = threading.Event()
        self._stop: asyncio.Event
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self) -> _Living:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with LocalCluster(ClusterConfig(controllers=())) as cluster, Scope() as scope:
            manager = Manager(cluster.client(), address=None)
            add_controllers(Setup(manager), CONTROLLERS)
            Nodes(manager.client, manager)
            scope.start(manager.run())
            for name in ("node-1", "node-2"):
                await manager.client.create({"metadata": {"name": name}}, kind=NODES)
                await manager.client.patch(NODES, name, {"spec": {"taints": None}})
            self.kubeconfig = cluster.kubeconfig
            self._ready.set()
            await self._stop.wait()
            scope.cancel()


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    if not shutil.which("kubectl"):
        pytest.skip("there is no kubectl on the PATH")
    with _Living() as living:
        yield Kubectl(living.kubeconfig, tmp_path_factory.mktemp("home"))


def rolled_out(kubectl: Kubectl, what: str) -> str:
    return kubectl("rollout", "status", what, WAIT).out


def image(kubectl: Kubectl, what: str) -> str:
    found: str = kubectl.get(what)["spec"]["template"]["spec"]["containers"][0]["image"]
    return found


def test_a_deployments_life(kubectl: Kubectl) -> None:
    kubectl.create(deployment("web", 3, "nginx:1"))
    assert 'deployment "web" successfully rolled out' in rolled_out(kubectl, "deployment/web")
    kubectl("set", "image", "deployment/web", "main=nginx:2")
    rolled_out(kubectl, "deployment/web")
    kubectl("rollout", "restart", "deployment/web")
    rolled_out(kubectl, "deployment/web")
    history = kubectl("rollout", "history", "deployment/web").rows
    assert [row[0] for row in history if row and row[0].isdigit()] == ["1", "2", "3"]
    assert "nginx:1" in kubectl("rollout", "history", "deployment/web", "--revision=1").out
    kubectl("rollout", "undo", "deployment/web", "--to-revision=1")
    rolled_out(kubectl, "deployment/web")
    assert image(kubectl, "deployment web") == "nginx:1"
    kubectl("rollout", "undo", "deployment/web")
    rolled_out(kubectl, "deployment/web")
    assert image(kubectl, "deployment web") == "nginx:2"
    kubectl("scale", "deployment/web", "--replicas=5")
    rolled_out(kubectl, "deployment/web")
    [row] = kubectl("get", "deployment", "web").rows
    assert row[:4] == ["web", "5/5", "5", "5"]
    kubectl("wait", "--for=condition=Available", "deployment/web", WAIT)
    described = kubectl("describe", "deployment", "web").out
    assert "ScalingReplicaSet" in described
    assert "NewReplicaSetAvailable" in described


def test_a_rollout_is_paused_and_resumed(kubectl: Kubectl) -> None:
    kubectl.create(deployment("paused", 2, "nginx:1"))
    rolled_out(kubectl, "deployment/paused")
    kubectl("rollout", "pause", "deployment/paused")
    kubectl("set", "image", "deployment/paused", "main=nginx:2")
    assert "error: cannot restart" not in kubectl("get", "deployment", "paused").out
    [row] = kubectl("get", "rs", "-l", "app=paused").rows
    assert row[1] == "2"
    kubectl("rollout", "resume", "deployment/paused")
    rolled_out(kubectl, "deployment/paused")
    assert sorted(row[1] for row in kubectl("get", "rs", "-l", "app=paused").rows) == ["0", "2"]


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_sets_with_a_history(kubectl: Kubectl, kind: str) -> None:
    what = f"{kind.lower()}/{kind.lower()}-test"
    labels = {"app": f"{kind.lower()}-test"}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
        },
        **({"replicas": 2, "serviceName": "x"} if kind == "StatefulSet" else {}),
    }
    name = what.partition("/")[2]
    kubectl.create({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
    rolled_out(kubectl, what)
    kubectl("set", "image", what, "main=nginx:2")
    rolled_out(kubectl, what)
    history = kubectl("rollout", "history", what).rows
    assert [row[0] for row in history if row and row[0].isdigit()] == ["1", "2"]
    kubectl("rollout", "undo", what)
    rolled_out(kubectl, what)
    assert image(kubectl, what.replace("/", " ")) == "nginx:1"
    kubectl("rollout", "restart", what)
    rolled_out(kubectl, what)
    pods = kubectl.get("pods", "-l", f"app={name}")["items"]
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"nginx:1"}
    assert all("kubectl.kubernetes.io/restartedAt" in pod["metadata"]["annotations"] for pod in pods)


def test_a_replication_controller_is_scaled(kubectl: Kubectl) -> None:
    labels = {"app": "rc"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
    }
    spec = {"replicas": 1, "selector": labels, "template": template}
    kubectl.create(
        {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "rc"}, "spec": spec}
    )
    kubectl("scale", "rc/rc", "--replicas=3", WAIT)
    kubectl("wait", "--for=jsonpath={.status.readyReplicas}=3", "rc/rc", WAIT)
    assert "SuccessfulCreate" in kubectl("describe", "rc", "rc").out


def test_a_deployment_can_be_autoscaled(kubectl: Kubectl) -> None:
    kubectl.create(deployment("target", 1, "nginx:1"))
    kubectl("autoscale", "deployment", "target", "--min=1", "--max=3", "--cpu-percent=80")
    scale = kubectl("get", "--raw", "/apis/apps/v1/namespaces/default/deployments/target/scale").json
    assert scale["status"]["selector"] == "app=target"
