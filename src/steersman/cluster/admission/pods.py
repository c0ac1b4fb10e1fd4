"""What admission adds to new pods: priority from its class, tolerations for nodes that stumble."""

from __future__ import annotations

from typing import Any

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.objects.status import StatusError, forbidden

__all__ = ["DefaultTolerationSeconds", "Priority"]

_TOLERATION_S = 300
_NODE_TROUBLES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class _NewPods:
    """Concerned with the creation of pods only."""

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return operation == "CREATE" and not group and plural == "pods" and not subresource

    def validate(self, attributes: Attributes) -> None:
        return None


class Priority(_NewPods):
    """spec.priority and preemptionPolicy from the named PriorityClass, or the default one."""

    name = "Priority"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def admit(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        spec = attributes.object["spec"]
        class_name = spec.get("priorityClassName", "")
        chosen = self._class(attributes, class_name)
        value = chosen["value"] if chosen else 0
        policy = (chosen or {}).get("preemptionPolicy", "PreemptLowerPriority")
        if chosen and not class_name:
            spec["priorityClassName"] = chosen["metadata"]["name"]
        given = spec.get("priority")
        if given is not None and given != value:
            raise self._contradicted(attributes, "integer value of priority", given, value)
        given_policy = spec.get("preemptionPolicy")
        if given_policy is not None and given_policy != policy:
            raise self._contradicted(attributes, "string value of PreemptionPolicy", given_policy, policy)
        spec["priority"] = value
        spec["preemptionPolicy"] = policy

    @staticmethod
    def _contradicted(attributes: Attributes, what: str, given: object, computed: object) -> StatusError:
        why = (
            f"the {what} ({given}) must not be provided in pod spec; priority admission controller computed "
            f"{computed} from the given PriorityClass name"
        )
        return forbidden("", "pods", attributes.name, why)

    def _class(self, attributes: Attributes, name: str) -> dict[str, Any] | None:
        if name:
            found = self._reader.get("scheduling.k8s.io", "priorityclasses", "", name)
            if found is None:
                raise forbidden("", "pods", attributes.name, f"no PriorityClass with name {name} was found")
            return found
        defaults = [
            c for c in self._reader.list("scheduling.k8s.io", "priorityclasses") if c.get("globalDefault")
        ]
        return min(defaults, key=lambda c: int(c["value"]), default=None)


class DefaultTolerationSeconds(_NewPods):
    """Pods stay 300 s on a node that is not ready or unreachable, unless they say otherwise."""

    name = "DefaultTolerationSeconds"

    def admit(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        spec = attributes.object["spec"]
        tolerations = spec.get("tolerations") or []
        missing = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATION_S}
            for key in _NODE_TROUBLES
            if not any(_tolerates(toleration, key) for toleration in tolerations)
        ]
        if missing:
            spec["tolerations"] = [*tolerations, *missing]


def _tolerates(toleration: dict[str, Any], key: str) -> bool:
    return toleration.get("key", "") in (key, "") and toleration.get("effect", "") in ("NoExecute", "")
