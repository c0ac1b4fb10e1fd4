"""Sets of completion indexes."""

from __future__ import annotations

from itertools import islice

import pytest

from steersman.cluster.controllers.job.indexes import Indexes


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        pytest.param([], "", id="none"),
        pytest.param([3], "3", id="one"),
        pytest.param([3, 4], "3,4", id="two neighbours"),
        pytest.param([5, 3, 4], "3-5", id="an interval"),
        pytest.param([0, 2, 3, 7, 8, 9], "0,2,3,7-9", id="several"),
    ],
)
def test_they_are_written_short_and_read_again(numbers: list[int], text: str) -> None:
    indexes = Indexes.of(numbers)
    assert str(indexes) == text
    assert Indexes.parse(text, 10) == indexes
    assert len(indexes) == len(numbers)
    assert [number for number in range(12) if number in indexes] == sorted(numbers)


@pytest.mark.parametrize(
    ("text", "completions", "expected"),
    [
        pytest.param("0-5,8", 4, "0-3", id="beyond the end"),
        pytest.param("1,x,3-y,5", 10, "1,5", id="what makes no sense"),
        pytest.param("1-3,4,5", 10, "1-5", id="what belongs together"),
    ],
)
def test_reading_is_lenient(text: str, completions: int, expected: str) -> None:
    assert str(Indexes.parse(text, completions)) == expected


def test_union_intersection_and_what_is_missing() -> None:
    one, other = Indexes.parse("0-2,6", 10), Indexes.parse("2-4,6-8", 10)
    assert str(one | other) == "0-4,6-8"
    assert one & other == 2
    assert list((one | other).missing(11)) == [5, 9, 10]
    assert list(islice(Indexes().missing(10**9), 2)) == [0, 1]
