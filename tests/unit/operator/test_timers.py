from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.objects.fields import Path
from steersman.objects.metadata import validate_annotations
from steersman.operator.timers import catch_up_s, last_call_annotation, wait_s

UIDS = st.uuids().map(str)


@given(uid=UIDS, every_s=st.floats(0.1, 1e5), wall=st.floats(1e9, 2e9))
def test_the_next_time_is_within_one_interval(uid: str, every_s: float, wall: float) -> None:
    assert 0 < wait_s(uid, every_s, wall) <= every_s


@given(uid=UIDS, elapsed=st.floats(0, 59))
def test_a_restart_does_not_move_an_objects_times(uid: str, elapsed: float) -> None:
    due = 1e9 + wait_s(uid, 60, 1e9)
    now = 1e9 + elapsed
    again = now + wait_s(uid, 60, now)
    assert again == pytest.approx(due if now < due else due + 60, abs=1e-3)


def test_many_objects_are_spread_over_the_interval():
    waits = [wait_s(str(uuid.UUID(int=number)), 60, 1e9) for number in range(600)]
    per_ten_seconds = [sum(low <= wait < low + 10 for wait in waits) for low in range(0, 60, 10)]
    assert min(per_ten_seconds) > 50


@given(uid=UIDS, every_s=st.floats(10, 1e5), wall=st.floats(1e9, 2e9), missed=st.integers(1, 100))
def test_what_was_missed_is_made_up_for_once_and_soon(
    uid: str, every_s: float, wall: float, missed: int
) -> None:
    before = wall + wait_s(uid, every_s, wall) - every_s
    soon_s = catch_up_s(uid, every_s, wall, before - missed * every_s)
    assert soon_s is not None
    assert 0 <= soon_s <= min(every_s / 5, 600)
    called = wall + soon_s
    assert catch_up_s(uid, every_s, called, called) is None
    assert wait_s(uid, every_s, called) > min(every_s / 10, 300) or soon_s == wait_s(uid, every_s, wall)


@given(uid=UIDS, every_s=st.floats(10, 1e5), wall=st.floats(1e9, 2e9), fraction=st.floats(0, 1))
def test_a_call_since_the_last_time_counts(uid: str, every_s: float, wall: float, fraction: float) -> None:
    before = wall + wait_s(uid, every_s, wall) - every_s
    assert catch_up_s(uid, every_s, wall, before + fraction * (wall - before)) is None


@pytest.mark.parametrize("name", ["report", "_private_", "größe", "x" * 300, "__"])
def test_what_is_noted_has_a_name_that_is_allowed(name: str) -> None:
    annotation = last_call_annotation("webapps.example.com", name)
    assert validate_annotations({annotation: ""}, Path("metadata").child("annotations")) == []
    assert annotation != last_call_annotation("others.example.com", name)
