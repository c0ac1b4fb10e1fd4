"""Waits after failures."""

from __future__ import annotations

import pytest

from steersman.runtime.retry import RetryPolicy


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        pytest.param(RetryPolicy(), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300], id="default"),
        pytest.param(RetryPolicy.exponential(2, 5), [2, 4, 5, 5], id="exponential"),
        pytest.param(RetryPolicy.flat(60), [60, 60, 60], id="flat"),
        pytest.param(RetryPolicy.client_go(), [0.005, 0.01, 0.02, 0.04], id="client-go"),
    ],
)
def test_waits_grow_to_the_ceiling(policy: RetryPolicy, waits: list[float]) -> None:
    assert [policy.wait_s(failures) for failures in range(1, len(waits) + 1)] == waits


def test_client_go_ends_at_1000_seconds_and_no_count_is_too_large() -> None:
    assert RetryPolicy.client_go().wait_s(19) == 1000
    assert RetryPolicy.client_go().wait_s(10**6) == 1000


@pytest.mark.parametrize("bad", [(0, 1, 2), (2, 1, 2), (1, 2, 0.5)], ids=["zero", "inverted", "shrinking"])
def test_policies_that_make_no_sense_are_refused(bad: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="retry policy"):
        RetryPolicy(*bad)
