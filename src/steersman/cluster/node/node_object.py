"""The Node object: registration, and its status (conditions, capacity, addresses). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from steersman.cluster.node.cri import ImageStatus, RuntimeVersion
from steersman.cluster.schema.version import KUBERNETES_VERSION
from steersman.objects.amounts import parsed, subtracted, texts
from steersman.objects.conditions import find_condition
from steersman.objects.kinds import Object
from steersman.objects.kinds.types.core_v1 import (
    Node,
    NodeAddress,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    Taint,
)

__all__ = [
    "NodeConfig",
    "NodeHealth",
    "initial_node",
    "node_conditions",
    "node_status_patch",
    "node_transitions",
]


#: No more images than this are listed.
_MOST_IMAGES: Final = 50
_MOST_NAMES: Final = 5


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """The health of a node for its conditions. `problem` is the reason it is not ready."""

    problem: str = ""
    memory_pressure: bool = False
    disk_pressure: bool = False
    pid_pressure: bool = False

    @property
    def starved(self) -> str:
        """The resource that the node is short of, if any."""
        if self.memory_pressure:
            return "memory"
        return "ephemeral-storage" if self.disk_pressure else "pids" if self.pid_pressure else ""


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """The configuration of a node that it registers with."""

    name: str
    addresses: tuple[str, ...]
    capacity: Mapping[str, str]
    #: Kept back from pods.
    reserved: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    #: Of Kubernetes, as nodes show it.
    version: str = f"v{KUBERNETES_VERSION}"
    architecture: str = "amd64"
    operating_system: str = "linux"
    #: The names of the system's release and of its kernel's.
    system: str = "Steersman"
    kernel: str = ""
    #: Where the node's own API is served; 0: nowhere.
    port: int = 0
    #: 32 hexadecimal digits that stay the same for this machine.
    machine_id: str = ""
    provider_id: str = ""


def initial_node(config: NodeConfig, runtime: RuntimeVersion, health: NodeHealth, now: str) -> Node:
    """The node as it registers."""
    systems = {"os": config.operating_system, "arch": config.architecture}
    labels = {
        "kubernetes.io/hostname": config.name,
        **{f"kubernetes.io/{name}": value for name, value in systems.items()},
        **{f"beta.kubernetes.io/{name}": value for name, value in systems.items()},
        **config.labels,
    }
    spec: NodeSpec = {}
    if config.taints:
        spec["taints"] = [{**taint} for taint in config.taints]
    if config.provider_id:
        spec["providerID"] = config.provider_id
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": config.name,
            "labels": labels,
            "annotations": {
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
                **config.annotations,
            },
        },
        "spec": spec,
        "status": {
            **_circumstances(config, runtime),
            "conditions": node_conditions((), health, now),
        },
    }


def _circumstances(config: NodeConfig, runtime: RuntimeVersion) -> NodeStatus:
    """What of the status does not change while the node runs."""
    addresses: list[NodeAddress] = [
        {"type": "InternalIP", "address": address} for address in config.addresses
    ]
    status: NodeStatus = {
        "capacity": dict(config.capacity),
        "allocatable": texts(subtracted(parsed(config.capacity), parsed(config.reserved))),
        "addresses": [*addresses, {"type": "Hostname", "address": config.name}],
        "nodeInfo": {
            "machineID": config.machine_id,
            "systemUUID": config.machine_id,
            "bootID": config.machine_id,
            "kernelVersion": config.kernel,
            "osImage": config.system,
            "containerRuntimeVersion": f"{runtime.name}://{runtime.version}",
            "kubeletVersion": config.version,
            "kubeProxyVersion": "",
            "operatingSystem": config.operating_system,
            "architecture": config.architecture,
            "runningInUserNamespace": False,
        },
    }
    if config.port:
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": config.port}}
    return status


#: Type → (reason and message if it is so, if it is not).
_PRESSURES: Final = {
    "MemoryPressure": (
        ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
        ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ),
    "DiskPressure": (
        ("KubeletHasDiskPressure", "kubelet has disk pressure"),
        ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ),
    "PIDPressure": (
        ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
        ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ),
}


def node_conditions(old: Iterable[NodeCondition], health: NodeHealth, now: str) -> list[NodeCondition]:
    """The conditions that the node itself reports; `Ready` comes last."""
    found = (health.memory_pressure, health.disk_pressure, health.pid_pressure)
    known = list(old)
    conditions = []
    for (kind, words), pressed in zip(_PRESSURES.items(), found, strict=True):
        reason, message = words[0 if pressed else 1]
        conditions.append(_condition(known, kind, "True" if pressed else "False", reason, message, now))
    if health.problem:
        ready = _condition(known, "Ready", "False", "KubeletNotReady", health.problem, now)
    else:
        ready = _condition(known, "Ready", "True", "KubeletReady", "kubelet is posting ready status", now)
    return [*conditions, ready]


#: Type → what events call it (if it is so, if it is not).
_EVENTS: Final = {
    "MemoryPressure": ("NodeHasInsufficientMemory", "NodeHasSufficientMemory"),
    "DiskPressure": ("NodeHasDiskPressure", "NodeHasNoDiskPressure"),
    "PIDPressure": ("NodeHasInsufficientPID", "NodeHasSufficientPID"),
    "Ready": ("NodeReady", "NodeNotReady"),
}


def node_transitions(old: Iterable[NodeCondition], new: Iterable[NodeCondition]) -> Iterator[str]:
    """What is to be told about a node whose conditions have changed: reasons of events."""
    before = {one["type"]: one.get("status") for one in old}
    for condition in new:
        kind, status = condition["type"], condition["status"]
        # A new node is not told to be ready: it never was anything else.
        if before.get(kind) != status and (kind in before or kind != "Ready"):
            yield _EVENTS[kind][0 if status == "True" else 1]


def _condition(
    old: Iterable[NodeCondition], kind: str, status: str, reason: str, message: str, now: str
) -> NodeCondition:
    before = find_condition(old, kind)
    unmoved = before is not None and before.get("status") == status
    since = before.get("lastTransitionTime") if before is not None and unmoved else None
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": since or now,
    }


def node_status_patch(
    config: NodeConfig,
    runtime: RuntimeVersion,
    health: NodeHealth,
    images: Sequence[ImageStatus],
    node: Node,
    now: str,
    *,
    due: bool,
) -> Object:
    """What to send so that the node's status is right; empty if it is and no report is `due`."""
    status = node.get("status") or {}
    patch: Object = {
        name: value
        for name, value in _circumstances(config, runtime).items()
        if not _includes(status.get(name), value)
    }
    if "addresses" in patch:
        patch["addresses"] = [*patch["addresses"], {"$patch": "replace"}]
    listed = [
        {"names": list(image.names[:_MOST_NAMES]), "sizeBytes": image.size_bytes}
        for image in sorted(images, key=lambda image: -image.size_bytes)[:_MOST_IMAGES]
    ]
    if listed != (status.get("images") or []):
        patch["images"] = listed
    old = status.get("conditions") or ()
    conditions = node_conditions(old, health, now)
    if due or patch or any(_differs(find_condition(old, one["type"]), one) for one in conditions):
        patch["conditions"] = conditions
    return patch


def _includes(there: Any, wanted: Any) -> bool:
    """Whether what is there says all that is wanted; others may have added to it."""
    if isinstance(wanted, dict):
        return isinstance(there, dict) and all(
            _includes(there.get(name), one) for name, one in wanted.items()
        )
    return bool(there == wanted) or (not there and not wanted)


def _differs(there: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    return there is None or any(there.get(name) != wanted[name] for name in ("status", "reason", "message"))
