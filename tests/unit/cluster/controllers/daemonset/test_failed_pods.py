from __future__ import annotations

from steersman.cluster.controllers.daemonset.failed_pods import FailedPods


def test_waits_grow_while_a_node_goes_on_failing() -> None:
    failed = FailedPods()
    now, waits = 0.0, []
    for _ in range(12):
        assert failed.wait_s("u", 1, "n", now) == 0
        waits.append(failed.wait_s("u", 1, "n", now))
        now += waits[-1]
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]


def test_a_wait_is_over_in_time_and_is_each_nodes_own() -> None:
    failed = FailedPods()
    failed.wait_s("u", 1, "n", 0)
    assert failed.wait_s("u", 1, "n", 0.4) == 0.6
    assert failed.wait_s("u", 1, "other", 0.4) == 0
    assert failed.wait_s("u", 2, "n", 0.4) == 0  # another template may do better


def test_old_failures_are_forgotten() -> None:
    failed = FailedPods()
    failed.wait_s("u", 1, "n", 0)
    failed.wait_s("u", 1, "n", 1)
    assert failed.wait_s("u", 1, "n", 5000) == 0
    assert failed.wait_s("u", 1, "n", 5000) == 1
