"""`steer demo` from its beginning to its end, as `make demo` runs it."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.support.steer import STEER

pytestmark = pytest.mark.slow


def test_the_story_comes_to_its_end() -> None:
    told = subprocess.run(
        [str(STEER), "demo", "--pause", "0"], capture_output=True, text=True, timeout=100, check=False
    )
    assert (told.returncode, told.stderr) == (0, "")
    lines = told.stdout.splitlines()
    for step in ("A cluster is up", "A WebApp is created", "The app is scaled to 5", "crashes", "is deleted"):
        assert any(step in line for line in lines), told.stdout
    # A request that a crashing process had taken may be lost, and once more on a busy machine.
    found = re.fullmatch(r"([1-9]\d*) requests were answered, (\d+) failed\.", lines[-1])
    assert found is not None, lines[-1]
    assert int(found[2]) <= int(found[1]) / 10
