"""Ports that answer in place of those which the machine keeps for root.

An ordinary user may not listen at a service's port 80. Its proxy then listens at 8080 of the same address,
or at the next of 18080, 28080, … that the service does not have itself, and says so on the Service:

    metadata:
      annotations:
        steersman.dev/stand-in-ports: 80=8080,443=8443

Whoever knows the Service finds by `answering_port` where to connect to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from steersman.objects.labels import annotations_of

__all__ = ["STAND_IN_PORTS", "answering_port", "chosen_stand_ins", "stand_ins_text"]

#: The annotation.
STAND_IN_PORTS: Final = "steersman.dev/stand-in-ports"
_FIRST: Final = 8000
_STEP: Final = 10000
_PORTS: Final = 65536
_PORT: Final = re.compile("[0-9]{1,5}")


def chosen_stand_ins(ports: Iterable[int], first_free: int) -> dict[int, int]:
    """For each port below `first_free` another, always the same for the same ports."""
    taken, found = set(ports), dict[int, int]()
    for port in sorted(taken):
        if port >= first_free:
            break
        usual = range(port + _FIRST, _PORTS, _STEP)
        found[port] = next(one for one in (*usual, *range(_FIRST, _PORTS)) if one not in taken)
        taken.add(found[port])
    return found


def stand_ins_text(stand_ins: Mapping[int, int]) -> str:
    """The annotation's value."""
    return ",".join(f"{port}={other}" for port, other in sorted(stand_ins.items()))


def answering_port(service: Mapping[str, Any], port: int) -> int:
    """Where a service's port answers on this machine: there, or at its stand-in."""
    text = annotations_of(service).get(STAND_IN_PORTS) or ""
    for pair in text.split(","):
        own, _, other = pair.partition("=")
        if own == str(port) and _PORT.fullmatch(other) and 0 < int(other) < _PORTS:
            return int(other)
    return port
