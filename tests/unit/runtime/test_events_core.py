"""Which Event tells of what."""

from __future__ import annotations

import math

from steersman.runtime.events_core import (
    COMBINED,
    Correlator,
    Isomorphic,
    Occurrence,
    Reference,
    Series,
)

WEB = Reference("example.com/v1", "WebApp", "shop", "web", "u1")


def occurrence(note: str = "it happened", regarding: Reference = WEB, reason: str = "Scaled") -> Occurrence:
    return Occurrence(regarding, "Normal", reason, note, "Reconcile")


def told(correlator: Correlator, what: Occurrence, now: float) -> Series:
    series = correlator.observe(what, now)
    assert series is not None
    return series


def test_the_same_again_is_counted_in_one_series() -> None:
    correlator = Correlator()
    first = told(correlator, occurrence(), 0.0)
    assert first.count == 1
    assert told(correlator, occurrence(regarding=WEB._replace(resource_version="7")), 600.0) is first
    assert first.count == 2
    assert told(correlator, occurrence("something else"), 600.0) is not first
    assert told(correlator, occurrence(reason="Other"), 600.0) is not first


def test_after_ten_minutes_of_silence_a_new_series_begins() -> None:
    correlator = Correlator()
    first = told(correlator, occurrence(), 0.0)
    second = told(correlator, occurrence(), 600.1)
    assert second is not first
    assert told(correlator, occurrence(), 700.0) is second


def test_from_the_tenth_on_similar_ones_are_combined() -> None:
    correlator = Correlator()
    series = [told(correlator, occurrence(f"note {number}"), float(number)) for number in range(12)]
    assert len({id(one) for one in series[:9]}) == 9
    assert not any(one.is_combined for one in series[:9])
    assert series[9] is series[10] is series[11]
    assert series[9].occurrence.note == COMBINED + "note 11", "it tells of the latest"
    assert (series[9].count, series[9].is_combined) == (3, True)
    later = told(correlator, occurrence("note 99"), 700.0)
    assert later.occurrence.note == "note 99", "after ten minutes they are told one by one again"


def test_parts_of_an_object_have_events_of_their_own() -> None:
    correlator = Correlator()
    one, other = (WEB._replace(field_path=f"spec.containers{{{name}}}") for name in "ab")
    assert told(correlator, occurrence(regarding=one), 0.0) is not told(
        correlator, occurrence(regarding=other), 0.0
    )


def test_what_is_counted_for_ever_is() -> None:
    correlator = Correlator(math.inf)
    assert told(correlator, occurrence(), 0.0) is told(correlator, occurrence(), 10_000.0)


def test_isomorphic_ones_are_those_of_one_version_of_an_object() -> None:
    correlator = Isomorphic()
    first = correlator.observe(occurrence(), 0.0)
    assert first is not None
    assert correlator.observe(occurrence("in other words"), 60.0) is first
    assert (first.count, first.occurrence.note) == (2, "it happened")
    assert correlator.observe(occurrence(), 120.0) is None, "counted, and written later"
    later = correlator.observe(occurrence(regarding=WEB._replace(resource_version="7")), 120.0)
    assert later is not None
    assert later is not first
    after_silence = correlator.observe(occurrence(), 481.0)
    assert after_silence is not first


def test_an_isomorphic_series_that_goes_on_is_written_every_half_an_hour() -> None:
    correlator = Isomorphic()
    told_at = [at for at in range(0, 4000, 300) if correlator.observe(occurrence(), float(at)) is not None]
    assert told_at == [0, 300, 2100, 3900]


def test_an_object_tells_25_times_and_then_every_five_minutes() -> None:
    correlator = Correlator()
    other = WEB._replace(name="other")
    assert [correlator.observe(occurrence(), 0.0) is not None for _ in range(27)] == [True] * 25 + [False] * 2
    assert correlator.dropped == 2
    assert correlator.observe(occurrence(regarding=other), 0.0) is not None
    assert correlator.observe(occurrence(), 299.0) is None
    assert correlator.observe(occurrence(), 301.0) is not None
    assert correlator.observe(occurrence(), 302.0) is None


def test_what_is_remembered_is_bounded() -> None:
    correlator = Correlator()
    for number in range(5000):
        correlator.observe(occurrence(regarding=WEB._replace(name=f"web-{number}")), 0.0)
    for memory in (correlator._budgets, correlator._similar, correlator._series):
        assert len(memory._values) == 4096  # type: ignore[attr-defined]
