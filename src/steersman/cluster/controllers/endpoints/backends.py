"""Pods as endpoints: addresses, ports and the conditions ready, serving and terminating. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from steersman.objects.addresses import canonical_ip, ip_family
from steersman.objects.kinds.types.core_v1 import ObjectReference
from steersman.objects.kinds.views.containers import ContainerPort
from steersman.objects.kinds.views.pods import BackendView
from steersman.runtime import Cached

__all__ = ["PodEndpoint"]


class PodEndpoint(BackendView, frozen=True, gc=False):
    """The fields of a pod that its endpoints are made from."""

    @classmethod
    def read(cls, cached: Cached) -> PodEndpoint:
        return _decode(cached.data)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def node(self) -> str:
        return self.spec.node_name

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels

    @property
    def has_endpoint(self) -> bool:
        """Whether there is, or may be, something to connect to."""
        return not self.terminal and bool(self.status.pod_ip or self.status.pod_ips)

    def addresses(self, family: str) -> list[str]:
        """Its addresses of "IPv4" or "IPv6"."""
        found = (_family_and_spelling(address.ip) for address in self.status.pod_ips)
        return [spelling for its_family, spelling in found if its_family == family]

    def hostname_in(self, namespace: str, service: str) -> str:
        """The name it has inside a service, if it has one."""
        mine = self.spec.subdomain == service and self.metadata.namespace == namespace
        return self.spec.hostname if mine else ""

    def port(self, target: int | str, protocol: str) -> int | None:
        """The number of a port that a service may know by name only."""
        if isinstance(target, int):
            return target
        for port in self._ports():
            if port.name == target and port.protocol == protocol:
                return port.container_port
        return None

    def reference(self) -> ObjectReference:
        metadata = self.metadata
        return {"kind": "Pod", "namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}

    def compared(self) -> tuple[Any, ...]:
        """All that endpoints depend on, for comparing."""
        return (
            self.metadata.uid,
            self.metadata.labels,
            self.deleting,
            self.spec.node_name,
            self.spec.hostname,
            self.spec.subdomain,
            self.terminal,
            self.status.pod_ip,
            self.status.pod_ips,
            self.ready,
        )

    def _ports(self) -> Iterator[ContainerPort]:
        for container in self.spec.containers or ():
            yield from container.ports
        for container in self.spec.init_containers:
            if container.is_sidecar:
                yield from container.ports


_decode = msgspec.json.Decoder(PodEndpoint).decode


@lru_cache(maxsize=4096)
def _family_and_spelling(ip: str) -> tuple[str, str]:
    """Asked for all pods of a service whenever one of them changes."""
    family = ip_family(ip)
    return family, canonical_ip(ip) if family else ""
