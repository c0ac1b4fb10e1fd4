"""So many in a row."""

from __future__ import annotations

import pytest

from steersman.cluster.node.probing.result_run import ResultRun


@pytest.mark.parametrize(
    ("successes", "failures", "attempts", "verdicts"),
    [
        (1, 3, "fffs", [None, None, False, True]),
        (1, 3, "ffsfff", [None, None, True, None, None, False]),
        (2, 1, "sfss", [None, False, None, True]),
        (1, 1, "sfs", [True, False, True]),
        (1, 2, "ffff", [None, False, False, False]),
    ],
)
def test_a_verdict_takes_so_many_in_a_row(
    successes: int, failures: int, attempts: str, verdicts: list[bool | None]
) -> None:
    tally = ResultRun(successes, failures)
    assert [tally.count(good=one == "s") for one in attempts] == verdicts
