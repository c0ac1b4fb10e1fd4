"""Resolving a Service to an address that this process can reach, for webhooks and aggregated APIs.

They name Services; one of their ready endpoints is called. `ServiceResolver` is the interface: a cluster
whose services are reached in another way (or a test) brings its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Protocol

from steersman.cluster.admission.chain import Reader
from steersman.objects.fields import quote
from steersman.objects.kinds import Object
from steersman.objects.labels import labels_of

__all__ = ["EndpointResolver", "ServiceResolver", "ServiceUnreachable"]


class ServiceUnreachable(Exception):
    """A Service that does not exist or has no ready endpoints."""


class ServiceResolver(Protocol):
    """Resolves a Service and port to an address."""

    def resolve(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """Host and port to connect to. Raises ServiceUnreachable."""


class EndpointResolver:
    """Reads the Service, its EndpointSlices and its Endpoints from the store."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def resolve(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        service = self._reader.get("", "services", namespace, name)
        if service is None:
            raise ServiceUnreachable(f"service {quote(name)} not found")
        spec = service["spec"]
        if spec.get("type") == "ExternalName":
            return spec["externalName"], port
        for candidate in spec.get("ports") or ():
            if candidate["port"] == port:
                break
        else:
            raise ServiceUnreachable(f"no service port {port} found for service {quote(name)}")
        ready = [
            *self._from_slices(namespace, name, candidate),
            *self._from_endpoints(namespace, name, candidate),
        ]
        if not ready:
            raise ServiceUnreachable(f"no endpoints available for service {quote(name)}")
        return random.choice(ready)

    def _from_slices(self, namespace: str, name: str, port: Object) -> Iterator[tuple[str, int]]:
        for piece in self._reader.list("discovery.k8s.io", "endpointslices", namespace):
            labels = labels_of(piece)
            if labels.get("kubernetes.io/service-name") != name:
                continue
            for number in _numbers(piece.get("ports"), port):
                for endpoint in piece.get("endpoints") or ():
                    if (endpoint.get("conditions") or {}).get("ready") is not False:
                        yield endpoint["addresses"][0], number

    def _from_endpoints(self, namespace: str, name: str, port: Object) -> Iterator[tuple[str, int]]:
        endpoints = self._reader.get("", "endpoints", namespace, name)
        for subset in (endpoints or {}).get("subsets") or ():
            for number in _numbers(subset.get("ports"), port):
                for address in subset.get("addresses") or ():
                    yield address["ip"], number


def _numbers(ports: list[Object] | None, wanted: Object) -> Iterator[int]:
    for port in ports or ():
        if (port.get("name") or "") == (wanted.get("name") or "") and port.get("port"):
            yield port["port"]
