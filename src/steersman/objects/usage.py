"""What a container, a pod or a node uses."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Usage"]


class Usage(NamedTuple):
    """What something uses at this moment."""

    cpu_cores: float
    memory_bytes: int

    def __add__(self, other: object) -> Usage:
        assert isinstance(other, Usage)
        return Usage(self.cpu_cores + other.cpu_cores, self.memory_bytes + other.memory_bytes)
