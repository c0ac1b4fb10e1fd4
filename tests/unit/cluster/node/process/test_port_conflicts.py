"""Whether a container ended for want of its port."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from steersman.cluster.node.cri import ContainerState, ContainerStatus
from steersman.cluster.node.process.port_conflicts import conflicting_port

ENDED = ContainerStatus(
    "id", "sandbox", "main", 0, ContainerState.EXITED, "i", "i", 1.0, 1.0, 2.0, exit_code=1, reason="Error"
)


def log_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "0.log"
    path.write_text(f"2026-01-01T00:00:00.000000000Z stderr F {text}\n")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("OSError: [Errno 98] Address already in use", 0),
        ("listen tcp :8080: bind: address already in use", 8080),
        ("Error: listen EADDRINUSE: address already in use :::9090", 9090),
        ("out of memory", None),
    ],
)
def test_what_programs_say(tmp_path: Path, text: str, expected: int | None) -> None:
    assert conflicting_port(ENDED, (8080, 9090) if expected else (), log_of(tmp_path, text)) == expected


def test_the_declared_port_that_somebody_has(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        log = log_of(tmp_path, "Address already in use")
        assert conflicting_port(ENDED, (1, port), log) == port


@pytest.mark.parametrize(
    "status",
    [replace(ENDED, exit_code=0), replace(ENDED, finished_at=1000.0)],
    ids=["ended well", "ran for long"],
)
def test_other_ends(tmp_path: Path, status: ContainerStatus) -> None:
    assert conflicting_port(status, (8080,), log_of(tmp_path, "Address already in use")) is None
