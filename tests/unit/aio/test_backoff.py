"""Backoff: growth, ceiling, jitter."""

from __future__ import annotations

import pytest

from steersman.aio import Backoff


def middle() -> float:
    return 0.5


def test_waits_grow_to_the_ceiling() -> None:
    backoff = Backoff(first_s=1, ceiling_s=10, factor=2)
    assert [backoff.wait_s(n, middle) for n in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_a_huge_count_of_failures_is_the_ceiling() -> None:
    assert Backoff(first_s=1, ceiling_s=10).wait_s(10**9, middle) == 10


@pytest.mark.parametrize(
    "rand,expected", [(0.0, 0.8), (0.5, 1.0), (1.0, 1.2)], ids=["shortest", "nominal", "longest"]
)
def test_jitter_spreads_around_the_nominal_wait(rand: float, expected: float) -> None:
    assert Backoff(first_s=1, jitter=0.2).wait_s(1, lambda: rand) == pytest.approx(expected)


def test_jitter_never_exceeds_the_ceiling() -> None:
    assert Backoff(first_s=1, ceiling_s=1, jitter=0.5).wait_s(1, lambda: 1.0) == 1


@pytest.mark.parametrize(
    "arguments",
    [{"first_s": 0}, {"first_s": 2, "ceiling_s": 1}, {"factor": 0.5}, {"jitter": 1}],
    ids=["no start", "ceiling below start", "shrinking", "jitter of everything"],
)
def test_nonsense_is_refused(arguments: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="backoff needs"):
        Backoff(**arguments)
