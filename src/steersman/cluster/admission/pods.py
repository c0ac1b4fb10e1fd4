"""The Priority and DefaultTolerationSeconds plugins: defaults of new pods."""

from __future__ import annotations

from typing import Any

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.objects.status import StatusError

__all__ = ["DefaultTolerationSeconds", "Priority"]

_TOLERATION_S = 300
_NODE_TROUBLES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


_WRITES = ("CREATE", "UPDATE")


class Priority:
    """Sets spec.priority and preemptionPolicy from the named PriorityClass or the global default one, and
    allows only one global default.
    """

    name = "Priority"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return (
            operation in _WRITES
            and not subresource
            and (group, plural) in (("", "pods"), ("scheduling.k8s.io", "priorityclasses"))
        )

    def admit(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        if attributes.plural != "pods":
            return
        spec = attributes.object["spec"]
        if attributes.operation == "UPDATE":
            assert attributes.old is not None
            _keep(spec, attributes.old["spec"])
        else:
            self._fill(attributes, spec)

    def validate(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        if attributes.plural != "priorityclasses" or not attributes.object.get("globalDefault"):
            return
        default = self._default()
        if default is None:
            return
        name = default["metadata"]["name"]
        if attributes.operation == "CREATE" or name != attributes.name:
            why = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise attributes.refusal(why)

    def _fill(self, attributes: Attributes, spec: dict[str, Any]) -> None:
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
        return attributes.refusal(why)

    def _class(self, attributes: Attributes, name: str) -> dict[str, Any] | None:
        if name:
            found = self._reader.get("scheduling.k8s.io", "priorityclasses", "", name)
            if found is None:
                raise attributes.refusal(f"no PriorityClass with name {name} was found")
            return found
        return self._default()

    def _default(self) -> dict[str, Any] | None:
        """Races may have made several: the lowest counts."""
        classes = self._reader.list("scheduling.k8s.io", "priorityclasses")
        defaults = [each for each in classes if each.get("globalDefault")]
        return min(defaults, key=lambda each: int(each["value"]), default=None)


def _keep(spec: dict[str, Any], old: dict[str, Any]) -> None:
    """What was filled in at creation stays when a client sends its manifest again."""
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and old.get(name) is not None:
            spec[name] = old[name]


class DefaultTolerationSeconds:
    """Adds tolerations of 300 s for the taints not-ready and unreachable, unless the pod has its own."""

    name = "DefaultTolerationSeconds"

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return operation in _WRITES and not group and plural == "pods" and not subresource

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

    def validate(self, attributes: Attributes) -> None:
        return None


def _tolerates(toleration: dict[str, Any], key: str) -> bool:
    return toleration.get("key", "") in (key, "") and toleration.get("effect", "") in ("NoExecute", "")
