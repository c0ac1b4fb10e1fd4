"""Restart policies, back-off, and durations as Go writes them."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.node.restarts import CONTAINER_FORGET_S, Backoffs, go_duration, should_restart


@pytest.mark.parametrize(
    ("policy", "own", "code", "restarted"),
    [
        ("Always", None, 0, True),
        ("OnFailure", None, 0, False),
        ("OnFailure", None, 1, True),
        ("Never", None, 1, False),
        ("Never", "Always", 0, True),
        ("Always", "Never", 1, False),
        ("Never", "OnFailure", 1, True),
    ],
)
def test_a_policy_decides_about_restarts(policy: str, own: str | None, code: int, restarted: bool) -> None:
    container: dict[str, Any] = {"name": "a"} | ({"restartPolicy": own} if own else {})
    assert should_restart(container, {"restartPolicy": policy}, code) is restarted


@pytest.mark.parametrize(
    ("operator", "code", "restarted"),
    [("In", 42, True), ("In", 1, False), ("NotIn", 1, True), ("NotIn", 42, False)],
)
def test_rules_decide_by_exit_code(operator: str, code: int, restarted: bool) -> None:
    rule = {"action": "Restart", "exitCodes": {"operator": operator, "values": [42]}}
    container = {"name": "a", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    assert should_restart(container, {"restartPolicy": "Never"}, code) is restarted


def test_back_off_doubles_up_to_five_minutes() -> None:
    backoffs = Backoffs(CONTAINER_FORGET_S)
    now, waits = 0.0, []
    assert backoffs.until("a", now, now) is None
    for _ in range(7):
        backoffs.advance("a", now, now)
        waits.append(backoffs.wait_s("a"))
        now += 1
        assert backoffs.until("a", now, now) == now + waits[-1]
        now += waits[-1]
        assert backoffs.until("a", now - waits[-1], now) is None
    assert waits == [10, 20, 40, 80, 160, 300, 300]


def test_back_off_is_forgotten_after_ten_good_minutes() -> None:
    backoffs = Backoffs(CONTAINER_FORGET_S)
    backoffs.advance("a", 0, 0)
    backoffs.advance("a", 10, 10)
    failed_at = 10 + CONTAINER_FORGET_S + 1
    assert backoffs.until("a", failed_at, failed_at) is None
    backoffs.advance("a", failed_at, failed_at)
    assert backoffs.wait_s("a") == 10


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.25, "250ms"), (1.5, "1.5s"), (10, "10s"), (80, "1m20s"), (300, "5m0s"), (5400, "1h30m0s")],
)
def test_durations_look_as_go_writes_them(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text
