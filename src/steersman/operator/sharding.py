"""How an operator says with whom it shares its objects, before there is a client to do it with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from steersman.runtime import Manager
from steersman.runtime.sharding import Shard, ShardSettings

__all__ = ["Sharding"]


@dataclass(frozen=True, slots=True)
class Sharding:
    """The group's name, the namespace of its Leases (that of the pod or context if None), and its timing."""

    name: str
    namespace: str | None = None
    #: Whether objects are shared one by one, or all of a namespace together.
    unit: Literal["object", "namespace"] = "object"
    settings: ShardSettings = field(default_factory=ShardSettings)

    def shard(self, manager: Manager) -> Shard:
        """The member that this describes, as part of a manager."""
        return manager.share(
            Shard(
                manager.client,
                self.name,
                self.namespace,
                informers=manager.informers,
                clock=manager.clock,
                settings=self.settings,
                unit=self.unit,
            )
        )
