from __future__ import annotations

import pytest

from benchmarks.table import Measurement, Table, render


@pytest.mark.parametrize(
    ("measurement", "ratio", "met"),
    [
        pytest.param(Measurement("cost", 0.2, "ms", peer=0.8, bar=0.2), 4.0, True, id="less-is-better"),
        pytest.param(Measurement("cost", 0.4, "ms", peer=0.8, bar=0.2), 2.0, False, id="bar-missed"),
        pytest.param(
            Measurement("rate", 4000, "/s", peer=2000, bar=5000, more_is_better=True), 2.0, False, id="rate"
        ),
        pytest.param(Measurement("alone", 1, "MB"), None, None, id="nothing-to-compare-with"),
        pytest.param(Measurement("nothing", 0, "ms", peer=1), None, None, id="zero"),
    ],
)
def test_comparison(measurement: Measurement, ratio: float | None, met: bool | None) -> None:
    assert measurement.ratio == (None if ratio is None else pytest.approx(ratio))
    assert measurement.met is met


def test_text_is_aligned_and_says_what_failed() -> None:
    table = Table("Things")
    table.add("small", 0.5, "ms", peer=1.5, bar=0.2)
    table.add("a longer name", 12345, "/s")
    table.check(True, "not shown")
    table.check(False, "one was lost")
    assert render(table, colour=False).splitlines() == [
        "Things",
        "                 measured  unit  kube-apiserver  better by       bar",
        "  small             0.500  ms             1.500         3x  <= 0.200  MISSED",
        "  a longer name    12,345  /s",
        "  FAILED: one was lost",
    ]


def test_columns_that_nobody_fills_are_left_out() -> None:
    table = Table("Things")
    table.add("one", 1, "ms")
    assert render(table, colour=False).splitlines()[1:] == ["       measured  unit", "  one         1  ms"]


def test_colour_only_when_asked_for() -> None:
    table = Table("Things")
    table.add("one", 1, "ms", bar=2)
    assert "\x1b[" in render(table, colour=True)
    assert "\x1b[" not in render(table, colour=False)
