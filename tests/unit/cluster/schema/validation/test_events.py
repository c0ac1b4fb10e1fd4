"""Events, through the core group and through events.k8s.io."""

from __future__ import annotations

from typing import Any

import pytest

METADATA = {"name": "e", "namespace": "default", "resourceVersion": "1"}
OLD_STYLE: dict[str, Any] = {
    "metadata": METADATA,
    "involvedObject": {"namespace": "default", "kind": "Pod", "name": "p"},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
MISMATCH = "does not match event.namespace"
CORE = {
    "valid": ({}, []),
    "any name that fits a URL": ({"metadata": {"name": "A_b"}}, []),
    "any finalizer": ({"metadata": {"finalizers": ["bad"]}}, []),
    "metadata after all else": (
        {"metadata": {"name": "a/b"}, "involvedObject": {"namespace": "other"}},
        [f'involvedObject.namespace: Invalid value: "other": {MISMATCH}'],
    ),
    "a name no URL can carry": (
        {"metadata": {"name": "a/b"}},
        ["metadata.name: Invalid value: \"a/b\": may not contain '/'"],
    ),
    "about an object elsewhere": (
        {"involvedObject": {"namespace": "other"}},
        [f'involvedObject.namespace: Invalid value: "other": {MISMATCH}'],
    ),
    "about a node, in default": ({"involvedObject": {"namespace": None}}, []),
    "about a node, elsewhere": (
        {"metadata": {"namespace": "other"}, "involvedObject": {"namespace": None}},
        [f'involvedObject.namespace: Invalid value: "": {MISMATCH}'],
    ),
    "new style without its fields": (
        {"eventTime": "2026-01-01T00:00:00.000000Z"},
        [
            "reportingComponent: Required value",
            'reportingComponent: Invalid value: "": name part must be non-empty',
            'reportingComponent: Invalid value: "": name part must consist of alphanumeric '
            "characters, '-', "
            "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  "
            "or 'my.name', "
            " or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            "reportingInstance: Required value",
            "action: Required value",
            "reason: Required value",
        ],
    ),
    "new style with long texts": (
        {
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingComponent": "example.com/controller",
            "reportingInstance": "i" * 129,
            "action": "a",
            "reason": "r",
            "message": "m" * 1025,
        },
        [
            'reportingInstance: Invalid value: "": can have at most 128 characters',
            'message: Invalid value: "": can have at most 1024 characters',
        ],
    ),
}


@pytest.mark.parametrize("patch, expected", CORE.values(), ids=CORE)
def test_core_event_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created("", "Event", OLD_STYLE, patch) == expected


EVENT: dict[str, Any] = {
    "metadata": METADATA,
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingComponent": "example.com/controller",
    "reportingInstance": "controller-1",
    "action": "Start",
    "reason": "Started",
    "involvedObject": {"namespace": "default", "kind": "Pod", "name": "p"},
    "message": "started",
    "type": "Normal",
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
}
NEW = {
    "valid": ({}, []),
    "no time": (
        {"eventTime": None},
        ["eventTime: Required value"],
    ),
    "no controller": (
        {"reportingComponent": "a b"},
        [
            'reportingController: Invalid value: "a b": name part must consist of alphanumeric '
            "characters, '-', "
            "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  "
            "or 'my.name', "
            " or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ],
    ),
    "metadata between the old rules and the new": (
        {"metadata": {"name": "A"}, "reportingInstance": "", "series": {"count": 1}},
        [
            "reportingInstance: Required value",
            'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            'series.count: Invalid value: "": should be at least 2',
            "series.lastObservedTime: Required value",
        ],
    ),
    "short series": (
        {"series": {"count": 1, "lastObservedTime": None}},
        [
            'series.count: Invalid value: "": should be at least 2',
            "series.lastObservedTime: Required value",
        ],
    ),
    "old fields and an unknown type": (
        {
            "type": "Odd",
            "count": 3,
            "source": {"component": "c"},
            "firstTimestamp": "2026-01-01T00:00:00Z",
        },
        [
            'type: Invalid value: "": has invalid value: Odd',
            'firstTimestamp: Invalid value: "": needs to be unset',
            'count: Invalid value: "": needs to be unset',
            'source: Invalid value: "": needs to be unset',
        ],
    ),
}


@pytest.mark.parametrize("patch, expected", NEW.values(), ids=NEW)
def test_new_event_is_created_or_refused(created: Any, patch: Any, expected: list[str]) -> None:
    assert created("events.k8s.io", "Event", EVENT, patch) == expected


UPDATES = {
    "series may grow": ({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}, []),
    "same moment, other spelling": ({"eventTime": "2026-01-01T00:00:00Z"}, []),
    "old fields stay": (
        {
            "source": {"component": "c"},
            "count": 2,
            "firstTimestamp": "2026-01-01T00:00:00Z",
        },
        [
            'source: Invalid value: {"Component":"c","Host":""}: field is immutable',
            'firstTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable',
            "count: Invalid value: 2: field is immutable",
        ],
    ),
    "the rest stays": (
        {"involvedObject": {"name": "q"}, "reason": "Other", "message": "n", "action": "Stop"},
        [
            'involvedObject: Invalid value: {"Kind":"Pod","Namespace":"default","Name":"q","UID":"",'
            '"APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable',
            'reason: Invalid value: "Other": field is immutable',
            'message: Invalid value: "n": field is immutable',
            'reason: Invalid value: "Other": field is immutable',
            'action: Invalid value: "Stop": field is immutable',
        ],
    ),
}


@pytest.mark.parametrize("patch, expected", UPDATES.values(), ids=UPDATES)
def test_new_event_hardly_changes(updated: Any, patch: Any, expected: list[str]) -> None:
    assert updated("events.k8s.io", "Event", EVENT, patch) == expected
