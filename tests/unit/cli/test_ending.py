"""How `steer` ends: what is said about an API that cannot be used, and about output that nobody takes."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path

import pytest

from steersman.cli.colours import can_redraw, coloured
from steersman.cli.failure import no_use_of_the_api
from steersman.client import ClientError, ConfigError, NoKubeconfig, Unreachable
from tests.support.steer import DEADLINE_S, STEER


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            NoKubeconfig("/k: there is no such kubeconfig"),
            "/k: there is no such kubeconfig; `steer up` starts",
        ),
        (Unreachable("no connection to a:1:\n refused"), "no connection to a:1: refused; is the cluster up?"),
    ],
    ids=["no kubeconfig", "nobody listens"],
)
def test_what_to_do_is_said(error: ClientError, said: str) -> None:
    failed = no_use_of_the_api(error, 2)
    assert str(failed).startswith(said)
    assert failed.code == 2


def test_a_kubeconfig_that_is_wrong_says_it_all() -> None:
    assert str(no_use_of_the_api(ConfigError("/k: users: is no list"))) == "/k: users: is no list"


def ended(stdout: int) -> tuple[int, str]:
    done = subprocess.run(
        [str(STEER), "--help"],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return done.returncode, done.stderr


def test_whoever_reads_may_stop_reading() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert ended(writing) == (1, "")
    finally:
        os.close(writing)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written() -> None:
    with Path("/dev/full").open("wb") as full:
        assert ended(full.fileno()) == (1, "steer: No space left on device\n")


def test_the_version() -> None:
    said = subprocess.run(
        [str(STEER), "--version"], capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    assert said.stdout.startswith("steersman ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "colours", "pictures"),
    [
        (Terminal(), {}, True, True),
        (Terminal(), {"NO_COLOR": "1"}, False, True),
        (Terminal(), {"TERM": "dumb"}, False, False),
        (io.StringIO(), {}, False, False),
    ],
    ids=["terminal", "NO_COLOR", "dumb", "file"],
)
def test_colours_and_pictures_are_for_terminals(
    stream: io.StringIO,
    environment: dict[str, str],
    colours: bool,
    pictures: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (coloured(stream), can_redraw(stream)) == (colours, pictures)
