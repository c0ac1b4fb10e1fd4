"""A node with its pods and the sum of their requests (NodeInfo).

`NodeTable` owns these and records which have changed. Plugins read them; only a preemption simulation, on a
copy, adds and removes pods itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
import orjson

from steersman.cluster.scheduler.model.pod import HostPort, PodInfo
from steersman.cluster.scheduler.model.requests import units
from steersman.cluster.scheduler.model.tolerations import Taint, read_taints
from steersman.objects.amounts import parsed
from steersman.objects.kinds.views.nodes import NodeFactsView, NodeImage
from steersman.runtime import Cached, Key

__all__ = ["Allocatable", "NodeFacts", "NodeInfo", "clash", "read_node"]

_CACHED: Final = 1024
_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - not bound to, only compared


class Allocatable(NamedTuple):
    """The allocatable resources of a node."""

    cpu: int
    memory: int
    storage: int
    pods: int
    others: Mapping[str, int]


class NodeFacts(msgspec.Struct, frozen=True, eq=False):
    """The fields of a Node object that scheduling reads."""

    cached: Cached
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    allocatable: Allocatable
    images: Mapping[str, int]

    @property
    def name(self) -> str:
        return self.cached.key.name


def read_node(cached: Cached) -> NodeFacts:
    """Raises `msgspec.DecodeError` for what is no node."""
    raw = _decode(cached.data)
    return NodeFacts(
        cached,
        raw.metadata.labels,
        read_taints(bytes(raw.spec.taints)),
        raw.spec.unschedulable,
        _allocatable(bytes(raw.status.allocatable)),
        _images(bytes(raw.status.images)),
    )


_decode = msgspec.json.Decoder(NodeFactsView).decode
_decode_images = msgspec.json.Decoder(list[NodeImage] | None).decode


@lru_cache(_CACHED)
def _allocatable(data: bytes) -> Allocatable:
    amounts = {
        name: units(name, amount) for name, amount in parsed(orjson.loads(data) if data else None).items()
    }
    cpu, memory, storage, pods = (
        amounts.pop(name, 0) for name in ("cpu", "memory", "ephemeral-storage", "pods")
    )
    return Allocatable(cpu, memory, storage, pods, amounts)


@lru_cache(_CACHED)
def _images(data: bytes) -> Mapping[str, int]:
    images = (_decode_images(data) or ()) if data else ()
    return {name: image.size_bytes for image in images for name in image.names}


class NodeInfo:
    """A node and its pods."""

    __slots__ = (
        "affine", "cpu", "facts", "memory", "others", "pods", "ports", "repelling", "row",
        "storage", "usual_cpu", "usual_memory",
    )  # fmt: skip

    def __init__(self, facts: NodeFacts, row: int) -> None:
        self.facts = facts
        self.row = row
        self.pods: dict[Key, PodInfo] = {}
        #: Those of them with any affinity, and with required anti-affinity.
        self.affine: dict[Key, PodInfo] = {}
        self.repelling: dict[Key, PodInfo] = {}
        #: How many pods hold a port; mostly one.
        self.ports: dict[HostPort, int] = {}
        self.cpu = self.memory = self.storage = self.usual_cpu = self.usual_memory = 0
        self.others: dict[str, int] = {}

    @property
    def name(self) -> str:
        return self.facts.cached.key.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self.facts.labels

    def object(self) -> dict[str, Any]:
        """The whole Node: a fresh one each time."""
        return self.facts.cached.object()

    def add(self, pod: PodInfo) -> None:
        key = pod.key
        self.pods[key] = pod
        if pod.affinity:
            self.affine[key] = pod
            if pod.affinity.required_anti:
                self.repelling[key] = pod
        for port in pod.ports:
            self.ports[port] = self.ports.get(port, 0) + 1
        self._count(pod, 1)

    def remove(self, key: Key) -> None:
        pod = self.pods.pop(key)
        self.affine.pop(key, None)
        self.repelling.pop(key, None)
        for port in pod.ports:
            self.ports[port] -= 1
            if not self.ports[port]:
                del self.ports[port]
        self._count(pod, -1)

    def exchange(self, pod: PodInfo) -> None:
        """Another object of a pod that takes the same."""
        for pods in (self.pods, self.affine, self.repelling):
            if pod.key in pods:
                pods[pod.key] = pod

    def _count(self, pod: PodInfo, sign: int) -> None:
        requests = pod.requests
        self.cpu += sign * requests.cpu
        self.memory += sign * requests.memory
        self.storage += sign * requests.storage
        self.usual_cpu += sign * requests.usual_cpu
        self.usual_memory += sign * requests.usual_memory
        for name, amount in requests.others:
            self.others[name] = self.others.get(name, 0) + sign * amount

    def copy(self) -> NodeInfo:
        """For trying things."""
        twin = NodeInfo(self.facts, self.row)
        for name in ("cpu", "memory", "storage", "usual_cpu", "usual_memory"):
            setattr(twin, name, getattr(self, name))
        for name in ("pods", "affine", "repelling", "ports", "others"):
            setattr(twin, name, getattr(self, name).copy())
        return twin


def clash(one: HostPort, other: HostPort) -> bool:
    """Whether two pods of a node cannot hold these ports; all addresses clash with each."""
    if one.host_port != other.host_port or one.protocol != other.protocol:
        return False
    one_ip, other_ip = one.host_ip or _ANY_ADDRESS, other.host_ip or _ANY_ADDRESS
    return one_ip == other_ip or _ANY_ADDRESS in (one_ip, other_ip)
