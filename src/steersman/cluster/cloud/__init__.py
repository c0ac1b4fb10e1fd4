"""The cloud controllers (cloud-controller-manager): load balancers, instances and routes of a `Provider`.

Start reading at `provider` (the interface), then `setup` (what is run) and `local` (the provider that needs
no cloud: load balancers with addresses of this machine).
"""

from __future__ import annotations

from steersman.cluster.cloud.provider import (
    InstanceMetadata,
    Instances,
    LoadBalancers,
    Provider,
    Route,
    Routes,
)
from steersman.cluster.cloud.setup import CLOUD_CONTROLLERS, add_cloud

__all__ = [
    "CLOUD_CONTROLLERS",
    "InstanceMetadata",
    "Instances",
    "LoadBalancers",
    "Provider",
    "Route",
    "Routes",
    "add_cloud",
]
