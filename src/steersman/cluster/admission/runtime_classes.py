"""The RuntimeClass plugin: sets the overhead, node selector and tolerations of a pod from its
RuntimeClass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steersman.cluster.admission.chain import Attributes, Reader
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.quantities import Quantity

__all__ = ["RuntimeClass"]


class RuntimeClass:
    name = "RuntimeClass"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def handles(self, operation: str, group: str, plural: str, subresource: str) -> bool:
        return operation == "CREATE" and not group and plural == "pods" and not subresource

    def admit(self, attributes: Attributes) -> None:
        runtime = self._class(attributes)
        if runtime is None:
            return
        assert attributes.object is not None
        spec = attributes.object["spec"]
        if runtime.get("overhead") is not None:
            fixed = runtime["overhead"].get("podFixed") or {}
            if spec.get("overhead") and not _same(spec["overhead"], fixed):
                raise attributes.refusal(_OTHER_OVERHEAD)
            if fixed:
                spec["overhead"] = dict(fixed)
            else:
                spec.pop("overhead", None)
        if runtime.get("scheduling") is not None:
            _merge_scheduling(attributes, spec, runtime["scheduling"])

    def validate(self, attributes: Attributes) -> None:
        assert attributes.object is not None
        overhead = attributes.object["spec"].get("overhead")
        runtime = self._class(attributes)
        if runtime is not None and runtime.get("overhead") is not None:
            if not _same(overhead or {}, runtime["overhead"].get("podFixed") or {}):
                raise attributes.refusal(_OTHER_OVERHEAD)
        elif overhead is not None:
            raise attributes.refusal(
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )

    def _class(self, attributes: Attributes) -> Object | None:
        assert attributes.object is not None
        name = attributes.object["spec"].get("runtimeClassName")
        if name is None:
            return None
        found = self._reader.get("node.k8s.io", "runtimeclasses", "", name)
        if found is None:
            raise attributes.refusal(f"pod rejected: RuntimeClass {quote(name)} not found")
        return found


_OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


def _same(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return one.keys() == other.keys() and all(
        Quantity.parse(text) == Quantity.parse(other[name]) for name, text in one.items()
    )


def _merge_scheduling(attributes: Attributes, spec: Object, scheduling: Object) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in sorted((scheduling.get("nodeSelector") or {}).items()):
        given = selector.setdefault(key, value)
        if given != value:
            raise attributes.refusal(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {given}"
            )
    if selector:
        spec["nodeSelector"] = dict(sorted(selector.items()))
    merged = _merged_tolerations([*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ())])
    if merged:
        spec["tolerations"] = merged


def _merged_tolerations(tolerations: Sequence[Object]) -> list[Object]:
    """Without those that another one covers; of equals the first stays."""
    merged: list[Object] = []
    for index, toleration in enumerate(tolerations):
        later = tolerations[index + 1 :]
        if any(_covers(other, toleration) for other in merged):
            continue
        if any(other != toleration and _covers(other, toleration) for other in later):
            continue
        merged.append(toleration)
    return merged


def _covers(wide: Object, narrow: Object) -> bool:
    if wide == narrow:
        return True
    key, effect = wide.get("key", ""), wide.get("effect", "")
    operator: str = wide.get("operator", "")
    if narrow.get("key", "") != key and (key or operator != "Exists"):
        return False
    if effect and narrow.get("effect", "") != effect:
        return False
    if effect == "NoExecute" and wide.get("tolerationSeconds") is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    if operator in ("Equal", ""):
        return (narrow.get("operator"), narrow.get("value", "")) == ("Equal", wide.get("value", ""))
    return operator == "Exists"
