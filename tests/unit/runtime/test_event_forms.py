"""The shapes of Events."""

from __future__ import annotations

from datetime import UTC, datetime

from steersman.runtime.event_forms import CLASSIC, MODERN, Reporter
from steersman.runtime.events_core import Occurrence, Reference, Series

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)
POD = Reference("v1", "Pod", "shop", "p", "u1", "spec.containers{app}", "7")
REFERENCE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "namespace": "shop",
    "name": "p",
    "uid": "u1",
    "fieldPath": "spec.containers{app}",
    "resourceVersion": "7",
}


def series(count: int = 1, note: str = "it started", *, is_combined: bool = False) -> Series:
    return Series(Occurrence(POD, "Normal", "Started", note, "Start"), count, 0.0, is_combined)


def test_the_classic_shape_is_that_of_controllers_and_kubelets() -> None:
    assert CLASSIC.body(series(), Reporter("kubelet", "node-1"), NOW) == {
        "involvedObject": REFERENCE,
        "type": "Normal",
        "reason": "Started",
        "message": "it started",
        "source": {"component": "kubelet", "host": "node-1"},
        "firstTimestamp": "2026-01-02T03:04:05Z",
        "lastTimestamp": "2026-01-02T03:04:05Z",
        "count": 1,
        "reportingComponent": "kubelet",
        "reportingInstance": "node-1",
    }
    assert CLASSIC.again(series(3), NOW) == {
        "count": 3,
        "lastTimestamp": "2026-01-02T03:04:05Z",
        "message": "it started",
    }


def test_a_combined_event_says_only_where_it_is_from() -> None:
    body = CLASSIC.body(series(is_combined=True), Reporter("job-controller", ""), NOW)
    assert body["source"] == {"component": "job-controller"}
    assert not {"reportingComponent", "reportingInstance"} & body.keys()


def test_the_modern_shape_is_that_of_operators_and_the_scheduler() -> None:
    assert MODERN.body(series(2), Reporter("example.com/web", "pod-1"), NOW) == {
        "eventTime": "2026-01-02T03:04:05.000678Z",
        "reportingController": "example.com/web",
        "reportingInstance": "pod-1",
        "type": "Normal",
        "reason": "Started",
        "action": "Start",
        "note": "it started",
        "regarding": REFERENCE,
        "series": {"count": 2, "lastObservedTime": "2026-01-02T03:04:05.000678Z"},
    }


def test_a_long_note_is_cut_between_characters_where_there_is_a_limit() -> None:
    long = "ä" * 600
    assert CLASSIC.body(series(note=long), Reporter("c", ""), NOW)["message"] == long
    assert MODERN.body(series(note=long), Reporter("c", "i"), NOW)["note"] == "ä" * 510 + " ..."
