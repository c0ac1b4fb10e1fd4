"""The tables of what configures the control plane itself: leases, API services, flow control and the like."""

from __future__ import annotations

from collections.abc import Iterable

from steersman.cluster.apiserver.resources.columns.definitions import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    Cells,
    ColumnDefinition,
    Table,
    age,
    at,
    condition,
    created_at,
    name_of,
    wide,
)
from steersman.objects.kinds import Object

__all__ = ["TABLES", "by_precedence"]

_FLOW_CONTROL = "flowcontrol.apiserver.k8s.io"


def _api_service(obj: Object, now: float) -> Cells:
    service = at(obj, "spec", "service")
    available = condition(obj, "Available")
    word = "Unknown"
    if available is not None:
        word = available.get("status", "")
        if word != "True" and (reason := available.get("reason")):
            word = f"{word} ({reason})"
    return [
        name_of(obj),
        "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}",
        word,
        age(obj, now),
    ]


def _definition(obj: Object, now: float) -> Cells:
    """A custom resource definition."""
    spec = at(obj, "spec", default={})
    served = sorted(
        version.get("name", "") + ("(storage)" if version.get("storage") else "")
        for version in spec.get("versions") or ()
        if version.get("served")
    )
    conditions = at(obj, "status", "conditions", default=())
    return [
        name_of(obj),
        spec.get("scope", ""),
        ",".join(served),
        created_at(obj),
        spec.get("group", ""),
        at(spec, "names", "kind", default=""),
        ",".join(at(spec, "names", "shortNames", default=())),
        any(found.get("type") == "Established" and found.get("status") == "True" for found in conditions),
    ]


def _lease(obj: Object, now: float) -> Cells:
    return [name_of(obj), at(obj, "spec", "holderIdentity", default=""), age(obj, now)]


def by_precedence(schemas: Iterable[Object]) -> list[Object]:
    """Flow schemas in the order in which they are tried, which is how a list of them is shown."""
    return sorted(schemas, key=lambda obj: (at(obj, "spec", "matchingPrecedence", default=0), name_of(obj)))


def _flow_schema(obj: Object, now: float) -> Cells:
    dangling = condition(obj, "Dangling")
    method = at(obj, "spec", "distinguisherMethod")
    return [
        name_of(obj),
        at(obj, "spec", "priorityLevelConfiguration", "name", default=""),
        at(obj, "spec", "matchingPrecedence", default=0),
        NONE if method is None else method.get("type", ""),
        age(obj, now),
        "?" if dangling is None else dangling.get("status", ""),
    ]


def _priority_level(obj: Object, now: float) -> Cells:
    limited = at(obj, "spec", "limited")
    queuing = at(limited, "limitResponse", "queuing")
    return [
        name_of(obj),
        at(obj, "spec", "type", default=""),
        NONE if limited is None else at(limited, "nominalConcurrencyShares", default=0),
        *(
            NONE if queuing is None else at(queuing, field, default=0)
            for field in ("queues", "handSize", "queueLengthLimit")
        ),
        age(obj, now),
    ]


def _migration(obj: Object, now: float) -> Cells:
    resource = at(obj, "spec", "resource", default={})
    state = "Unknown"
    for found in at(obj, "status", "conditions", default=()):
        if found.get("status") == "True" and found.get("type") in ("Running", "Failed", "Succeeded"):
            state = found["type"]
    named = ".".join(filter(None, (resource.get("resource", ""), resource.get("group", ""))))
    return [name_of(obj), named, state]


TABLES = {
    ("apiextensions.k8s.io", "customresourcedefinitions"): Table(
        (
            NAME,
            ColumnDefinition("Scope", "Whether its objects live in namespaces."),
            ColumnDefinition("Versions", "The versions served."),
            CREATED_AT,
            wide("Group", "The API group it adds to."),
            wide("Kind", "The kind it adds."),
            wide("ShortNames", "What people may call it for short."),
            wide("Established", "Whether it is served.", "boolean"),
        ),
        _definition,
        null_when_empty=True,
    ),
    ("apiregistration.k8s.io", "apiservices"): Table(
        (
            NAME,
            ColumnDefinition("Service", "The service that answers, or Local."),
            ColumnDefinition("Available", "Whether it answers, and if not, why."),
            AGE,
        ),
        _api_service,
    ),
    ("coordination.k8s.io", "leases"): Table(
        (NAME, ColumnDefinition("Holder", "Who holds the lease."), AGE), _lease
    ),
    (_FLOW_CONTROL, "flowschemas"): Table(
        (
            NAME,
            ColumnDefinition("PriorityLevel", "The priority level of matching requests."),
            ColumnDefinition("MatchingPrecedence", "Its place in the order in which schemas are tried."),
            ColumnDefinition("DistinguisherMethod", "What tells one flow from another."),
            AGE,
            ColumnDefinition("MissingPL", "Whether its priority level is missing."),
        ),
        _flow_schema,
    ),
    (_FLOW_CONTROL, "prioritylevelconfigurations"): Table(
        (
            NAME,
            ColumnDefinition("Type", "Limited or Exempt."),
            ColumnDefinition("NominalConcurrencyShares", "Its share of the server's concurrency."),
            ColumnDefinition("Queues", "How many queues it has."),
            ColumnDefinition("HandSize", "How many queues one flow may use."),
            ColumnDefinition("QueueLengthLimit", "How many requests one queue holds."),
            AGE,
        ),
        _priority_level,
    ),
    ("storagemigration.k8s.io", "storageversionmigrations"): Table(
        (
            ColumnDefinition(NAME.name, NAME.description),
            ColumnDefinition("Resource", "The resource whose objects are rewritten."),
            ColumnDefinition("Status", "How far the migration is."),
        ),
        _migration,
    ),
}
