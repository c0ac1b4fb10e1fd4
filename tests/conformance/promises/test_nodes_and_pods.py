"""Promises about nodes, and about what pods are accepted."""

from __future__ import annotations

import pytest

from tests.support.api import ApiClient
from tests.support.manifests import pod

from .keeping import NAMESPACE, Collection, Object, keep, newer, promise, promised


async def _pods(client: ApiClient) -> Collection:
    """Pods of a namespace that has its account, as controllers give it."""
    await Collection(client, "v1", "serviceaccounts", NAMESPACE).create({"metadata": {"name": "default"}})
    return Collection(client, "v1", "pods", NAMESPACE)


@promise("Node Lifecycle should run through the lifecycle of a node")
async def test_the_life_of_a_node(client: ApiClient) -> None:
    nodes = Collection(client, "v1", "nodes")
    condition = {"status": "True", "message": "Set from e2e test", "reason": "E2E", "type": "Ready"}
    times = {"lastHeartbeatTime": None, "lastTransitionTime": None}
    wanted = {
        "metadata": {"name": "e2e-fake-node"},
        "spec": {"unschedulable": True},
        "status": {"phase": "Running", "conditions": [{**condition, **times}]},
    }
    created = await nodes.create(wanted)
    assert (await nodes.get("e2e-fake-node"))["metadata"]["name"] == "e2e-fake-node"
    patch = {"metadata": {"labels": {"e2e-fake-node": "patched"}}}
    patched = await nodes.patch("e2e-fake-node", patch, "strategic")
    assert patched["metadata"]["labels"]["e2e-fake-node"] == "patched"
    assert newer(patched, created)
    assert len(await nodes.list("e2e-fake-node=patched")) == 1

    def update(obj: Object) -> Object:
        obj["metadata"]["labels"]["e2e-fake-node"] = "updated"
        return obj

    assert (await nodes.change("e2e-fake-node", update))["metadata"]["labels"]["e2e-fake-node"] == "updated"
    await nodes.delete("e2e-fake-node")
    assert await nodes.gone("e2e-fake-node")


@promise(
    "Pods Extended Pods Set QOS Class should be set on Pods with matching resource requests and limits for memory and cpu"
)
async def test_the_class_of_service_of_a_pod(client: ApiClient) -> None:
    pods = await _pods(client)
    amounts = {"cpu": "100m", "memory": "100Mi"}
    container = {"name": "agnhost", "image": "agnhost", "args": ["pause"]}
    await pods.create(
        pod("x", containers=[{**container, "resources": {"limits": amounts, "requests": amounts}}])
    )
    assert (await pods.get("x"))["status"]["qosClass"] == "Guaranteed"


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(
            False, id=promised("RuntimeClass should reject a Pod requesting a non-existent RuntimeClass")
        ),
        pytest.param(True, id=promised("RuntimeClass should reject a Pod requesting a deleted RuntimeClass")),
    ],
)
def test_a_pod_needs_its_runtime_class(made: bool) -> None:
    async def test(client: ApiClient) -> None:
        pods = await _pods(client)
        classes = Collection(client, "node.k8s.io/v1", "runtimeclasses")
        wanted = pod("x", runtimeClassName="some")
        if made:
            await classes.create({"metadata": {"name": "some"}, "handler": "unimportant"})
            await pods.create(wanted, dryRun="All")
            await classes.delete("some")
            assert await classes.gone("some")
        status = await pods.refused(wanted, 403, dryRun="All")
        assert status["reason"] == "Forbidden"

    keep(test)


@promise("Sysctls should reject invalid sysctls")
async def test_sysctls_have_names(client: ApiClient) -> None:
    names = {"foo-": "bar", "kernel.shmmax": "100000000", "safe-and-unsafe": "100000000", "bar..": "42"}
    sysctls = [{"name": name, "value": value} for name, value in names.items()]
    status = await (await _pods(client)).refused(pod("x", securityContext={"sysctls": sysctls}), 422)
    message = status["message"]
    assert 'Invalid value: "foo-"' in message
    assert 'Invalid value: "bar.."' in message
    assert "safe-and-unsafe" not in message
    assert "kernel.shmmax" not in message


@promise("CSIInlineVolumes should support CSIVolumeSource in Pod API")
async def test_a_pod_with_volumes_of_a_driver(client: ApiClient) -> None:
    pods = await _pods(client)
    driver = {"driver": "e2e.example.com"}
    volumes = [
        {"name": "vol1", "csi": driver},
        {"name": "vol2", "csi": {**driver, "fsType": "ext4", "readOnly": True}},
    ]
    mounts = [{"name": name, "mountPath": f"/mnt/{name}"} for name in ("vol1", "vol2")]
    container = {
        "name": "c",
        "image": "busybox",
        "command": ["sh", "-c", "ls /mnt/*"],
        "volumeMounts": mounts,
    }
    wanted = pod("inline", volumes=volumes, containers=[container])
    created = await pods.create(wanted)
    assert (await pods.refused(wanted, 409))["reason"] == "AlreadyExists"
    found = await pods.get("inline")
    assert found["metadata"]["uid"] == created["metadata"]["uid"]
    assert found["spec"]["volumes"][:2] == volumes
    assert await pods.names() == ["inline"]
    patched = await pods.patch("inline", {"metadata": {"annotations": {"patched": "true"}}})
    assert patched["metadata"]["annotations"]["patched"] == "true"
    await pods.delete("inline")
    code, left = await client.ask("GET", pods.of("inline"))
    assert code == 404 or "deletionTimestamp" in left["metadata"]
