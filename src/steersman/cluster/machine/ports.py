"""The ports that this process may listen on (CAP_NET_BIND_SERVICE, ip_unprivileged_port_start)."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

__all__ = ["first_free_port", "may_listen"]

#: An address that everybody has and nobody uses.
_NOBODYS: Final = "127.255.255.254"
_SETTING: Final = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
_USUAL: Final = 1024


def may_listen(port: int) -> bool:
    """Whether the kernel lets this process have a port, which only trying shows: low ones are for root, for
    who has CAP_NET_BIND_SERVICE, or for everybody (net.ipv4.ip_unprivileged_port_start)."""
    with socket.socket() as probe:
        try:
            probe.bind((_NOBODYS, port))
        except PermissionError:
            return False
        except OSError:
            # Somebody has it there; that is found out after who may.
            return True
    return True


def first_free_port() -> int:
    """The lowest port that this process may listen on."""
    if may_listen(1):
        return 1
    try:
        return int(_SETTING.read_text())
    except (OSError, ValueError):
        return _USUAL
