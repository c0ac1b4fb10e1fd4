"""The tables of workloads that keep pods running: the apps group and replication controllers."""

from __future__ import annotations

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    NAME,
    NONE,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    container_cells,
    label_text,
    name_of,
    wide,
)
from steersman.objects.kinds import Object
from steersman.objects.selectors import format_label_selector

__all__ = ["TABLES"]


def _template_cells(obj: Object) -> tuple[str, str]:
    return container_cells(at(obj, "spec", "template", "spec"))


def _deployment(obj: Object, now: float) -> Cells:
    status = at(obj, "status", default={})
    selector = format_label_selector(at(obj, "spec", "selector"))
    # The one table that has its own words for a selector that is empty, or none.
    selector = {NONE: "", "<error>": "<invalid>"}.get(selector, selector)
    return [
        name_of(obj),
        f"{status.get('readyReplicas', 0)}/{at(obj, 'spec', 'replicas', default=0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(obj, now),
        *_template_cells(obj),
        selector,
    ]


def _replicas(obj: Object, now: float) -> Cells:
    return [
        name_of(obj),
        at(obj, "spec", "replicas", default=0),
        at(obj, "status", "replicas", default=0),
        at(obj, "status", "readyReplicas", default=0),
        age(obj, now),
        *_template_cells(obj),
    ]


def _replica_set(obj: Object, now: float) -> Cells:
    return [*_replicas(obj, now), format_label_selector(at(obj, "spec", "selector"))]


def _replication_controller(obj: Object, now: float) -> Cells:
    return [*_replicas(obj, now), label_text(at(obj, "spec", "selector", default={}))]


def _stateful_set(obj: Object, now: float) -> Cells:
    ready = at(obj, "status", "readyReplicas", default=0)
    wanted = at(obj, "spec", "replicas", default=0)
    return [name_of(obj), f"{ready}/{wanted}", age(obj, now), *_template_cells(obj)]


def _daemon_set(obj: Object, now: float) -> Cells:
    status = at(obj, "status", default={})
    return [
        name_of(obj),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        label_text(at(obj, "spec", "template", "spec", "nodeSelector", default={})),
        age(obj, now),
        *_template_cells(obj),
        format_label_selector(at(obj, "spec", "selector")),
    ]


def _controller_revision(obj: Object, now: float) -> Cells:
    return [name_of(obj), _controller(obj), at(obj, "revision", default=0), age(obj, now)]


def _controller(obj: Object) -> str:
    """The owner that controls an object, as kind.group/name."""
    for owner in at(obj, "metadata", "ownerReferences", default=()):
        if owner.get("controller"):
            group, slash, _ = owner.get("apiVersion", "").partition("/")
            kind = owner.get("kind", "") + ("." + group if slash else "")
            return f"{kind.lower()}/{owner.get('name', '')}" if kind else str(owner.get("name", ""))
    return NONE


_CONTAINERS = (
    wide("Containers", "The names of the containers."),
    wide("Images", "The images of the containers."),
)
_SELECTOR = wide("Selector", "Which pods belong to it.")
_REPLICAS = (
    NAME,
    ColumnDefinition("Desired", "How many pods it should have.", "integer"),
    ColumnDefinition("Current", "How many pods it has.", "integer"),
    ColumnDefinition("Ready", "How many pods are ready.", "integer"),
    AGE,
    *_CONTAINERS,
    _SELECTOR,
)

TABLES = {
    ("", "replicationcontrollers"): Table(_REPLICAS, _replication_controller),
    ("apps", "controllerrevisions"): Table(
        (
            NAME,
            ColumnDefinition("Controller", "The object whose history it belongs to."),
            ColumnDefinition("Revision", "Its number in that history."),
            AGE,
        ),
        _controller_revision,
    ),
    ("apps", "daemonsets"): Table(
        (
            NAME,
            ColumnDefinition("Desired", "How many nodes should run the pod.", "integer"),
            ColumnDefinition("Current", "How many nodes run the pod that should.", "integer"),
            ColumnDefinition("Ready", "How many pods are ready.", "integer"),
            ColumnDefinition("Up-to-date", "How many pods follow the current template.", "integer"),
            ColumnDefinition("Available", "How many pods have been ready long enough.", "integer"),
            ColumnDefinition("Node Selector", "The labels a node needs to run the pod."),
            AGE,
            *_CONTAINERS,
            _SELECTOR,
        ),
        _daemon_set,
    ),
    ("apps", "deployments"): Table(
        (
            NAME,
            ColumnDefinition("Ready", "How many pods are ready, of those wanted."),
            ColumnDefinition("Up-to-date", "How many pods follow the current template."),
            ColumnDefinition("Available", "How many pods have been ready long enough."),
            AGE,
            *_CONTAINERS,
            _SELECTOR,
        ),
        _deployment,
    ),
    ("apps", "replicasets"): Table(_REPLICAS, _replica_set),
    ("apps", "statefulsets"): Table(
        (NAME, ColumnDefinition("Ready", "How many pods are ready, of those wanted."), AGE, *_CONTAINERS),
        _stateful_set,
    ),
}
