"""How an operator says which election it takes part in, before there is a client to do it with."""

from __future__ import annotations

from typing import Protocol

from steersman.aio import Clock
from steersman.client import Client
from steersman.election.elector import Elector

__all__ = ["ElectionConfig"]


class ElectionConfig(Protocol):
    """`Lease("my-operator")` and its like for other engines."""

    def elector(self, client: Client, clock: Clock) -> Elector:
        """The contender that this describes."""
        ...
