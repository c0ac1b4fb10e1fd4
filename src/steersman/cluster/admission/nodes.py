"""The TaintNodesByCondition plugin: a new Node gets the taint node.kubernetes.io/not-ready."""

from __future__ import annotations

from steersman.cluster.admission.chain import Attributes

__all__ = ["TaintNodesByCondition"]

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition:
    name = "TaintNodesByCondition"

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return operation == "CREATE" and not group and plural == "nodes" and not subresource

    def admit(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        spec = attributes.object["spec"]
        taints = spec.get("taints") or []
        if not any(t.get("key") == _NOT_READY["key"] and t.get("effect") == "NoSchedule" for t in taints):
            spec["taints"] = [*taints, dict(_NOT_READY)]

    def validate(self, attributes: Attributes) -> None:
        return None
