"""Events that were not told: all are counted, few are heard of."""

from __future__ import annotations

import logging

import pytest

from steersman.runtime.lost_events import LostEvents
from tests.unit.client.conftest import StoppedClock


def test_the_log_hears_of_a_cause_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = StoppedClock()
    lost = LostEvents(clock, "example.com/op")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            lost.add("refused as Forbidden", "no right")
        lost.add("they come too fast")
        clock.now += 60
        lost.add("refused as Forbidden", "still no right")
    assert caplog.messages == [
        "events of example.com/op were dropped, 1 more (refused as Forbidden): no right",
        "events of example.com/op were dropped, 1 more (they come too fast)",
        "events of example.com/op were dropped, 3 more (refused as Forbidden): still no right",
    ]
    assert lost.total == 5
    assert lost.by_cause["refused as Forbidden"] == 4


def test_what_was_to_be_expected_is_only_counted(caplog: pytest.LogCaptureFixture) -> None:
    lost = LostEvents(StoppedClock(), "op")
    with caplog.at_level(logging.DEBUG):
        lost.add("their namespace ends", "no", expected=True)
    assert lost.total == 1
    assert not caplog.messages
