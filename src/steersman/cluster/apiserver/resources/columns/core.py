"""The tables of the core group, except pods (see pods.py), events and volumes."""

from __future__ import annotations

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    label_text,
    name_of,
    wide,
)
from steersman.objects.kinds import Object

__all__ = ["TABLES", "load_balancer_addresses"]

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _component_status(obj: Object, now: float) -> Cells:
    for found in at(obj, "conditions", default=()):
        if found.get("type") == "Healthy":
            word = "Healthy" if found.get("status") == "True" else "Unhealthy"
            return [name_of(obj), word, found.get("message", ""), found.get("error", "")]
    return [name_of(obj), "Unknown", "", ""]


def _config_map(obj: Object, now: float) -> Cells:
    return [
        name_of(obj),
        len(at(obj, "data", default=())) + len(at(obj, "binaryData", default=())),
        age(obj, now),
    ]


def _secret(obj: Object, now: float) -> Cells:
    return [name_of(obj), at(obj, "type", default=""), len(at(obj, "data", default=())), age(obj, now)]


def _namespace(obj: Object, now: float) -> Cells:
    return [name_of(obj), at(obj, "status", "phase", default=""), age(obj, now)]


def _service_account(obj: Object, now: float) -> Cells:
    return [name_of(obj), age(obj, now)]


def _endpoints(obj: Object, now: float) -> Cells:
    return [name_of(obj), _endpoint_addresses(at(obj, "subsets", default=[])), age(obj, now)]


def _endpoint_addresses(subsets: list[Object]) -> str:
    if not subsets:
        return NONE
    found: list[str] = []
    for subset in subsets:
        addresses = [address.get("ip", "") for address in at(subset, "addresses", default=())]
        ports = at(subset, "ports", default=())
        # A headless service may have no ports: its addresses stand alone.
        found += (
            [_host_port(ip, port.get("port", 0)) for port in ports for ip in addresses]
            if ports
            else addresses
        )
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return ",".join(found[:3]) + more


def _host_port(ip: str, port: int) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def _node(obj: Object, now: float) -> Cells:
    info = at(obj, "status", "nodeInfo", default={})
    kernel = info.get("kernelVersion") or UNKNOWN
    if architecture := info.get("architecture"):
        kernel += f" ({architecture})"
    return [
        name_of(obj),
        _node_status(obj),
        ",".join(_node_roles(at(obj, "metadata", "labels", default={}))) or NONE,
        age(obj, now),
        info.get("kubeletVersion", ""),
        _node_address(obj, "InternalIP"),
        _node_address(obj, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(obj: Object) -> str:
    # Where a type is listed twice, the last one counts.
    ready = [c.get("status") for c in at(obj, "status", "conditions", default=()) if c.get("type") == "Ready"]
    word = "Unknown" if not ready else "Ready" if ready[-1] == "True" else "NotReady"
    return word + (",SchedulingDisabled" if at(obj, "spec", "unschedulable") else "")


def _node_roles(labels: dict[str, str]) -> list[str]:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL, ""))
    return sorted(roles - {""})


def _node_address(obj: Object, kind: str) -> str:
    for address in at(obj, "status", "addresses", default=()):
        if address.get("type") == kind:
            return str(address.get("address", ""))
    return NONE


def _resource_quota(obj: Object, now: float) -> Cells:
    used = at(obj, "status", "used", default={})
    requests: list[str] = []
    limits: list[str] = []
    for resource, hard in sorted(at(obj, "status", "hard", default={}).items()):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {used.get(resource, '0')}/{hard}")
    return [name_of(obj), ", ".join(requests), ", ".join(limits), age(obj, now)]


def _service(obj: Object, now: float) -> Cells:
    spec = at(obj, "spec", default={})
    addresses = spec.get("clusterIPs") or [NONE]
    return [
        name_of(obj),
        spec.get("type", ""),
        addresses[0],
        _external_address(obj),
        ",".join(map(_service_port, spec.get("ports") or ())) or NONE,
        age(obj, now),
        label_text(spec.get("selector") or {}),
    ]


def _service_port(port: Object) -> str:
    number = f"{port.get('port', 0)}"
    if port.get("nodePort", 0) > 0:
        number += f":{port['nodePort']}"
    return f"{number}/{port.get('protocol', '')}"


def _external_address(obj: Object) -> str:
    spec = at(obj, "spec", default={})
    external = ",".join(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return external or NONE
        case "LoadBalancer":
            balancer = load_balancer_addresses(obj)
            return ",".join(filter(None, (balancer, external))) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
    return UNKNOWN


def load_balancer_addresses(obj: Object) -> str:
    """The addresses, else host names, that a load balancer gave to a service or an ingress."""
    points = at(obj, "status", "loadBalancer", "ingress", default=())
    return ",".join(sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""}))


TABLES = {
    ("", "componentstatuses"): Table(
        (
            NAME,
            ColumnDefinition("Status", "Whether the component is healthy."),
            ColumnDefinition("Message", "What the component says of itself."),
            ColumnDefinition("Error", "What went wrong when asking it."),
        ),
        _component_status,
    ),
    ("", "configmaps"): Table(
        (NAME, ColumnDefinition("Data", "How many entries it holds."), AGE), _config_map
    ),
    ("", "endpoints"): Table(
        (NAME, ColumnDefinition("Endpoints", "The ready addresses and ports."), AGE), _endpoints
    ),
    ("", "namespaces"): Table((NAME, ColumnDefinition("Status", "Active or Terminating."), AGE), _namespace),
    ("", "nodes"): Table(
        (
            NAME,
            ColumnDefinition("Status", "Whether the node is ready and takes pods."),
            ColumnDefinition("Roles", "The roles its labels give it."),
            AGE,
            ColumnDefinition("Version", "The version of its kubelet."),
            wide("Internal-IP", "Its address inside the cluster."),
            wide("External-IP", "Its address outside the cluster."),
            wide("OS-Image", "Its operating system."),
            wide("Kernel-Version", "Its kernel, and the architecture."),
            wide("Container-Runtime", "Its container runtime and version."),
        ),
        _node,
    ),
    ("", "resourcequotas"): Table(
        (
            NAME,
            ColumnDefinition("Request", "Requests used, of those allowed."),
            ColumnDefinition("Limit", "Limits used, of those allowed."),
            AGE,
        ),
        _resource_quota,
    ),
    ("", "secrets"): Table(
        (
            NAME,
            ColumnDefinition("Type", "What kind of secret it is."),
            ColumnDefinition("Data", "How many entries it holds."),
            AGE,
        ),
        _secret,
    ),
    ("", "serviceaccounts"): Table((NAME, AGE), _service_account),
    ("", "services"): Table(
        (
            NAME,
            ColumnDefinition("Type", "How the service is exposed."),
            ColumnDefinition("Cluster-IP", "Its address inside the cluster."),
            ColumnDefinition("External-IP", "Its addresses outside the cluster."),
            ColumnDefinition("Port(s)", "The ports it listens on, and their node ports."),
            AGE,
            wide("Selector", "The labels of the pods it routes to."),
        ),
        _service,
    ),
}
