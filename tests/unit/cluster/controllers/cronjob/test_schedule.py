"""When schedules fire."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import pytest

from steersman.cluster.controllers.cronjob.due import due_start, wait_s
from steersman.cluster.controllers.cronjob.schedule import next_time
from steersman.objects.cron import parse_schedule
from steersman.objects.times import format_time, parse_time


def _times(schedule: str, after: str, count: int) -> list[str | None]:
    def following() -> Iterator[str | None]:
        time: datetime | None = parse_time(after)
        while time is not None:
            time = next_time(parse_schedule(schedule), time)
            yield None if time is None else format_time(time)

    return list(islice(following(), count))


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        pytest.param("* * * * *", "2026-05-01T12:00:30Z", ["2026-05-01T12:01:00Z"], id="each minute"),
        pytest.param("* * * * *", "2026-05-01T12:00:00Z", ["2026-05-01T12:01:00Z"], id="later than now"),
        pytest.param(
            "*/20 8-9 * * *",
            "2026-05-01T09:30:00Z",
            ["2026-05-01T09:40:00Z", "2026-05-02T08:00:00Z"],
            id="steps",
        ),
        pytest.param(
            "30 6-16/4 * * 1-5",
            "2026-05-01T15:00:00Z",
            ["2026-05-04T06:30:00Z", "2026-05-04T10:30:00Z"],
            id="over a weekend",
        ),
        pytest.param(
            "0 0 13 * 5",
            "2026-05-01T00:00:00Z",
            ["2026-05-08T00:00:00Z", "2026-05-13T00:00:00Z"],
            id="either day",
        ),
        pytest.param(
            "0 0 */2 * 5",
            "2026-05-01T00:00:00Z",
            ["2026-05-03T00:00:00Z", "2026-05-05T00:00:00Z"],
            id="a step is not any day",
        ),
        pytest.param("0 12 29 2 *", "2026-05-01T00:00:00Z", ["2028-02-29T12:00:00Z"], id="a leap year"),
        pytest.param("0 0 31 2 *", "2026-05-01T00:00:00Z", [None], id="never"),
        pytest.param(
            "@monthly",
            "2026-11-16T00:00:00Z",
            ["2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
            id="over the year",
        ),
        pytest.param("@weekly", "2026-05-01T00:00:00Z", ["2026-05-03T00:00:00Z"], id="Sundays"),
        pytest.param(
            "@every 1h30m",
            "2026-05-01T12:00:30Z",
            ["2026-05-01T13:30:30Z", "2026-05-01T15:00:30Z"],
            id="every",
        ),
        pytest.param("@every 1ms", "2026-05-01T12:00:30Z", ["2026-05-01T12:00:31Z"], id="not too often"),
        pytest.param(
            "TZ=Europe/Berlin 0 9 * * *",
            "2026-10-24T12:00:00Z",
            ["2026-10-25T08:00:00Z", "2026-10-26T08:00:00Z"],
            id="time zone",
        ),
        pytest.param(
            "TZ=America/New_York 30 2 * * *",
            "2026-03-07T12:00:00Z",
            ["2026-03-09T06:30:00Z"],
            id="clocks go forward",
        ),
        pytest.param(
            "TZ=America/New_York 30 1 * * *",
            "2026-11-01T05:00:00Z",
            ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"],
            id="clocks go back",
        ),
        pytest.param(
            "TZ=Asia/Kolkata 0 * * * *",
            "2026-05-01T12:00:00Z",
            ["2026-05-01T12:30:00Z", "2026-05-01T13:30:00Z"],
            id="half hours",
        ),
    ],
)
def test_next_times(schedule: str, after: str, expected: list[str]) -> None:
    assert _times(schedule, after, len(expected)) == expected


CREATED = "2026-05-01T12:00:10Z"


@pytest.mark.parametrize(
    ("schedule", "now", "spec", "start", "missed", "wait"),
    [
        pytest.param("0 * * * *", "2026-05-01T12:30:00Z", {}, None, 0, 1800.1, id="not yet"),
        pytest.param("0 * * * *", "2026-05-01T13:00:00Z", {}, "13:00:00", 0, 3600.1, id="now"),
        pytest.param("0 * * * *", "2026-05-01T16:10:00Z", {}, "16:00:00", 4, 3000.1, id="some missed"),
        pytest.param("* * * * *", "2026-05-01T15:10:20Z", {}, "15:10:00", 190, 40.1, id="many missed"),
        pytest.param("@every 1h", "2026-05-01T15:10:20Z", {}, "15:00:10", 3, 2990 - 0.0 + 0.1, id="every"),
        pytest.param(
            "0 * * * *",
            "2026-05-01T16:10:00Z",
            {"startingDeadlineSeconds": 300},
            None,
            0,
            3000.1,
            id="past the deadline",
        ),
        pytest.param(
            "30 6-16/4 * * 1-5",
            "2026-05-03T12:00:00Z",
            {},
            "14:30:00",
            None,
            18 * 3600 + 1800.1,
            id="uneven intervals",
        ),
    ],
)
def test_what_is_due(
    schedule: str, now: str, spec: dict[str, int], start: str | None, missed: int | None, wait: float
) -> None:
    cron_job = {"metadata": {"creationTimestamp": CREATED}, "spec": spec}
    moment = parse_time(now)
    due = due_start(cron_job, parse_schedule(schedule), moment)
    assert due.start == (None if start is None else parse_time(f"2026-05-01T{start}Z"))
    assert missed is None or due.missed == missed
    assert due.too_many_missed is (missed == 190)
    assert wait_s(cron_job, parse_schedule(schedule), moment) == pytest.approx(wait)


def test_the_last_start_is_where_counting_begins() -> None:
    status = {"lastScheduleTime": "2026-05-01T15:00:00Z"}
    cron_job = {"metadata": {"creationTimestamp": CREATED}, "spec": {}, "status": status}
    now = datetime(2026, 5, 1, 15, 30, tzinfo=UTC)
    assert due_start(cron_job, parse_schedule("0 * * * *"), now).start is None
