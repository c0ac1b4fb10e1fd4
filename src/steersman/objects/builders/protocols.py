"""The protocols of ports, as containers, services and network policies name them."""

from __future__ import annotations

from typing import Final, get_args

from steersman.objects.kinds.enums import Protocol

__all__ = ["PROTOCOLS", "Protocol"]

PROTOCOLS: Final[tuple[str, ...]] = get_args(Protocol)
