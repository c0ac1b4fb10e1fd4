"""Every builder example of seed 004 makes exactly the object it stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from steersman.objects.builders import Resource
from tests.unit.objects.builders.seed_examples import EXAMPLES


@pytest.mark.parametrize(("build", "made"), EXAMPLES.items(), ids=[example.__name__ for example in EXAMPLES])
def test_seed_example_makes_exactly_its_object(build: Callable[[], Resource], made: dict[str, Any]) -> None:
    assert build().to_object() == made
