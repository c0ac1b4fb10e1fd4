"""Recorded conversations with a real kube-apiserver, replayed: the answers are the same."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.steer import Steer, running

RECORDINGS = Path(__file__).parents[4] / "shared" / "golden"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not RECORDINGS.is_dir(), reason="there are no recordings beside the checkout"),
]

SCENARIOS = [
    "access",
    "apply",
    "crud",
    "custom_resources",
    "defaults",
    "deletion",
    "discovery",
    "field_validation",
    "patches",
    "validation",
    "watch_and_list",
]


@pytest.fixture(scope="module")
def server() -> Iterator[Steer]:
    """A server set up like the one that was recorded."""
    with running(
        "--controllers", "none", "--disable-admission", "ServiceAccount", "--service-cidr", "10.0.0.0/24"
    ) as steer:  # fmt: skip
        yield steer


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_answers_are_those_of_kubernetes(server: Steer, scenario: str) -> None:
    # Owners of fields are listed by the second of their last change: recorded were some of one second.
    time.sleep(1 - time.time() % 1)
    done = subprocess.run(
        [sys.executable, str(RECORDINGS / "golden.py"), "check", scenario,
         "--server", server.announced["server"], "--token", server.api.token],
        capture_output=True,
        text=True,
        timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert done.stdout.rstrip().endswith(", 0 failed")
    assert not done.stdout.startswith("0 passed"), "the scenario has steps"
