"""Pods go where their volumes are, or where volumes can be made; claims are bound on the way."""

from __future__ import annotations

from typing import Any

from steersman.client import Client
from steersman.objects.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, STORAGE_CLASSES

from .clusters import Cluster, with_scheduler

Object = dict[str, Any]


def _claim(name: str, storage_class: str, **spec: Any) -> Object:
    amount = {"requests": {"storage": "1Gi"}}
    return {
        "metadata": {"name": name},
        "spec": {
            "storageClassName": storage_class,
            "accessModes": ["ReadWriteOnce"],
            "resources": amount,
            **spec,
        },
    }


def _volume(name: str, node: str, storage: str = "1Gi") -> Object:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    return {
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": storage},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }


def _using(claim: str) -> Object:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


async def _classes(client: Client) -> None:
    for name, provisioner, mode in (
        ("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
        ("made", "example.com/maker", "WaitForFirstConsumer"),
        ("eager", "example.com/maker", "Immediate"),
    ):
        storage_class = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}
        await client.create(storage_class, kind=STORAGE_CLASSES)


async def _available(client: Client, volume: Object) -> None:
    made = await client.create(volume, kind=PERSISTENT_VOLUMES)
    await client.replace(
        {**made, "status": {"phase": "Available"}}, kind=PERSISTENT_VOLUMES, subresource="status"
    )


async def _bind(client: Client, claim: str, volume: str) -> None:
    """What the volume controller does at last."""
    metadata = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    await client.patch(
        PERSISTENT_VOLUME_CLAIMS, claim, {"metadata": metadata, "spec": {"volumeName": volume}}
    )


@with_scheduler()
async def test_a_claim_gets_the_smallest_volume_of_the_node_before_the_pod_is_bound(cluster: Cluster) -> None:
    client = cluster.client
    await _classes(client)
    await _available(client, _volume("large", "two", "10Gi"))
    await _available(client, _volume("small", "two"))
    await client.create(_claim("c", "local"), kind=PERSISTENT_VOLUME_CLAIMS)
    await cluster.pod("p", **_using("c"))

    async def reserved() -> Object | None:
        reference: Object | None = (await client.get(PERSISTENT_VOLUMES, "small"))["spec"].get("claimRef")
        return reference

    assert (await cluster.until(reserved))["name"] == "c"
    await _bind(client, "c", "small")
    assert await cluster.node_of("p") == "two"
    assert "claimRef" not in (await client.get(PERSISTENT_VOLUMES, "large"))["spec"]


@with_scheduler()
async def test_a_provisioner_is_told_the_node(cluster: Cluster) -> None:
    client = cluster.client
    await _classes(client)
    await client.create(_claim("c", "made"), kind=PERSISTENT_VOLUME_CLAIMS)
    await cluster.pod("p", nodeSelector={"kubernetes.io/hostname": "three"}, **_using("c"))

    async def selected() -> str | None:
        annotations = (await client.get(PERSISTENT_VOLUME_CLAIMS, "c"))["metadata"].get("annotations") or {}
        node: str | None = annotations.get("volume.kubernetes.io/selected-node")
        return node

    assert await cluster.until(selected) == "three"
    assert (await client.get(PODS, "p"))["status"]["nominatedNodeName"] == "three", (
        "others are told meanwhile"
    )
    await client.create(_volume("fresh", "three"), kind=PERSISTENT_VOLUMES)
    await _bind(client, "c", "fresh")
    assert await cluster.node_of("p") == "three"


@with_scheduler()
async def test_a_provisioner_that_gives_up_has_the_pod_tried_elsewhere(cluster: Cluster) -> None:
    client = cluster.client
    await _classes(client)
    await client.create(_claim("c", "made"), kind=PERSISTENT_VOLUME_CLAIMS)
    await cluster.pod("p", **_using("c"))

    async def selected() -> str | None:
        annotations = (await client.get(PERSISTENT_VOLUME_CLAIMS, "c"))["metadata"].get("annotations") or {}
        node: str | None = annotations.get("volume.kubernetes.io/selected-node")
        return node

    await cluster.until(selected)
    nothing = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": None}}}
    await client.patch(PERSISTENT_VOLUME_CLAIMS, "c", nothing)
    assert await cluster.refusal("p") == (
        'running PreBind plugin "VolumeBinding": provisioning failed for PVC "c"'
    )
    assert await cluster.until(selected) in ("one", "two", "three")


@with_scheduler()
async def test_claims_that_are_not_there_or_not_bound_keep_a_pod_waiting(cluster: Cluster) -> None:
    client = cluster.client
    await _classes(client)
    await cluster.pod("p", **_using("c"))
    assert await cluster.refusal("p") == (
        '0/3 nodes are available: persistentvolumeclaim "c" not found. not found'
    )
    await client.create(_claim("c", "eager"), kind=PERSISTENT_VOLUME_CLAIMS)
    assert (await cluster.refusal("p", "unbound")).startswith(
        "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    )
    await client.create(_volume("v", "two"), kind=PERSISTENT_VOLUMES)
    await _bind(client, "c", "v")
    assert await cluster.node_of("p") == "two"


@with_scheduler()
async def test_a_claim_for_one_pod_is_not_shared(cluster: Cluster) -> None:
    client = cluster.client
    await _classes(client)
    await client.create(_volume("v", "two"), kind=PERSISTENT_VOLUMES)
    await client.create(_claim("c", "local", accessModes=["ReadWriteOncePod"]), kind=PERSISTENT_VOLUME_CLAIMS)
    await _bind(client, "c", "v")
    await cluster.pod("p", **_using("c"))
    assert await cluster.node_of("p") == "two"
    await cluster.pod("q", **_using("c"))
    assert (await cluster.refusal("q")).startswith(
        "0/3 nodes are available: 3 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access "
        "mode already in-use by another pod."
    )
