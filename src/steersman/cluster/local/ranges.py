"""Address ranges of a cluster: of its Services and of its pods."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steersman.cluster.local.config import ClusterConfig
from steersman.cluster.machine.ranges import pods_with

if TYPE_CHECKING:
    from steersman.cluster.machine import Machine

__all__ = ["ClusterRanges"]

_SERVICES = "10.96.0.0/16"
#: Pods get a /24 for each of so many nodes; of more nodes, from the second range.
_FEW_NODES = 256
_MANY_NODES = "10.128.0.0/9"


@dataclass(frozen=True, slots=True)
class ClusterRanges:
    services: str
    pods: str

    @classmethod
    def choose(cls, config: ClusterConfig, machine: Machine | None) -> ClusterRanges:
        """The machine's own where pods really run, else as configured."""
        if machine is not None:
            return cls(str(machine.ranges.services), str(machine.ranges.pods))
        services = config.service_cidr or _SERVICES
        return cls(services, _MANY_NODES if config.nodes > _FEW_NODES else pods_with(services))

    @property
    def are_loopback(self) -> bool:
        """Where services are, the pods of nodes in other processes are too."""
        return ipaddress.ip_network(self.services).is_loopback
