"""What right a part of the node's API needs."""

from __future__ import annotations

import pytest

from steersman.cluster.node.api.access import subresources


@pytest.mark.parametrize(
    ("part", "enough"),
    [
        ("pods", ["pods", "proxy"]),
        ("runningpods", ["pods", "proxy"]),
        ("healthz", ["healthz", "proxy"]),
        ("configz", ["configz", "proxy"]),
        ("stats", ["stats"]),
        ("metrics", ["metrics"]),
        ("logs", ["log"]),
        ("checkpoint", ["checkpoint"]),
        ("containerLogs", ["proxy"]),
        ("exec", ["proxy"]),
        ("", ["proxy"]),
        ("nowhere", ["proxy"]),
    ],
)
def test_parts_belong_to_subresources_of_the_node(part: str, enough: list[str]) -> None:
    assert list(subresources(part)) == enough
