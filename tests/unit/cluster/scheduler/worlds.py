"""Clusters for tests, without an API: objects in, what the scheduler makes of them out."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steersman.cluster.scheduler.framework import CycleState, Handle, NoFit
from steersman.cluster.scheduler.model import NodeTable, PodInfo, read_pod
from steersman.cluster.scheduler.model.node import NodeFacts, read_node
from steersman.cluster.scheduler.placing import Placer
from steersman.cluster.scheduler.profiles import ProfileConfig, make_profile
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import NODES, PODS
from steersman.runtime import Cache
from steersman.runtime.cached import Intake

Object = dict[str, Any]

_pods = Intake(PODS)
_nodes = Intake(NODES)


def pod_object(name: str, *, labels: Mapping[str, str] | None = None, **spec: Any) -> Object:
    """A pod; `cpu`, `memory` and `uid` are short for what they say."""
    requests = {key: spec.pop(key) for key in ("cpu", "memory") if key in spec}
    status = spec.pop("status", {})
    metadata: Object = {
        "name": name,
        "namespace": spec.pop("namespace", "default"),
        "labels": dict(labels or {}),
    }
    metadata |= {"uid": spec.pop("uid", f"uid-{name}"), **spec.pop("metadata", {})}
    spec.setdefault("containers", [{"name": "c", "image": "image", "resources": {"requests": requests}}])
    return {"metadata": metadata, "spec": spec, "status": status}


def node_object(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
    images: Sequence[Object] = (),
    **spec: Any,
) -> Object:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", **(allocatable or {})}
    every = {"kubernetes.io/hostname": name, **(labels or {})}
    return {
        "metadata": {"name": name, "labels": every, "uid": f"uid-{name}"},
        "spec": spec,
        "status": {"allocatable": amounts, "images": list(images)},
    }


def a_pod(name: str = "pod", **parts: Any) -> PodInfo:
    return read_pod(_pods.read_object(pod_object(name, **parts)))


def a_node(name: str = "node", **parts: Any) -> NodeFacts:
    return read_node(_nodes.read_object(node_object(name, **parts)))


def make(obj: Object) -> PodInfo:
    return read_pod(_pods.read_object(obj))


@dataclass
class World:
    """Nodes with pods, other objects, and a profile."""

    config: ProfileConfig = field(default_factory=ProfileConfig)
    nodes: NodeTable = field(default_factory=NodeTable)
    namespaces: dict[str, Mapping[str, str]] = field(default_factory=dict)
    evicted: list[tuple[str, str, list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.caches: dict[ResourceType, Cache] = {}
        self.handle = Handle(None, None, self.nodes, self.cache)  # type: ignore[arg-type]
        self.handle.namespace_labels = lambda name: self.namespaces.get(name, {})
        self.handle.evict = lambda pod, node, victims: self.evicted.append(
            (pod.name, node, [victim.name for victim in victims])
        )
        self.profile = make_profile(self.config, self.handle)
        self.placer = Placer(self.profile, self.handle, random.Random(1))
        self.handle.check, self.handle.simulate = self.placer.check, self.placer.simulate
        self.handle.sign = self.placer.sign

    def cache(self, resource: ResourceType) -> Cache:
        return self.caches.setdefault(resource, Cache(Intake(resource)))

    def store(self, resource: ResourceType, obj: Object) -> None:
        obj["metadata"] = {"resourceVersion": "1", "uid": f"uid-{obj['metadata']['name']}", **obj["metadata"]}
        self.cache(resource).wrote(obj)

    def add_node(self, name: str, **parts: Any) -> World:
        self.nodes.put(a_node(name, **parts))
        return self

    def add_pod(self, node: str, name: str, **parts: Any) -> World:
        self.nodes.place(a_pod(name, nodeName=node, **parts), node)
        return self

    def place(self, pod: PodInfo) -> str | NoFit:
        return self.placer.place(CycleState(), pod)

    def node_for(self, name: str = "new", **parts: Any) -> str:
        """The node's name, or the reasons in kube-scheduler's words."""
        placed = self.place(a_pod(name, **parts))
        return placed if isinstance(placed, str) else placed.message
