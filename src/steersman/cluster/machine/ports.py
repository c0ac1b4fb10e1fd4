"""Which ports this process may listen on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["may_listen"]

_FIRST_FREE: Final = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
_USUAL: Final = 1024


def may_listen(port: int) -> bool:
    """Whether low ports are not only for others here."""
    try:
        first = int(_FIRST_FREE.read_text())
    except (OSError, ValueError):
        first = _USUAL
    return port >= first or os.geteuid() == 0
