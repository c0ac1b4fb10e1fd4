"""The project's own fixtures, in the examples' tests and wherever a test wants a cluster."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

pytest_plugins = ["steersman.testing.plugin"]

# A busy machine makes examples slow to generate and slow to run; neither is a mistake.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
