"""The fixtures and settings of all tests, those of the examples too."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["steersman.testing.plugin", "tests.support.ending", "tests.support.skips"]

# The same examples on every run, however busy the machine. To look for others:
# pytest --hypothesis-profile exploring
settings.register_profile("exploring", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("exploring"), derandomize=True, database=None)
settings.load_profile("repeatable")

# What is started in the background of a shell ignores these, and so would every program that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have those that wait for the original programs begin: at the end all workers would wait for one."""
    items.sort(key=lambda item: item.get_closest_marker("original") is None)
