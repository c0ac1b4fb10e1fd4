"""The downward API: the values of fieldRef and resourceFieldRef. Pure.

Used by environment variables and volumes. Raises `UnknownFieldRef` for an unsupported field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any, Final

from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Container, Pod
from steersman.objects.names import is_label_key
from steersman.objects.pods import ContainerField
from steersman.objects.quantities import Quantity

__all__ = ["DownwardNodeFacts", "UnknownFieldRef", "field_value", "pod_addresses", "resource_value"]


#: Limits that are the node's where a container has none.
_DEFAULTED: Final = ("cpu", "memory", "ephemeral-storage")
_RESOURCES: Final = (*_DEFAULTED, "hugepages-")


class UnknownFieldRef(ValueError):
    """A fieldRef or resourceFieldRef that names no supported field."""


@dataclass(frozen=True, slots=True)
class DownwardNodeFacts:
    """The values of a pod's node in the downward API."""

    name: str
    addresses: tuple[str, ...]
    allocatable: Mapping[str, str] = field(default_factory=dict)


_NAMED_FIELDS: Final[tuple[ContainerField, ...]] = ("containers", "initContainers")


def pod_addresses(pod: Pod, ips: Sequence[str], node: DownwardNodeFacts) -> tuple[str, ...]:
    """A pod's addresses: those of its sandbox, or its node's if it uses the node's network."""
    return node.addresses if pod["spec"].get("hostNetwork") else tuple(ips)


def field_value(pod: Pod, path: str, ips: Sequence[str], node: DownwardNodeFacts) -> str:
    """What a fieldRef means; `ips` are the pod's addresses."""
    metadata, spec = pod["metadata"], pod["spec"]
    values = {
        "metadata.name": metadata.get("name", ""),
        "metadata.namespace": metadata.get("namespace", ""),
        "metadata.uid": metadata.get("uid", ""),
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "spec.host": spec.get("nodeName", ""),
        "status.hostIP": node.addresses[0] if node.addresses else "",
        "status.hostIPs": ",".join(node.addresses),
        "status.podIP": ips[0] if ips else "",
        "status.podIPs": ",".join(ips),
    }
    if path in values:
        value: str = values[path]
        return value
    where, bracket, key = path.partition("['")
    if bracket and key.endswith("']"):
        return _entry(metadata, where, key.removesuffix("']"), path)
    if path in ("metadata.labels", "metadata.annotations"):
        entries = metadata.get("labels") if path == "metadata.labels" else metadata.get("annotations")
        entries = entries or {}
        return "\n".join(f"{name}={quote(entries[name])}" for name in sorted(entries))
    raise UnknownFieldRef(f"unsupported fieldPath: {path}")


def _entry(metadata: Mapping[str, Any], where: str, key: str, path: str) -> str:
    if where not in ("metadata.labels", "metadata.annotations"):
        raise UnknownFieldRef(f"fieldPath {quote(path)} does not support subscript")
    name = key.lower() if where == "metadata.annotations" else key
    if problems := is_label_key(name):
        raise UnknownFieldRef(f"invalid key subscript in {path}: {';'.join(problems)}")
    entries: Mapping[str, str] = metadata.get(where.removeprefix("metadata.")) or {}
    return entries.get(key, "")


def resource_value(
    pod: Pod, container: Container | None, selector: Mapping[str, Any], node: DownwardNodeFacts
) -> str:
    """What a resourceFieldRef means, seen from a container (None: from a volume, which names one)."""
    name = selector.get("containerName", "")
    if name or container is None:
        container = _named(pod, name)
    side, _, resource = selector["resource"].partition(".")
    if side not in ("limits", "requests") or not resource.startswith(_RESOURCES):
        raise UnknownFieldRef(f"unsupported container resource : {selector['resource']}")
    resources = container.get("resources") or {}
    amounts = (resources.get("limits") if side == "limits" else resources.get("requests")) or {}
    amount = Quantity.parse(str(amounts.get(resource, "0")))
    if side == "limits" and not amount and resource in _DEFAULTED:
        amount = _node_limit(pod, resource, node)
    divisor = Quantity.parse(str(selector.get("divisor") or "0")) or Quantity(1)
    if resource == "cpu":
        return str(ceil(Fraction(amount.milli_value, divisor.milli_value)))
    return str(ceil(Fraction(amount.value, divisor.value)))


def _named(pod: Pod, name: str) -> Container:
    for kind in _NAMED_FIELDS:
        for container in pod["spec"].get(kind) or ():
            if container["name"] == name:
                found: Container = container
                return found
    raise UnknownFieldRef(f"container {name} not found")


def _node_limit(pod: Pod, resource: str, node: DownwardNodeFacts) -> Quantity:
    """What a container without a limit of its own may use: all the pod may, or all the node has."""
    own = ((pod["spec"].get("resources") or {}).get("limits") or {}).get(resource)
    return Quantity.parse(str(own or node.allocatable.get(resource, "0")))
