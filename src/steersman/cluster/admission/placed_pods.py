"""The PodTopologyLabels and PodResizeValidator plugins: pods that are assigned to a node."""

from __future__ import annotations

from typing import Final

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.cluster.admission.pod_totals import spec_totals
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.quantities import Quantity
from steersman.objects.status import StatusError

__all__ = ["PodResizeValidator", "PodTopologyLabels"]

_COPIED: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels:
    """Copies the zone and region labels of the node to a pod when it is bound or created with a node."""

    name = "PodTopologyLabels"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return operation == "CREATE" and not group and plural == "pods" and subresource in ("", "binding")

    def admit(self, attributes: Attributes) -> None:
        obj = attributes.object
        assert obj is not None
        name = obj["spec"].get("nodeName", "") if not attributes.subresource else _target(obj)
        node = self._reader.get("", "nodes", "", name) if name else None
        if node is None:
            return
        given = node["metadata"].get("labels", {})
        labels = {label: given[label] for label in _COPIED if label in given}
        if labels:
            metadata = obj["metadata"]
            metadata["labels"] = dict(sorted((metadata.get("labels", {}) | labels).items()))

    def validate(self, attributes: Attributes) -> None:
        return None


def _target(binding: Object) -> str:
    target = binding.get("target") or {}
    return str(target.get("name", "")) if target.get("kind") == "Node" else ""


class PodResizeValidator:
    """Rejects a pod resize that exceeds the node's allocatable resources or that the node does not
    support.
    """

    name = "PodResizeValidator"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return (operation, group, plural, subresource) == ("UPDATE", "", "pods", "resize")

    def admit(self, attributes: Attributes) -> None:
        return None

    def validate(self, attributes: Attributes) -> None:
        new, old = attributes.object, attributes.old
        assert new is not None
        assert old is not None
        name = new["spec"].get("nodeName", "")
        if not name or new["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        node = self._reader.get("", "nodes", "", name)
        if node is None:
            raise attributes.refusal(f"node {quote(name)} not found")
        system = node["metadata"].get("labels", {}).get("kubernetes.io/os", "linux")
        if system != "linux":
            why = f"pod resize is only supported on linux nodes, node {quote(name)} is {quote(system)}"
            raise _refusal(attributes, why, "UnsupportedPlatform")
        allocatable = (node.get("status") or {}).get("allocatable") or {}
        if excess := _excess(new["spec"], allocatable):
            why = f"node didn't have enough allocatable resources: {excess}"
            raise _refusal(attributes, why, "NodeCapacity")


def _excess(spec: Object, allocatable: Object) -> str:
    """What is asked for and not there: processors in thousandths, memory in bytes."""
    requests = spec_totals(spec, "requests")
    texts = []
    for name, scale in (("cpu", -3), ("memory", 0)):
        overhead = Quantity.parse((spec.get("overhead") or {}).get(name, "0"))
        wanted = requests.get(name, Quantity(0)) + overhead
        there = Quantity.parse(allocatable.get(name, "0"))
        if wanted > there:
            texts.append(f"{name}, requested: {wanted.scaled(scale)}, allocatable: {there.scaled(scale)}")
    return "; ".join(texts)


def _refusal(attributes: Attributes, why: str, cause: str) -> StatusError:
    error = attributes.refusal(why)
    assert error.details is not None
    error.details["causes"] = [{"reason": cause}]
    return error
