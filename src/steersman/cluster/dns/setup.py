"""Cluster DNS: watches Services, endpoints and namespaces, serves DNS, and keeps the Service `kube-dns`.

It listens at the tenth address of the service CIDR (10.96.0.10), port 53. If that port is not permitted it
uses a free one (`ClusterDns.port`); pods whose resolvers cannot be configured with a port use `hosts_lines`
instead. The Service `kube-dns` and its endpoints are created here; the proxy ignores it, since this server is
at the address itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Final, cast

from steersman.aio import Backoff
from steersman.client import ClientError
from steersman.cluster.dns.forwarding import Forwarding
from steersman.cluster.dns.server import DnsServer
from steersman.cluster.dns.zone import Zone
from steersman.cluster.machine import Machine
from steersman.objects.kinds import Object
from steersman.objects.kinds.types.core_v1 import Service
from steersman.objects.kinds.types.discovery_v1 import EndpointSlice
from steersman.objects.resources import ENDPOINT_SLICES, NAMESPACES, SERVICES
from steersman.runtime import Cached, Manager

__all__ = ["ClusterDns", "add_dns"]

_log = logging.getLogger(__name__)


_PORT: Final = 53
_MANAGER: Final = "steersman-dns"
_NAMESPACE, _NAME = "kube-system", "kube-dns"
_SERVICE_LABEL: Final = "kubernetes.io/service-name"
_AT, _OF = "dns address", "dns service"
_RETRY: Final = Backoff(0.5, 30.0)
#: UDP and TCP.
_PORTS: Final = (("dns", "UDP"), ("dns-tcp", "TCP"))


def add_dns(
    manager: Manager,
    machine: Machine,
    *,
    domain: str = "cluster.local",
    forwarding: Forwarding | None = None,
    forwards: bool = True,
) -> ClusterDns:
    """Have a manager run the cluster's DNS server. Unless it `forwards`, it knows its own names only."""
    asked = (forwarding or Forwarding()) if forwards else None
    dns = ClusterDns(manager, machine, domain, asked)
    manager.add_service("dns", dns.run)
    return dns


