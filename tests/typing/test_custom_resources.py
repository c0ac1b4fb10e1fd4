"""The type checker agrees with what `custom_resources.py` says is right and wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.type_checker import checked

pytestmark = pytest.mark.slow


def test_right_use_checks_and_wrong_use_does_not() -> None:
    assert checked(Path(__file__).parent / "custom_resources.py") == ""
