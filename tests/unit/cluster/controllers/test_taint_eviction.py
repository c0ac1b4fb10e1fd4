"""How long pods may stay on a tainted node."""

from __future__ import annotations

import math

import pytest

from steersman.cluster.controllers.taint_eviction import tolerated_s
from steersman.cluster.controllers.taints import NO_EXECUTE, Taint, Toleration

ONE, OTHER = Taint("one", "", NO_EXECUTE), Taint("other", "", NO_EXECUTE)


def tolerating(key: str, seconds: int | None = None) -> Toleration:
    return Toleration(key, "Exists", "", NO_EXECUTE, seconds)


@pytest.mark.parametrize(
    ("taints", "tolerations", "seconds"),
    [
        pytest.param([], [], math.inf, id="no taints"),
        pytest.param([ONE], [], 0, id="not tolerated"),
        pytest.param([ONE], [tolerating("one")], math.inf, id="for ever"),
        pytest.param([ONE], [tolerating("one", 30)], 30, id="for a while"),
        pytest.param([ONE], [tolerating("one", -5)], 0, id="less than no time"),
        pytest.param([ONE, OTHER], [tolerating("one", 30)], 0, id="one of two"),
        pytest.param([ONE, OTHER], [tolerating("one", 30), tolerating("other", 10)], 10, id="the shorter"),
        pytest.param([ONE, OTHER], [tolerating("one", 30), tolerating("other")], 30, id="one for ever"),
        pytest.param([ONE], [tolerating("one", 30), tolerating("one")], 30, id="the first that fits"),
    ],
)
def test_the_shortest_toleration_counts(
    taints: list[Taint], tolerations: list[Toleration], seconds: float
) -> None:
    assert tolerated_s(taints, tolerations) == seconds
