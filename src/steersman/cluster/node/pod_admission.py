"""Pod admission by the kubelet: whether a node accepts a pod bound to it, and the reason if not. Pure.

The scheduler has checked most of this, but pods can also be bound by hand, and nodes change meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from steersman.objects.amounts import Amounts, parsed
from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Node, Pod, PodSpec
from steersman.objects.labels import labels_of
from steersman.objects.node_selection import node_affinity_of
from steersman.objects.pods import container_totals, has_own_resources, quality_of_service
from steersman.objects.tolerations import tolerates

__all__ = ["CRITICAL", "NodeLoad", "PodDemand", "PodRejection", "claim_of", "refusal"]

HostPort = tuple[str, str, int]

#: Priority from which on a pod is needed for the cluster to work.
CRITICAL: Final = 2_000_000_000
_ANY_ADDRESS: Final = ("", "0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
_NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
_PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")
#: Settings of the kernel that are a pod's own and concern nobody else.
_SAFE_SYSCTLS: Final = frozenset((
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat",
))  # fmt: skip
#: By the beginning of their names: whose they are if the pod has none of its own, and that in words.
_HOST_SYSCTLS: Final = {"kernel.": ("hostIPC", "ipc"), "net.": ("hostNetwork", "net")}


class PodRejection(NamedTuple):
    """The reason and message of a rejected pod."""

    reason: str
    message: str


class PodDemand(NamedTuple):
    """The resources and ports a pod takes of a node (CPU in thousandths)."""

    amounts: Mapping[str, int]
    ports: tuple[HostPort, ...]


@dataclass(slots=True)
class NodeLoad:
    """The resources and ports taken by the pods on a node."""

    pods: int = 0
    amounts: dict[str, int] = field(default_factory=dict)
    ports: list[HostPort] = field(default_factory=list)

    def add(self, claim: PodDemand) -> None:
        self.pods += 1
        self.ports += claim.ports
        for name, amount in claim.amounts.items():
            self.amounts[name] = self.amounts.get(name, 0) + amount


def claim_of(spec: PodSpec) -> PodDemand:
    """What a pod asks for."""
    totals: Amounts = container_totals(dict(spec), lambda one: (one.get("resources") or {}).get("requests"))
    if has_own_resources(dict(spec)):
        totals |= parsed((spec.get("resources") or {}).get("requests"))
    for name, amount in parsed(spec.get("overhead")).items():
        totals[name] = totals[name] + amount if name in totals else amount
    amounts = {
        name: amount.milli_value if name == "cpu" else amount.value
        for name, amount in totals.items()
        if amount
    }
    ports = tuple(
        (port.get("protocol", "TCP"), port.get("hostIP", ""), port["hostPort"])
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )
    return PodDemand(amounts, ports)


def refusal(pod: Pod, claim: PodDemand, node: Node, load: NodeLoad) -> PodRejection | None:
    """Why the node does not take the pod; None if it does. `load` is what is there already."""
    spec = pod["spec"]
    labels = labels_of(node)
    system = (node["status"].get("nodeInfo") or {}).get("operatingSystem", "linux")
    if pod["metadata"].get("labels", {}).get("kubernetes.io/os", system) != system:
        return PodRejection(
            "PodOSSelectorNodeLabelDoesNotMatch",
            "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        )
    if (spec.get("os") or {}).get("name", system) != system:
        return PodRejection("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    return (
        _forbidden_sysctl(spec)
        or _pressure(pod, node)
        or _insufficient(claim, node["status"].get("allocatable") or {}, load)
        or _unwanted(spec, claim, node, labels, load)
    )


def _forbidden_sysctl(spec: PodSpec) -> PodRejection | None:
    for sysctl in (spec.get("securityContext") or {}).get("sysctls") or ():
        name = sysctl["name"].replace("/", ".")
        shared = next((pair for start, pair in _HOST_SYSCTLS.items() if name.startswith(start)), ("", ""))
        if name not in _SAFE_SYSCTLS:
            problem = "not allowlisted"
        elif spec.get(shared[0]):
            problem = f"not allowed with host {shared[1]} enabled"
        else:
            continue
        return PodRejection("SysctlForbidden", f"forbidden sysctl: {quote(name)} {problem}")
    return None


def _pressure(pod: Pod, node: Node) -> PodRejection | None:
    conditions = [
        condition["type"]
        for condition in node["status"].get("conditions") or ()
        if condition["type"] in _PRESSURES and condition.get("status") == "True"
    ]
    spec = pod["spec"]
    if not conditions or (spec.get("priority") or 0) >= CRITICAL:
        return None
    taint = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
    if conditions == ["MemoryPressure"] and (
        quality_of_service(dict(spec)) != "BestEffort" or tolerates(spec.get("tolerations"), taint)
    ):
        return None
    return PodRejection("Evicted", f"The node had condition: [{' '.join(conditions)}]. ")


def _insufficient(claim: PodDemand, allocatable: Mapping[str, str], load: NodeLoad) -> PodRejection | None:
    capacity = {
        name: amount.milli_value if name == "cpu" else amount.value
        for name, amount in parsed(allocatable).items()
    }
    pods = capacity.get("pods", 0)
    if load.pods + 1 > pods:
        return _out_of("pods", 1, load.pods, pods)
    for name in (*_NATIVE, *(name for name in claim.amounts if name not in _NATIVE)):
        wanted, used = claim.amounts.get(name, 0), load.amounts.get(name, 0)
        if name not in capacity and name not in _NATIVE:
            # Resources that no node has are the business of somebody else.
            continue
        if wanted and wanted > capacity.get(name, 0) - used:
            return _out_of(name, wanted, used, capacity.get(name, 0))
    return None


def _out_of(name: str, wanted: int, used: int, capacity: int) -> PodRejection:
    return PodRejection(
        f"OutOf{name}",
        f"Node didn't have enough resource: {name}, requested: {wanted}, used: {used}, capacity: {capacity}",
    )


def _unwanted(
    spec: PodSpec, claim: PodDemand, node: Node, labels: Mapping[str, str], load: NodeLoad
) -> PodRejection | None:
    if not node_affinity_of(spec).allows(node["metadata"]["name"], labels):
        return _predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    if any(_collides(port, load.ports) for port in claim.ports):
        return _predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    for taint in node["spec"].get("taints") or ():
        if taint.get("effect") == "NoExecute" and not tolerates(spec.get("tolerations"), taint):
            return _predicate("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return None


def _collides(port: HostPort, taken: Iterable[HostPort]) -> bool:
    protocol, address, number = port
    return any(
        (protocol, number) == (other[0], other[2])
        and (address == other[1] or address in _ANY_ADDRESS or other[1] in _ANY_ADDRESS)
        for other in taken
    )


def _predicate(name: str, problem: str) -> PodRejection:
    return PodRejection(name, f"Predicate {name} failed: {problem}")
