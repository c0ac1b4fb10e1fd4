"""Durations in Go's words."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.objects.custom.durations import format_duration, parse_duration
from steersman.objects.errors import TimeError


@pytest.mark.parametrize(
    "text, span, canonical",
    [
        ("0", timedelta(), "0s"),
        ("10s", timedelta(seconds=10), "10s"),
        ("90s", timedelta(seconds=90), "1m30s"),
        ("1h", timedelta(hours=1), "1h0m0s"),
        ("1h30m", timedelta(minutes=90), "1h30m0s"),
        ("36h", timedelta(days=1.5), "36h0m0s"),
        ("1.5s", timedelta(seconds=1.5), "1.5s"),
        (".5h", timedelta(minutes=30), "30m0s"),
        ("250ms", timedelta(milliseconds=250), "250ms"),
        ("1500us", timedelta(microseconds=1500), "1.5ms"),
        ("7µs", timedelta(microseconds=7), "7µs"),
        ("2000ns", timedelta(microseconds=2), "2µs"),
        ("-1m", timedelta(minutes=-1), "-1m0s"),
        ("+1m", timedelta(minutes=1), "1m0s"),
        ("1m1m", timedelta(minutes=2), "2m0s"),
    ],
)
def test_text_and_span(text: str, span: timedelta, canonical: str) -> None:
    assert parse_duration(text) == span
    assert format_duration(span) == canonical


@pytest.mark.parametrize(
    "text", ["", "1", "soon", "1 h", "h", "1d", "--1s", "1s ", "1ns", "9" * 200 + "s", "9" * 50 + "h", "٣s"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(TimeError):
        parse_duration(text)


@given(st.timedeltas())
def test_every_span_survives_its_text(span: timedelta) -> None:
    assert parse_duration(format_duration(span)) == span
