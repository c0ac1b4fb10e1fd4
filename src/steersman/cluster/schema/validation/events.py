"""Validation of Events, of the core group and of events.k8s.io.

Both groups serve the same objects, which are checked under the core group's field names. What is asked of
them differs: the core group keeps to the rules old clients know, events.k8s.io demands the new fields. The
table of rules only names the functions here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from steersman.cluster.schema.validation.internal_values import as_internal
from steersman.cluster.schema.validation.rules import foreign_finalizers, invalids
from steersman.cluster.schema.validation.values import OBJECT_REFERENCE
from steersman.objects.fields import FieldError, Path, invalid, required
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_object_meta
from steersman.objects.names import is_label_key, name_is_dns_subdomain, name_is_path_segment

__all__ = [
    "validate_core_event",
    "validate_core_event_update",
    "validate_event",
    "validate_event_update",
]

#: Of texts, in bytes, by the core group's name of the field.
_LIMITS: Final = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}

_SOURCE: Final = (("component", "Component", ""), ("host", "Host", ""))


def validate_core_event(event: Object, path: Path) -> list[FieldError]:
    """Metadata of old clients' events is looked at when all else is well, and held to no more than what a
    URL and a list can carry."""
    return _shared_errors(event, "reportingComponent") or validate_object_meta(
        event["metadata"], namespaced=True, name_check=name_is_path_segment
    )


def validate_core_event_update(event: Object, path: Path) -> list[FieldError]:
    return _shared_errors(event, "reportingComponent")


def validate_event(event: Object, path: Path) -> list[FieldError]:
    errors = _shared_errors(event, "reportingController")
    metadata = event["metadata"]
    errors += validate_object_meta(metadata, namespaced=True, name_check=name_is_dns_subdomain)
    errors += foreign_finalizers(metadata)
    errors += _series_errors(event.get("series"))
    if not event.get("eventTime"):
        errors.append(required(Path("eventTime")))
    kind = event.get("type", "")
    if kind not in ("Normal", "Warning"):
        errors.append(invalid(Path("type"), "", f"has invalid value: {kind}"))
    unwanted = ("firstTimestamp", "lastTimestamp", "count", "source")
    return errors + [invalid(Path(field), "", "needs to be unset") for field in unwanted if event.get(field)]


def validate_event_update(new: Object, path: Path, old: Object) -> list[FieldError]:
    errors = _shared_errors(new, "reportingController")
    if new.get("series") != old.get("series"):
        errors += _series_errors(new.get("series"))
    fields = ("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count")
    # The reason is compared twice, and so reported twice.
    for field in (*fields, "reason", "type"):
        errors += _immutable(new, old, field)
    if _microseconds(new.get("eventTime")) != _microseconds(old.get("eventTime")):
        errors += _immutable(new, old, "eventTime")
    errors += _immutable(new, old, "action")
    errors += _immutable(new, old, "related")
    errors += _immutable(new, old, "reportingComponent", "reportingController")
    return errors + _immutable(new, old, "reportingInstance")


def _immutable(new: Object, old: Object, field: str, name: str = "") -> list[FieldError]:
    value, before = _internal(field, new.get(field)), _internal(field, old.get(field))
    return [] if value == before else [invalid(Path(name or field), value, "field is immutable")]


def _internal(field: str, value: Any) -> Any:
    """The value as the internal type prints it, which is what messages show."""
    if field == "involvedObject":
        return as_internal(value or {}, OBJECT_REFERENCE)
    if field == "related":
        return as_internal(value, OBJECT_REFERENCE)
    if field == "source":
        return as_internal(value or {}, _SOURCE)
    if field == "count":
        return value or 0
    return value if field.endswith(("Time", "Timestamp")) else value or ""


def _microseconds(time: str | None) -> datetime | None:
    return datetime.fromisoformat(time) if time else None


def _series_errors(series: Object | None) -> list[FieldError]:
    if series is None:
        return []
    errors = []
    if series.get("count", 0) < 2:
        errors.append(invalid(Path("series.count"), "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(required(Path("series.lastObservedTime")))
    return errors


def _shared_errors(event: Object, controller_field: str) -> list[FieldError]:
    """The rules both groups have. An event with an eventTime is one of the new style."""
    namespace = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    new_style = bool(event.get("eventTime"))
    if about:
        matches = new_style or namespace == about
    else:
        matches = namespace in (("default", "kube-system") if new_style else ("", "default"))
    errors = []
    if not matches:
        path = Path("involvedObject").child("namespace")
        errors.append(invalid(path, about, "does not match event.namespace"))
    if not new_style:
        return errors
    controller, path = event.get("reportingComponent", ""), Path(controller_field)
    if not controller:
        errors.append(required(path))
    errors += invalids(path, controller, is_label_key(controller))
    for field, limit in _LIMITS.items():
        text = event.get(field, "")
        if not text and field != "message":
            errors.append(required(Path(field)))
        if len(text.encode()) > limit:
            errors.append(invalid(Path(field), "", f"can have at most {limit} characters"))
    return errors
