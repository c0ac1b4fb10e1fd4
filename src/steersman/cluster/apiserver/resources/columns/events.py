"""The table of events, in the shape of the core group and in that of events.k8s.io."""

from __future__ import annotations

from steersman.cluster.apiserver.resources.columns.definitions import (
    NAME,
    Cells,
    ColumnDefinition,
    Table,
    at,
    name_of,
    since,
    wide,
)
from steersman.objects.kinds import Object

__all__ = ["TABLES"]

#: Where events.k8s.io keeps what the core group calls otherwise.
_NEWER_NAMES = {
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "source": "deprecatedSource",
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
}


def _core_event(obj: Object, now: float) -> Cells:
    first = since(obj.get("firstTimestamp") or obj.get("eventTime"), now)
    last = since(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    # An event that happened once has no count.
    count = obj.get("count") or 1
    if (series := obj.get("series")) is not None:
        last = since(series.get("lastObservedTime"), now)
        count = series.get("count", 0)
    target = at(obj, "involvedObject", "kind", default="").lower()
    if name := at(obj, "involvedObject", "name"):
        target += "/" + name
    source = at(obj, "source", "component") or obj.get("reportingComponent", "")
    if instance := at(obj, "source", "host") or obj.get("reportingInstance"):
        source += ", " + instance
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        target,
        at(obj, "involvedObject", "fieldPath", default=""),
        source,
        obj.get("message", "").strip(),
        first,
        count,
        name_of(obj),
    ]


def _newer_event(obj: Object, now: float) -> Cells:
    return _core_event(
        {**obj, **{core: obj[newer] for core, newer in _NEWER_NAMES.items() if newer in obj}}, now
    )


_COLUMNS = (
    ColumnDefinition("Last Seen", "How long ago it last happened."),
    ColumnDefinition("Type", "Normal or Warning."),
    ColumnDefinition("Reason", "Why it happened, in one word."),
    ColumnDefinition("Object", "The object it is about."),
    wide("Subobject", "The part of the object it is about."),
    wide("Source", "Who reported it."),
    ColumnDefinition("Message", "What happened."),
    wide("First Seen", "How long ago it first happened."),
    wide("Count", "How often it happened."),
    wide(NAME.name, NAME.description, style=NAME.format),
)

TABLES = {
    ("", "events"): Table(_COLUMNS, _core_event),
    ("events.k8s.io", "events"): Table(_COLUMNS, _newer_event),
}
