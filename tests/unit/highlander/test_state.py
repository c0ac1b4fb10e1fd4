"""The board: what is shown, what is told, what is counted."""

from __future__ import annotations

from dataclasses import replace

from steersman.highlander.failback import priority_of
from steersman.highlander.state import (
    Board,
    ControllerState,
    Distribution,
    WorkloadKind,
    WorkloadPhase,
    WorkloadState,
    series,
)

WORKLOAD = WorkloadState(WorkloadKind.PROCESS, "w", "ns", "shop")


class _Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def board() -> tuple[Board, _Time, list[tuple[str, object]]]:
    time, told = _Time(), list[tuple[str, object]]()
    made = Board(ControllerState("a", "n", "shop", lease_duration_s=2.0), time)
    made.subscribe(lambda what, value: told.append((what, value)))
    return made, time, told


def test_leading_is_computed_when_asked() -> None:
    made, _, _ = board()
    margin = 1.5
    made.measure_margin(lambda: margin)
    made.change(is_leader=True)
    assert (made.controller.is_leader, made.controller.lease_margin_s) == (True, 1.5)
    assert made.controller.renew_lag_s == 0.5
    margin = 0.0
    assert made.controller.is_leader is False


def test_only_changes_are_told() -> None:
    made, _, told = board()
    made.show(WORKLOAD)
    made.show(WORKLOAD)
    made.change(last_error="x")
    made.change(last_error="x")
    assert [what for what, _ in told] == ["workload", "controller"]


def test_a_phase_says_since_when() -> None:
    made, time, _ = board()
    made.show(WORKLOAD)
    time.now = 200.0
    made.show(replace(WORKLOAD, last_error="x"))
    assert made.workloads[WORKLOAD.key].since == 100.0
    made.show(replace(WORKLOAD, phase=WorkloadPhase.RUNNING))
    assert made.workloads[WORKLOAD.key].since == 200.0


def test_a_listener_that_left_hears_nothing() -> None:
    made, _, told = board()
    heard: list[str] = []
    end = made.subscribe(lambda what, _: heard.append(what))
    end()
    made.show(WORKLOAD)
    made.forget(WORKLOAD.key)
    assert heard == []
    assert [what for what, _ in told] == ["workload", "workload-gone"]


def test_transitions_are_remembered() -> None:
    made, _, _ = board()
    made.transition("a_n", "elected", 3)
    made.transition("", "lost", 3)
    assert [(entry.from_leader, entry.to_leader) for entry in made.history] == [("", "a_n"), ("a_n", "")]
    assert (made.controller.epoch, made.controller.last_leader, made.controller.transitions) == (3, "a_n", 2)
    assert made.counters[series("leadership_transitions_total", {})] == 2


def test_a_distribution_counts_by_upper_bounds() -> None:
    made = Distribution((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        made.add(value)
    assert (made.counts, made.count, made.total) == ([2, 1, 1], 4, 12.0)


def test_an_owner_says_its_priority() -> None:
    assert priority_of(ControllerState("a#5", "n", "shop", priority=10).owner) == 10
    assert priority_of(ControllerState("a", "n", "shop").owner) == 0
    assert priority_of("") == 0
