"""The scale subresource: a workload seen as nothing but a number of replicas."""

from __future__ import annotations

from typing import Final

from steersman.objects.kinds import Object
from steersman.objects.selectors import LabelSelector

__all__ = ["SCALABLE", "apply_scale", "scale_of"]

SCALABLE: Final = frozenset(
    {
        ("apps", "deployments"),
        ("apps", "replicasets"),
        ("apps", "statefulsets"),
        ("", "replicationcontrollers"),
    }
)
_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(group: str, plural: str, obj: Object) -> Object:
    """The autoscaling/v1 Scale of a workload. Raises SelectorError if its selector is broken."""
    spec = obj["spec"]
    if (group, plural) not in SCALABLE:
        raise KeyError(f"{plural}.{group} has no scale")
    if plural == "replicationcontrollers":
        selector = LabelSelector.from_labels(spec.get("selector"))
    else:
        selector = LabelSelector.from_object(spec.get("selector"))
    status: Object = {"replicas": obj["status"].get("replicas", 0)}
    if text := str(selector):
        status["selector"] = text
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {key: obj["metadata"][key] for key in _METADATA if key in obj["metadata"]},
        "spec": {"replicas": spec["replicas"]} if spec.get("replicas") else {},
        "status": status,
    }


def apply_scale(obj: Object, replicas: int) -> None:
    obj["spec"]["replicas"] = replicas
