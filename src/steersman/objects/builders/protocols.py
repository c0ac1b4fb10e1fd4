"""The protocols of ports, as containers, services and network policies name them."""

from __future__ import annotations

from typing import Final, Literal, get_args

__all__ = ["PROTOCOLS", "Protocol"]

Protocol = Literal["TCP", "UDP", "SCTP"]
PROTOCOLS: Final[tuple[str, ...]] = get_args(Protocol)
