"""Which taints are tolerated."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.objects.tolerations import tolerates

Object = dict[str, Any]

NO_EXECUTE: Object = {"key": "gone", "value": "yes", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gone", "operator": "Exists"}, True),
        ({"key": "gone", "value": "yes"}, True),
        ({"key": "gone", "value": "no"}, False),
        ({"key": "gone", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_which_taint_is_tolerated(toleration: Object, tolerated: bool) -> None:
    assert tolerates([toleration], NO_EXECUTE) is tolerated


def test_tolerations_compare_numbers() -> None:
    taint = {"key": "level", "value": "5", "effect": "NoExecute"}
    assert tolerates([{"key": "level", "operator": "Gt", "value": "3"}], taint)
    assert not tolerates([{"key": "level", "operator": "Lt", "value": "3"}], taint)
    assert not tolerates([{"key": "level", "operator": "Lt", "value": "many"}], taint)
