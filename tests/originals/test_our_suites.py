"""Our own tests of client, runtime, webhooks and election, with the original kube-apiserver in our server's place.

A choice that takes a few minutes; `scripts/real_server.py FOLDER` runs whole folders.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.originals.programs import NOT_INSTALLED, installed

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.original,
    pytest.mark.skipif(
        not installed("etcd", "kube-apiserver", "kube-controller-manager"), reason=NOT_INSTALLED
    ),
    pytest.mark.timeout(600),
]

#: What is run, and how many of it must have run: what is skipped there proves nothing.
SUITES = {
    "client": (["tests/integration/client/test_objects.py"], 15),
    "credentials": (["tests/integration/client/test_configuration.py"], 15),
    "informers": (["tests/integration/runtime/test_informers.py"], 5),
    "finalizers and events": (
        ["tests/integration/runtime/test_finalizers.py", "tests/integration/runtime/test_events.py"], 10
    ),
    "operators and webhooks": (["tests/integration/webhooks", "tests/integration/operator"], 10),
    "election": (["tests/integration/election/test_lease.py", "-k", "says_who or deleted or edits"], 3),
}  # fmt: skip


@pytest.mark.parametrize("suite", SUITES)
def test_our_tests_pass_on_the_original(suite: str) -> None:
    files, least = SUITES[suite]
    command = [sys.executable, "scripts/real_server.py", *files, "-n", "0", "--tb=short"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=580, check=False)
    said = done.stdout[-8000:] + done.stderr[-2000:]
    assert done.returncode == 0, said
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None, said
    assert int(passed[1]) >= least, said
