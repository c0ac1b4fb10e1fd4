"""The interface of cloud providers. A provider implements the parts that its cloud has; objects are plain
dicts, read only.

Every method may be called again with the same arguments, also by another process, and may raise anything: it
is then retried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from steersman.objects.kinds.types.core_v1 import LoadBalancerIngress, Node, NodeAddress, Service

__all__ = ["InstanceMetadata", "Instances", "LoadBalancers", "Provider", "Route", "Routes"]


class LoadBalancers(Protocol):
    """The load balancers of a cloud."""

    async def exists(self, service: Service) -> bool: ...

    async def ensure(self, service: Service, nodes: Sequence[Node]) -> list[LoadBalancerIngress]:
        """Make the load balancer, or change it to what the service says: `status.loadBalancer.ingress`."""
        ...

    async def update(self, service: Service, nodes: Sequence[Node]) -> None:
        """Lead to these nodes from now on."""
        ...

    async def delete(self, service: Service) -> None:
        """Have no load balancer for the service, whether there was one or not."""
        ...


@dataclass(frozen=True, slots=True)
class InstanceMetadata:
    """The metadata of an instance: addresses, type, zone, region."""

    provider_id: str = ""
    instance_type: str = ""
    zone: str = ""
    region: str = ""
    #: As in a node's status: type and address.
    addresses: tuple[NodeAddress, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


class Instances(Protocol):
    """The instances that nodes run on."""

    async def exists(self, node: Node) -> bool:
        """Whether there is such a machine, be it on or off."""
        ...

    async def is_shut_down(self, node: Node) -> bool: ...

    async def metadata(self, node: Node) -> InstanceMetadata | None:
        """None to leave the node alone."""
        ...


@dataclass(frozen=True, slots=True)
class Route:
    """A route from a pod CIDR to a node."""

    node: str
    cidr: str
    name: str = ""
    #: It leads nowhere any more.
    blackhole: bool = False


class Routes(Protocol):
    """The routes of a cloud."""

    async def list(self) -> Sequence[Route]: ...

    async def create(self, route: Route) -> None: ...

    async def delete(self, route: Route) -> None:
        """Delete one that `list` returned."""
        ...


class Provider(Protocol):
    """A cloud provider: the parts it lacks are None."""

    @property
    def name(self) -> str: ...

    @property
    def load_balancers(self) -> LoadBalancers | None: ...

    @property
    def instances(self) -> Instances | None: ...

    @property
    def routes(self) -> Routes | None: ...
