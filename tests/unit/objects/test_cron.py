"""Schedules, judged in the words of robfig/cron."""

from __future__ import annotations

import pytest

from steersman.objects.cron import CronTimes, Every, parse_schedule, schedule_error

SCHEDULES = {
    "* * * * *": "",
    "*/5 0-6 1,15 jan-MAR mon": "",
    "0 0 ? * *": "",
    "@hourly": "",
    "@every 1h30m": "",
    "@every 1.5s": "",
    "every day": "expected exactly 5 fields, found 2: [every day]",
    "60 * * * *": "end of range (60) above maximum (59): 60",
    "* * 0 * *": "beginning of range (0) below minimum (1): 0",
    "5-1 * * * *": "beginning of range (5) beyond end of range (1): 5-1",
    "*/0 * * * *": "step of range should be a positive number: */0",
    "1-2-3 * * * *": "too many hyphens: 1-2-3",
    "1/2/3 * * * *": "too many slashes: 1/2/3",
    "x * * * *": 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
    "-1 * * * *": 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax',
    "*/-1 * * * *": "negative number (-1) not allowed: -1",
    "* * * * 7": "end of range (7) above maximum (6): 7",
    "@sometimes": "unrecognized descriptor: @sometimes",
    "@every soon": 'failed to parse duration @every soon: time: invalid duration "soon"',
    "@every 5": 'failed to parse duration @every 5: time: missing unit in duration "5"',
    "@every 5d": 'failed to parse duration @every 5d: time: unknown unit "d" in duration "5d"',
    "TZ=Nowhere/Land * * * * *": "provided bad location Nowhere/Land: unknown time zone Nowhere/Land",
    "TZ=UTC": "invalid schedule format: runtime error: slice bounds out of range [:-1]",
    "": "empty spec string",
}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_is_judged(schedule: str) -> None:
    assert schedule_error(schedule) == SCHEDULES[schedule]


def test_what_a_schedule_means() -> None:
    assert parse_schedule("TZ=Europe/Berlin */30 8-9,12 ? jan-mar,6/3 mon") == CronTimes(
        frozenset({0, 30}),
        frozenset({8, 9, 12}),
        frozenset(range(1, 32)),
        frozenset({1, 2, 3, 6, 9, 12}),
        frozenset({1}),
        any_day=True,
        any_weekday=False,
        zone="Europe/Berlin",
    )
    assert parse_schedule("@weekly") == parse_schedule("0 0 * * sun")


def test_a_step_is_not_any_day() -> None:
    parsed = parse_schedule("0 0 */2 * *")
    assert isinstance(parsed, CronTimes)
    assert (parsed.any_day, parsed.any_weekday) == (False, True)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h30m", 5400), ("1.9s", 1), ("10ms", 1), ("0", 1), ("-5m", 1)],
)
def test_intervals_are_whole_seconds_and_at_least_one(text: str, seconds: int) -> None:
    assert parse_schedule(f"@every {text}") == Every(seconds)
