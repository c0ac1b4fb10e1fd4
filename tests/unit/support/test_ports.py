"""A port that a test was given stays its own."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ports

ROOT = Path(__file__).parents[3]

#: Comes upon the ports that it is told, in this order, and says which one it was given.
ASKING = """
import sys
from tests.support import ports
order = iter(map(int, sys.argv[1:]))
ports._random.choice = lambda _: next(order)
print(ports.free_port())
"""


def test_no_other_process_is_told_the_same() -> None:
    own = ports.free_port()
    unclaimed = str(next(port for port in ports._PORTS if port != own and not claimed(port)))
    command = [sys.executable, "-c", ASKING, str(own), unclaimed]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.strip() == unclaimed


def claimed(port: int) -> bool:
    """Whether somebody has it, or listens there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe, socket.socket() as listener:
        try:
            probe.bind(f"\0steersman-tests/port/{port}")
            listener.bind(("", port))
        except OSError:
            return True
        return False


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM], ids=["TCP", "UDP"])
def test_one_at_which_somebody_listens_is_not_told(
    monkeypatch: pytest.MonkeyPatch, kind: socket.SocketKind
) -> None:
    with socket.socket(type=kind) as somebody:
        somebody.bind(("127.0.0.1", 0))
        taken, free = somebody.getsockname()[1], ports.free_port()
        monkeypatch.setattr(ports, "_claim", lambda _: True)
        order = iter((taken, free))
        monkeypatch.setattr(ports._random, "choice", lambda _: next(order))
        assert ports.free_port() == free


def test_the_system_gives_none_of_them_to_whoever_asks_for_any() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert ports._PORTS[-1] < lowest
