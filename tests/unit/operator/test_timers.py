from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.operator.timers import wait_s

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