class ClusterDns:
    """The DNS server of a cluster."""

    def __init__(
        self, manager: Manager, machine: Machine, domain: str, forwarding: Forwarding | None
    ) -> None:
        self._client = manager.client
        self._clock = manager.clock
        self._machine = machine
        self._domain = domain
        self._forwarding = forwarding
        self._services = manager.informers.get(SERVICES)
        self._slices = manager.informers.get(ENDPOINT_SLICES)
        self._namespaces = manager.informers.get(NAMESPACES)
        self._services.cache.add_index(_AT, _cluster_ips)
        self._slices.cache.add_index(_AT, _endpoint_addresses)
        self._slices.cache.add_index(_OF, _service_names)
        ranges = (machine.ranges.services, machine.ranges.pods)
        self._server = DnsServer(Zone(self, domain, ranges), forwarding)
        self.address: Final = machine.dns_address
        self.listening: Final = asyncio.Event()
        """Set while questions are answered."""

    @property
    def port(self) -> int:
        """53 where the machine allows it; 0 before it listens."""
        return self._server.port

    async def run(self) -> None:
        """Until cancelled."""
        for informer in (self._services, self._slices, self._namespaces):
            await informer.wait_synced()
        await self._machine.add(self.address, _MANAGER)
        if self._forwarding is not None:
            self._forwarding.own.add(self.address)
        try:
            await self._listen()
            self.listening.set()
            await self._register_service()
            await asyncio.Event().wait()
        finally:
            self.listening.clear()
            await self._server.close()
            await self._machine.remove(self.address, _MANAGER)

    async def _listen(self) -> None:
        try:
            await self._server.start(self.address, _PORT)
        except OSError as error:
            await self._server.start(self.address, 0)
            _log.info(
                "DNS answers at %s port %d: port %d cannot be opened (%s)",
                self.address, self.port, _PORT, error,
            )  # fmt: skip

    # --- what is known (`zone.Source`)

    def has_namespace(self, namespace: str) -> bool:
        return ("", namespace) in self._namespaces.cache

    def service(self, namespace: str, name: str) -> Service | None:
        cached = self._services.cache.get((namespace, name))
        return None if cached is None else cast("Service", cached.object())

    def services_at(self, address: str) -> Iterable[Service]:
        return [cast("Service", cached.object()) for cached in self._services.cache.by_index(_AT, address)]

    def slices(self, namespace: str, service: str) -> Iterable[EndpointSlice]:
        return self._read(_OF, f"{namespace}/{service}")

    def slices_at(self, address: str) -> Iterable[EndpointSlice]:
        return self._read(_AT, address)

    def _read(self, index: str, value: str) -> list[EndpointSlice]:
        return [
            cast("EndpointSlice", cached.object()) for cached in self._slices.cache.by_index(index, value)
        ]

    def hosts_lines(self, namespace: str = "") -> list[str]:
        """Lines for /etc/hosts with all services, for who cannot ask; those of `namespace` by their bare
        names too."""
        lines = []
        for cached in self._services.cache:
            name, of = cached.name, cached.namespace
            names = [f"{name}.{of}.svc.{self._domain}", f"{name}.{of}.svc", f"{name}.{of}"]
            names += [name] if of == namespace else []
            lines += [f"{address}\t{' '.join(names)}" for address in self._addresses(cached)]
        return sorted(lines)

    def on_change(self, told: Callable[[], None]) -> None:
        """Have somebody told when `hosts_lines` may be others."""
        for informer in (self._services, self._slices):
            informer.add_handler(lambda _: told())

    def _addresses(self, cached: Cached) -> Iterator[str]:
        service = cast("Service", cached.object())
        if service["spec"].get("clusterIP") != "None":
            yield from _cluster_ips(cached)
            return
        for each in self.slices(cached.namespace, cached.name):
            for endpoint in each.get("endpoints") or ():
                if (endpoint.get("conditions") or {}).get("ready") is not False:
                    yield from endpoint["addresses"]

    # --- what is told

    async def _register_service(self) -> None:
        """Make the Service and its endpoints, as soon as the API takes them."""
        failures = 0
        while True:
            try:
                await self._make_service()
                await self._client.apply(
                    self._slice(), field_manager=_MANAGER, force=True, kind=ENDPOINT_SLICES
                )
            except ClientError as error:
                failures += 1
                _log.warning("cannot create the Service %s, trying again: %s", _NAME, error)
                await self._clock.sleep(_RETRY.wait_s(failures))
            else:
                return

    async def _make_service(self) -> None:
        labels = {
            "k8s-app": "kube-dns",
            "kubernetes.io/cluster-service": "true",
            "kubernetes.io/name": "CoreDNS",
            "service.kubernetes.io/service-proxy-name": _MANAGER,
        }
        ports = [
            {"name": name, "port": _PORT, "protocol": protocol, "targetPort": self.port}
            for name, protocol in _PORTS
        ]
        body = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": _NAME, "namespace": _NAMESPACE, "labels": labels},
            "spec": {"clusterIP": self.address, "ports": ports},
        }
        await self._client.apply(body, field_manager=_MANAGER, force=True, kind=SERVICES)

    def _slice(self) -> Object:
        labels = {_SERVICE_LABEL: _NAME, "endpointslice.kubernetes.io/managed-by": _MANAGER}
        return {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": _NAME, "namespace": _NAMESPACE, "labels": labels},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [self.address], "conditions": {"ready": True}}],
            "ports": [{"name": name, "port": self.port, "protocol": protocol} for name, protocol in _PORTS],
        }


def _cluster_ips(cached: Cached) -> list[str]:
    spec = cached.object()["spec"]
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP") or ""]
    return [address for address in addresses if address not in ("", "None")]


def _endpoint_addresses(cached: Cached) -> list[str]:
    endpoints = cached.object().get("endpoints") or ()
    return sorted({address for endpoint in endpoints for address in endpoint["addresses"]})


def _service_names(cached: Cached) -> list[str]:
    name = cached.labels().get(_SERVICE_LABEL)
    return [f"{cached.namespace}/{name}"] if name else []
