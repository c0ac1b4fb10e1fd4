"""Who may have which ports, as the kernel sees it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from steersman.cluster.machine import ports
from steersman.cluster.machine.ports import may_listen

_FIRST_FREE = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
#: Becomes another user, who keeps root's rights if that is asked for (SECBIT_NO_SETUID_FIXUP).
_ASK = """
import ctypes, os, sys
from steersman.cluster.machine.ports import may_listen
if sys.argv[2] == "with-rights":
    assert ctypes.CDLL(None).prctl(28, 4, 0, 0, 0) == 0
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
print(may_listen(int(sys.argv[1])))
"""


def as_nobody(port: int, rights: str) -> bool:
    command = [sys.executable, "-c", _ASK, str(port), rights]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("port", [53, 1023, 1024])
def test_low_ports_are_for_those_who_have_the_right(port: int) -> None:
    assert as_nobody(port, "without-rights") == (port >= int(_FIRST_FREE.read_text()))
    assert as_nobody(port, "with-rights")


def test_a_port_that_somebody_has_is_still_allowed() -> None:
    with socket.create_server((ports._NOBODYS, 0)) as taken:
        assert may_listen(taken.getsockname()[1])
