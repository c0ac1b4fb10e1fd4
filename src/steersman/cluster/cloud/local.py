"""The cloud provider for a single machine: Services of type LoadBalancer get loopback addresses.

An address belongs to the Service whose status has it, so no state is stored.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network
from typing import Final, cast

from steersman.objects.kinds.types.core_v1 import LoadBalancerIngress, Node, Service
from steersman.objects.resources import SERVICES
from steersman.runtime import Manager

__all__ = ["USUAL", "LocalLoadBalancers", "LocalProvider", "local_provider"]


USUAL: Final = IPv4Network("127.100.0.0/16")
_IPV6: Final = "::1"


class LocalLoadBalancers:
    """Allocates addresses of `network`. `services` returns all Services."""

    def __init__(self, services: Callable[[], Iterable[Service]], network: IPv4Network = USUAL) -> None:
        self._services = services
        self._network = network
        self._giving = asyncio.Lock()
        #: Given and not yet in the service's status: by uid.
        self._given: dict[str, str] = {}

    async def exists(self, service: Service) -> bool:
        return True

    async def ensure(self, service: Service, nodes: Sequence[Node]) -> list[LoadBalancerIngress]:
        families = service["spec"].get("ipFamilies") or ["IPv4"]
        ingress: list[LoadBalancerIngress] = []
        if "IPv4" in families:
            async with self._giving:
                ingress.append({"ip": self._address(service)})
        if "IPv6" in families:
            ingress.append({"ip": _IPV6})
        return ingress

    async def update(self, service: Service, nodes: Sequence[Node]) -> None:
        """Whatever nodes there are, they are here."""

    async def delete(self, service: Service) -> None:
        self._given.pop(service["metadata"]["uid"], None)

    def _address(self, service: Service) -> str:
        uid = service["metadata"]["uid"]
        taken = {address: owner for owner, address in self._given.items()}
        for other in self._services():
            taken.update(dict.fromkeys(self._addresses(other), other["metadata"]["uid"]))
        wished = service["spec"].get("loadBalancerIP") or ""
        mine = [address for address, owner in taken.items() if owner == uid]
        for address in itertools.chain([wished, *mine], map(str, self._network.hosts())):
            if self._is_ours(address) and taken.get(address, uid) == uid:
                self._given[uid] = address
                return address
        raise RuntimeError(f"no address of {self._network} is free")

    def _addresses(self, service: Service) -> list[str]:
        balancer = (service.get("status") or {}).get("loadBalancer") or {}
        found = (ingress.get("ip") or "" for ingress in balancer.get("ingress") or ())
        return [address for address in found if self._is_ours(address)]

    def _is_ours(self, address: str) -> bool:
        try:
            return IPv4Address(address) in self._network
        except ValueError:
            return False


class LocalProvider:
    """A provider of load balancers only: nodes register themselves."""

    name: Final = "local"
    instances: Final = None
    routes: Final = None

    def __init__(self, load_balancers: LocalLoadBalancers) -> None:
        self.load_balancers: Final = load_balancers


def local_provider(manager: Manager, network: IPv4Network = USUAL) -> LocalProvider:
    """The provider for a cluster that a manager looks at."""
    services = manager.informers.get(SERVICES).cache
    return LocalProvider(
        LocalLoadBalancers(lambda: (cast("Service", cached.object()) for cached in services), network)
    )
