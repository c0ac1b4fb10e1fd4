"""Detects that a container ended because its port is in use: pods of one machine share its ports if they bind
all addresses.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

from steersman.cluster.node.cri import ContainerStatus
from steersman.cluster.node.process.termination import last_lines

__all__ = ["conflicting_port"]

#: Who has no port says so soon.
_SOON_S: Final = 30.0
_SAID: Final = re.compile(r"EADDRINUSE|address (is )?already in use|errno[ =:]*98\b", re.IGNORECASE)
_LISTENING: Final = "0A"


def conflicting_port(status: ContainerStatus, ports: Collection[int], log: Path) -> int | None:
    """The port, 0 if it cannot be told which; None if that was not the reason."""
    if status.exit_code == 0 or status.finished_at - status.started_at > _SOON_S:
        return None
    said = next((line for line in reversed(last_lines(log)) if _SAID.search(line)), None)
    if said is None:
        return None
    named = [port for port in ports if re.search(rf"\b{port}\b", said)]
    taken = named or [port for port in ports if port in _listened_on()]
    return taken[0] if taken else 0


def _listened_on() -> set[int]:
    """Ports of this machine that somebody listens on, at whatever address."""
    found: set[int] = set()
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/net/{name}", encoding="ascii") as file:
                lines = file.readlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENING:
                found.add(int(fields[1].rpartition(":")[2], 16))
    return found
