"""What single plugins say, in kube-scheduler's words."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.scheduler.framework import ClusterEvent, EventKind
from steersman.cluster.scheduler.framework.plugin import EnqueueExtensions
from steersman.objects.resources import (
    CSI_NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    REPLICA_SETS,
    STORAGE_CLASSES,
)

from .worlds import World, a_node, a_pod

_MB = 1024 * 1024
_GONE = "0/1 nodes are available: "


@pytest.mark.parametrize(
    ("parts", "reasons"),
    [
        ({"cpu": "5"}, "1 Insufficient cpu."),
        ({"cpu": "5", "memory": "9Gi"}, "1 Insufficient cpu, 1 Insufficient memory."),
        ({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"ephemeral-storage": "1"}}}]},
         "1 Insufficient ephemeral-storage."),
        ({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"a.com/gpu": "1"}}}]},
         "1 Insufficient a.com/gpu."),
        ({"cpu": "3", "overhead": {"cpu": "2"}}, "1 Insufficient cpu."),
        ({"cpu": "1", "initContainers": [{"name": "i", "image": "i", "resources": {"requests": {"cpu": "5"}}}]},
         "1 Insufficient cpu."),
        ({"cpu": "1", "resources": {"requests": {"cpu": "5"}}}, "1 Insufficient cpu."),
        ({"nodeSelector": {"a": "b"}}, "1 node(s) didn't match Pod's node affinity/selector."),
    ],
    ids=["cpu", "two resources", "storage", "extended", "overhead", "init containers", "pod level", "selector"],
)  # fmt: skip
def test_what_is_missing_is_named(parts: dict[str, Any], reasons: str) -> None:
    assert World().add_node("a").node_for(**parts) == _GONE + reasons


def test_a_full_node_takes_no_more_pods() -> None:
    world = World().add_node("a", allocatable={"pods": "1"}).add_pod("a", "p")
    assert world.node_for() == _GONE + "1 Too many pods."


def test_a_malformed_selector_is_the_pods_own_problem() -> None:
    bad = {"labelSelector": {"matchLabels": {"a": "not valid!"}}, "topologyKey": "k"}
    far = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [bad]}}
    world = World().add_node("a")
    assert world.node_for(affinity=far).startswith(_GONE)
    assert world.node_for() == "a"


def test_namespaces_are_selected_by_their_labels() -> None:
    term = {
        "labelSelector": {},
        "topologyKey": "kubernetes.io/hostname",
        "namespaceSelector": {"matchLabels": {"team": "x"}},
    }
    far = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world = World(namespaces={"other": {"team": "x"}}).add_node("a").add_pod("a", "p", namespace="other")
    assert world.node_for(affinity=far) == _GONE + "1 node(s) didn't match pod anti-affinity rules."
    world.add_pod("a", "p", namespace="default")
    world.nodes.displace(a_pod("p", namespace="other").key)
    assert world.node_for(affinity=far) == "a"


def test_nodes_that_have_the_image_are_preferred() -> None:
    images = [{"names": ["image:latest"], "sizeBytes": 900 * _MB}]
    world = World().add_node("a").add_node("b", images=images).add_node("c")
    assert world.node_for() == "b"


def test_pods_of_a_replica_set_are_spread_over_zones_unasked() -> None:
    world = World()
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        world.add_node(name, labels={"topology.kubernetes.io/zone": zone})
    selector = {"matchLabels": {"app": "x"}}
    world.store(
        REPLICA_SETS, {"metadata": {"name": "rs", "namespace": "default"}, "spec": {"selector": selector}}
    )
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u", "controller": True}
    parts: dict[str, Any] = {"labels": {"app": "x"}, "metadata": {"ownerReferences": [owner]}}
    world.add_pod("a1", "p", **parts)
    assert world.node_for(**parts) == "b1"


def _volume(world: World, name: str, claim: str, **parts: Any) -> None:
    labels = parts.pop("labels", {})
    world.store(PERSISTENT_VOLUMES, {"metadata": {"name": name, "labels": labels}, "spec": parts})
    annotations = {"pv.kubernetes.io/bind-completed": "yes"}
    metadata = {"name": claim, "namespace": "default", "annotations": annotations}
    world.store(PERSISTENT_VOLUME_CLAIMS, {"metadata": metadata, "spec": {"volumeName": name}})


def _using(*claims: str) -> dict[str, Any]:
    return {"volumes": [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]}


def test_a_volume_is_used_in_its_zone() -> None:
    world = World().add_node("a", labels={"topology.kubernetes.io/zone": "1"})
    _volume(world, "v", "c", labels={"topology.kubernetes.io/zone": "2__3"})
    assert world.node_for(**_using("c")) == _GONE + "1 node(s) had no available volume zone."
    world.add_node("b", labels={"topology.kubernetes.io/zone": "3"})
    assert world.node_for(**_using("c")) == "b"


def test_a_node_attaches_only_so_many_volumes() -> None:
    world = World().add_node("a")
    driver = {"name": "d", "nodeID": "a", "allocatable": {"count": 2}}
    world.store(CSI_NODES, {"metadata": {"name": "a"}, "spec": {"drivers": [driver]}})
    for number in range(3):
        _volume(world, f"v{number}", f"c{number}", csi={"driver": "d", "volumeHandle": str(number)})
    world.add_pod("a", "p", **_using("c0", "c1"))
    assert world.node_for(**_using("c2")) == _GONE + "1 node(s) exceed max volume count."
    assert world.node_for(**_using("c1")) == "a"


def test_a_bound_volume_decides_where_the_pod_goes() -> None:
    world = World().add_node("a").add_node("b")
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["b"]}]}
    _volume(world, "v", "c", nodeAffinity={"required": {"nodeSelectorTerms": [term]}})
    assert world.node_for(**_using("c")) == "b"
    world.nodes.remove("b")
    assert world.node_for(**_using("c")) == _GONE + "1 node(s) didn't match PersistentVolume's node affinity."


def test_a_class_may_limit_where_volumes_can_be_made() -> None:
    world = World().add_node("a", labels={"zone": "1"}).add_node("b", labels={"zone": "2"})
    allowed = [{"matchLabelExpressions": [{"key": "zone", "values": ["2"]}]}]
    made = {"provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": allowed}
    world.store(STORAGE_CLASSES, {"metadata": {"name": "made"}, **made})
    metadata = {"name": "c", "namespace": "default"}
    world.store(PERSISTENT_VOLUME_CLAIMS, {"metadata": metadata, "spec": {"storageClassName": "made"}})
    assert world.node_for(**_using("c")) == "b"


def test_a_disk_is_written_by_one_pod_of_a_node() -> None:
    def disk(read_only: bool) -> dict[str, Any]:
        return {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "x", "readOnly": read_only}}]}

    world = World().add_node("a").add_pod("a", "p", **disk(True))
    assert world.node_for(**disk(True)) == "a"
    assert world.node_for(**disk(False)) == _GONE + "1 node(s) had no available disk."


_SMALL = a_node(allocatable={"cpu": "1"})
_BIG = a_node(allocatable={"cpu": "4"})
_TAINTED = a_node(taints=[{"key": "k", "effect": "NoSchedule"}])
_LABELED = a_node(labels={"a": "b"})
_ZONED = a_node(labels={"zone": "1"})
_SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "x"}},
        }
    ]
}
_PORT = {"containers": [{"name": "c", "image": "i", "ports": [{"hostPort": 80, "containerPort": 80}]}]}


@pytest.mark.parametrize(
    ("plugin", "parts", "what", "helps"),
    [
        ("NodeResourcesFit", {"cpu": "2"}, ClusterEvent(EventKind.NODE_ALLOCATABLE, _SMALL, _BIG), True),
        ("NodeResourcesFit", {"cpu": "5"}, ClusterEvent(EventKind.NODE_ALLOCATABLE, _SMALL, _BIG), False),
        ("NodeResourcesFit", {"cpu": "2"}, ClusterEvent(EventKind.NODE_ALLOCATABLE, _BIG, _BIG), False),
        ("NodeResourcesFit", {"cpu": "2"}, ClusterEvent(EventKind.NODE_ADDED, None, _BIG), True),
        ("NodeResourcesFit", {"cpu": "2"}, ClusterEvent(EventKind.NODE_LABELS, _BIG, _BIG), None),
        ("TaintToleration", {}, ClusterEvent(EventKind.NODE_TAINTS, _TAINTED, _BIG), True),
        ("TaintToleration", {}, ClusterEvent(EventKind.NODE_TAINTS, _BIG, _TAINTED), False),
        (
            "NodeAffinity",
            {"nodeSelector": {"a": "b"}},
            ClusterEvent(EventKind.NODE_LABELS, _BIG, _LABELED),
            True,
        ),
        (
            "NodeAffinity",
            {"nodeSelector": {"a": "b"}},
            ClusterEvent(EventKind.NODE_LABELS, _LABELED, _LABELED),
            False,
        ),
        (
            "NodeUnschedulable",
            {},
            ClusterEvent(EventKind.NODE_TAINTS, a_node(unschedulable=True), _BIG),
            True,
        ),
        ("NodePorts", _PORT, ClusterEvent(EventKind.POD_DELETED, a_pod(**_PORT)), True),
        ("NodePorts", _PORT, ClusterEvent(EventKind.POD_DELETED, a_pod()), False),
        ("PodTopologySpread", _SPREAD, ClusterEvent(EventKind.NODE_ADDED, None, _ZONED), True),
        ("PodTopologySpread", _SPREAD, ClusterEvent(EventKind.NODE_ADDED, None, _BIG), False),
        (
            "PodTopologySpread",
            _SPREAD,
            ClusterEvent(EventKind.POD_ADDED, None, a_pod(labels={"app": "x"})),
            True,
        ),
        ("PodTopologySpread", _SPREAD, ClusterEvent(EventKind.POD_ADDED, None, a_pod()), False),
    ],
)
def test_plugins_know_what_may_help(
    plugin: str, parts: dict[str, Any], what: ClusterEvent, helps: bool | None
) -> None:
    waking = next(each for each in World().profile.plugins if each.name == plugin)
    assert isinstance(waking, EnqueueExtensions)
    if helps is None:
        assert what.kind not in waking.hints
    else:
        hint = waking.hints[what.kind]
        assert hint is not None
        assert hint(a_pod(**parts), what) is helps
