"""`Lease("my-operator")`: leader election by a Lease object, as an operator declares it."""

from __future__ import annotations

from dataclasses import dataclass, field

from steersman.aio import Clock
from steersman.client import Client
from steersman.election.lease.core import LeaseSettings
from steersman.election.lease.engine import LeaseElector

__all__ = ["Lease"]


@dataclass(frozen=True, slots=True)
class Lease:
    """The Lease's name, its namespace (that of the pod or context if None), and its timing."""

    name: str
    namespace: str | None = None
    identity: str | None = None
    settings: LeaseSettings = field(default_factory=LeaseSettings)

    def elector(self, client: Client, clock: Clock) -> LeaseElector:
        return LeaseElector(
            client, self.name, self.namespace, identity=self.identity, settings=self.settings, clock=clock
        )
