"""Virtual time for tests of code below the test kit, which has it."""

from __future__ import annotations

from steersman.testing.virtual import VirtualClock, run_virtual

__all__ = ["VirtualClock", "run_virtual"]
