"""SIGTERM and SIGINT: gracefully the first time, at once the second."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.support.steer import DEADLINE_S, Steer, running

pytestmark = pytest.mark.slow

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/lock"


@contextmanager
def operator(server: Steer, seconds: float) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("operator_process.py")), str(seconds)],
        env={"PATH": os.environ["PATH"], "KUBECONFIG": str(server.kubeconfig)},
        stdout=subprocess.PIPE,
        text=True,
    )
    hanging = threading.Timer(DEADLINE_S, process.kill)
    hanging.start()
    assert process.stdout
    try:
        yield process, process.stdout
    finally:
        hanging.cancel()
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Steer]:
    with running() as server:
        yield server


def test_the_first_signal_finishes_what_runs_and_frees_the_lease(server: Steer) -> None:
    with operator(server, 1.0) as (process, output):
        assert output.readline() == "began\n"
        process.send_signal(signal.SIGTERM)
        assert output.read().split() == ["done", "ended"]
        assert process.wait(DEADLINE_S) == 0
    assert not server.api.get(LEASE).json["spec"].get("holderIdentity")


def test_the_second_signal_ends_at_once(server: Steer) -> None:
    with operator(server, 1e6) as (process, output):
        assert output.readline() == "began\n"
        process.send_signal(signal.SIGINT)
        # Two signals at once may arrive as one, so the second waits until the first was seen.
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
        assert process.returncode == 128 + signal.SIGINT
        assert output.read() == ""
