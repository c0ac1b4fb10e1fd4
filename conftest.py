"""The project's own fixtures, in the examples' tests and wherever a test wants a cluster."""

from __future__ import annotations

pytest_plugins = ["steersman.testing.plugin"]
