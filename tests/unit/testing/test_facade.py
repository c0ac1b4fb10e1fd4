"""What the package offers is there, and loaded when asked for."""

from __future__ import annotations

import pytest

import steersman.testing


def test_every_name_is_there() -> None:
    for name in steersman.testing.__all__:
        assert getattr(steersman.testing, name).__module__.startswith("steersman.testing.")


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Clutser'"):
        _ = steersman.testing.Clutser
