from __future__ import annotations

import pytest

from steersman.cluster.controllers.int_or_percent import scaled_value


@pytest.mark.parametrize(
    ("value", "total", "round_up", "expected"),
    [
        pytest.param(3, 10, True, 3, id="a number is itself"),
        pytest.param("25%", 10, True, 3, id="rounded up"),
        pytest.param("25%", 10, False, 2, id="rounded down"),
        pytest.param("100%", 7, False, 7, id="all"),
        pytest.param("0%", 7, True, 0, id="none"),
        pytest.param("1%", 0, True, 0, id="of nothing"),
    ],
)
def test_portions(value: int | str, total: int, round_up: bool, expected: int) -> None:
    assert scaled_value(value, total, round_up=round_up) == expected


def test_text_that_is_no_percentage_is_refused() -> None:
    with pytest.raises(ValueError, match="not a percentage"):
        scaled_value("3", 10, round_up=True)
