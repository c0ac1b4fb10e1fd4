"""How long nodes may keep what they read."""

from __future__ import annotations

import pytest

from steersman.cluster.controllers.node_ttl import Size


@pytest.mark.parametrize(
    ("nodes", "seconds"),
    [(0, 0), (1, 0), (100, 0), (101, 15), (500, 15), (501, 30), (1001, 60), (2001, 300)],
)
def test_more_nodes_keep_things_longer(nodes: int, seconds: int) -> None:
    size = Size()
    for _ in range(nodes):
        size.add()
    assert size.seconds == seconds


def test_a_few_nodes_less_change_nothing() -> None:
    size = Size()
    for _ in range(101):
        size.add()
    for _ in range(11):
        size.remove()
    assert size.seconds == 15
    size.remove()
    assert size.seconds == 0
