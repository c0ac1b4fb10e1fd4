"""The tables of what scheduling looks at: priorities, runtimes, disruption budgets and devices."""

from __future__ import annotations

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    name_of,
    since,
)
from steersman.objects.kinds import Object

__all__ = ["TABLES"]

_DEVICES = "resource.k8s.io"


def _disruption_budget(obj: Object, now: float) -> Cells:
    return [
        name_of(obj),
        str(at(obj, "spec", "minAvailable", default="N/A")),
        str(at(obj, "spec", "maxUnavailable", default="N/A")),
        at(obj, "status", "disruptionsAllowed", default=0),
        age(obj, now),
    ]


def _priority_class(obj: Object, now: float) -> Cells:
    return [
        name_of(obj),
        at(obj, "value", default=0),
        at(obj, "globalDefault", default=False),
        age(obj, now),
        at(obj, "preemptionPolicy", default=""),
    ]


def _runtime_class(obj: Object, now: float) -> Cells:
    return [name_of(obj), at(obj, "handler", default=""), age(obj, now)]


def _name_and_age(obj: Object, now: float) -> Cells:
    return [name_of(obj), age(obj, now)]


def _taint_rule(obj: Object, now: float) -> Cells:
    taint = at(obj, "spec", "taint", default={})
    added = taint.get("timeAdded")
    return [
        name_of(obj),
        taint.get("key", ""),
        taint.get("value", ""),
        taint.get("effect", ""),
        "" if added is None else since(added, now),
        age(obj, now),
    ]


def _claim(obj: Object, now: float) -> Cells:
    deleted = at(obj, "metadata", "deletionTimestamp") is not None
    states = ["deleted"] if deleted else []
    if at(obj, "status", "allocation") is not None:
        states.append("allocated")
        if at(obj, "status", "reservedFor"):
            states.append("reserved")
    elif not deleted:
        states.append("pending")
    return [name_of(obj), ",".join(states), age(obj, now)]


def _slice(obj: Object, now: float) -> Cells:
    return [
        name_of(obj),
        at(obj, "spec", "nodeName", default=""),
        at(obj, "spec", "driver", default=""),
        at(obj, "spec", "pool", "name", default=""),
        age(obj, now),
    ]


TABLES = {
    ("policy", "poddisruptionbudgets"): Table(
        (
            NAME,
            ColumnDefinition("Min Available", "How many pods must stay available."),
            ColumnDefinition("Max Unavailable", "How many pods may be unavailable."),
            ColumnDefinition("Allowed Disruptions", "How many pods may be evicted now.", "integer"),
            AGE,
        ),
        _disruption_budget,
    ),
    ("scheduling.k8s.io", "priorityclasses"): Table(
        (
            NAME,
            ColumnDefinition("Value", "The priority pods get.", "integer"),
            ColumnDefinition("Global-Default", "Whether pods get it that name none.", "boolean"),
            AGE,
            ColumnDefinition("PreemptionPolicy", "Whether its pods may evict others."),
        ),
        _priority_class,
    ),
    ("node.k8s.io", "runtimeclasses"): Table(
        (NAME, ColumnDefinition("Handler", "The runtime's name on the node."), AGE), _runtime_class
    ),
    (_DEVICES, "deviceclasses"): Table((NAME, AGE), _name_and_age),
    (_DEVICES, "devicetaintrules"): Table(
        (
            NAME,
            ColumnDefinition("Key", "The key of the taint."),
            ColumnDefinition("Value", "The value of the taint."),
            ColumnDefinition("Effect", "What the taint does to pods."),
            ColumnDefinition("TimeAdded", "How long ago the taint was added."),
            AGE,
        ),
        _taint_rule,
    ),
    (_DEVICES, "resourceclaims"): Table(
        (NAME, ColumnDefinition("State", "Whether it is allocated and reserved."), AGE), _claim
    ),
    (_DEVICES, "resourceclaimtemplates"): Table((NAME, AGE), _name_and_age),
    (_DEVICES, "resourceslices"): Table(
        (
            NAME,
            ColumnDefinition("Node", "The node that has the devices."),
            ColumnDefinition("Driver", "The driver that manages them."),
            ColumnDefinition("Pool", "The pool they belong to."),
            AGE,
        ),
        _slice,
    ),
}
