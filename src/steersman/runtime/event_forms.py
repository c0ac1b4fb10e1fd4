"""How an Event is written down: in the shape of events.k8s.io, or in the older one of the core group.

Kubernetes' own components differ in it, and users see that: controllers and kubelets write the older
shape (`source`, `count`, `lastTimestamp`), the scheduler the newer one. Pure: who sends is `events`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CORE_EVENTS, EVENTS
from steersman.objects.times import format_micro_time, format_time
from steersman.runtime.events_core import Correlating, Correlator, Isomorphic, Reference, Series

__all__ = ["CLASSIC", "MODERN", "SCHEDULING", "EventForm", "Reporter"]


#: What events.k8s.io takes at most, in bytes.
_NOTE_BYTES: Final = 1024
_CUT: Final = " ..."


class Reporter(NamedTuple):
    """Who tells."""

    component: str
    #: Which one of them: a process, or the node that a kubelet is for.
    instance: str


@dataclass(frozen=True, slots=True)
class EventForm:
    """A shape, and which occurrences share an object in it."""

    resource: ResourceType
    correlator: Callable[[], Correlating]
    #: A new object without its head, and what changes in it when the same happens again.
    body: Callable[[Series, Reporter, datetime], Object]
    again: Callable[[Series, datetime], Object]


def _modern(series: Series, reporter: Reporter, now: datetime) -> Object:
    occurrence = series.occurrence
    body: Object = {
        "eventTime": format_micro_time(now),
        "reportingController": reporter.component,
        "reportingInstance": reporter.instance,
        "type": occurrence.type,
        "reason": occurrence.reason,
        "action": occurrence.action,
        "note": _short(occurrence.note),
        "regarding": _as_object(occurrence.regarding),
    }
    if occurrence.related is not None:
        body["related"] = _as_object(occurrence.related)
    return body if series.count == 1 else body | _modern_again(series, now)


def _modern_again(series: Series, now: datetime) -> Object:
    return {"series": {"count": series.count, "lastObservedTime": format_micro_time(now)}}


def _classic(series: Series, reporter: Reporter, now: datetime) -> Object:
    occurrence = series.occurrence
    body: Object = {
        "involvedObject": _as_object(occurrence.regarding),
        "type": occurrence.type,
        "reason": occurrence.reason,
        "message": occurrence.note,
        "source": _given({"component": reporter.component, "host": reporter.instance}),
        "firstTimestamp": format_time(now),
        "lastTimestamp": format_time(now),
        "count": series.count,
    }
    if not series.is_combined:
        body |= {"reportingComponent": reporter.component, "reportingInstance": reporter.instance}
    return body


def _classic_again(series: Series, now: datetime) -> Object:
    return {"count": series.count, "lastTimestamp": format_time(now), "message": series.occurrence.note}


def _as_object(reference: Reference) -> dict[str, str]:
    names = ("apiVersion", "kind", "namespace", "name", "uid", "fieldPath", "resourceVersion")
    return _given(dict(zip(names, reference, strict=True)))


def _given(values: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _short(note: str) -> str:
    """At most so many bytes, without cutting a character in two."""
    encoded = note.encode()
    if len(encoded) <= _NOTE_BYTES:
        return note
    return encoded[: _NOTE_BYTES - len(_CUT)].decode(errors="ignore") + _CUT


#: What operators write.
MODERN: Final = EventForm(EVENTS, Correlator, _modern, _modern_again)
#: What Kubernetes' controllers and kubelets write: what happens again is counted while its object lives.
CLASSIC: Final = EventForm(CORE_EVENTS, lambda: Correlator(math.inf), _classic, _classic_again)
#: What Kubernetes' scheduler writes.
SCHEDULING: Final = EventForm(EVENTS, Isomorphic, _modern, _modern_again)
