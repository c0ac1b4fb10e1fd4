"""Timestamps and durations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from steersman.objects import times
from steersman.objects.errors import TimeError

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("text", "seconds", "micro"),
    [
        ("2026-11-16T06:27:43Z", "2026-11-16T06:27:43Z", "2026-11-16T06:27:43.000000Z"),
        ("2026-11-16T06:27:43.5Z", "2026-11-16T06:27:43Z", "2026-11-16T06:27:43.500000Z"),
        ("2026-11-16T06:27:43.123456789Z", "2026-11-16T06:27:43Z", "2026-11-16T06:27:43.123456Z"),
        ("2026-11-16T01:00:00+02:00", "2026-11-15T23:00:00Z", "2026-11-15T23:00:00.000000Z"),
        ("2026-11-16T01:00:00-00:30", "2026-11-16T01:30:00Z", "2026-11-16T01:30:00.000000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_time_has_one_spelling(text: str, seconds: str, micro: str) -> None:
    assert times.canonical_time(text) == seconds
    assert times.canonical_micro_time(text) == micro


@pytest.mark.parametrize(
    "text",
    ["", "2026-11-16", "2026-11-16T06:27:43", "2026-02-31T00:00:00Z", "2026-11-16T25:00:00Z", "yesterday"],
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(TimeError):
        times.canonical_time(text)


def test_format_turns_to_utc() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=1)))
    assert times.format_time(moment) == "2026-01-02T02:04:05Z"
    assert times.format_micro_time(moment) == "2026-01-02T02:04:05.000006Z"
    assert times.parse_time("2026-01-02T02:04:05Z") == datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "shown", "short"),
    [
        (-2, "<invalid>", "<invalid>"),
        (-1.5, "0s", "0s"),
        (0, "0s", "0s"),
        (119, "119s", "1m"),
        (120, "2m", "2m"),
        (121, "2m1s", "2m"),
        (9 * MINUTE + 59, "9m59s", "9m"),
        (10 * MINUTE + 30, "10m", "10m"),
        (179 * MINUTE, "179m", "2h"),
        (3 * HOUR, "3h", "3h"),
        (3 * HOUR + 12 * MINUTE, "3h12m", "3h"),
        (8 * HOUR + 59 * MINUTE, "8h", "8h"),
        (47 * HOUR, "47h", "1d"),
        (2 * DAY, "2d", "2d"),
        (2 * DAY + 4 * HOUR, "2d4h", "2d"),
        (8 * DAY + 4 * HOUR, "8d", "8d"),
        (729 * DAY, "729d", "1y"),
        (2 * YEAR, "2y", "2y"),
        (2 * YEAR + DAY, "2y1d", "2y"),
        (8 * YEAR + DAY, "8y", "8y"),
    ],
)
def test_duration_as_people_read_it(seconds: float, shown: str, short: str) -> None:
    assert times.human_duration(seconds) == shown
    assert times.short_human_duration(seconds) == short
