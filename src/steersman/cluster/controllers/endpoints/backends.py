"""Pods as services see them: addresses, ports, and whether they serve. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import msgspec

from steersman.objects.addresses import canonical_ip, ip_family
from steersman.runtime import Cached

__all__ = ["Backend"]

_TERMINAL: Final = ("Succeeded", "Failed")


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None


class _Port(msgspec.Struct, rename="camel"):
    name: str = ""
    container_port: int = 0
    protocol: str = "TCP"


class _Container(msgspec.Struct, rename="camel"):
    ports: list[_Port] | None = None
    restart_policy: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None


class _Address(msgspec.Struct):
    ip: str = ""


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class _Status(msgspec.Struct, rename={"pod_ip": "podIP", "pod_ips": "podIPs"}):
    phase: str = ""
    pod_ip: str = ""
    pod_ips: list[_Address] | None = None
    conditions: list[_Condition] | None = None


class Backend(msgspec.Struct):
    """A pod as far as endpoints tell of it. Never changed."""

    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @classmethod
    def read(cls, cached: Cached) -> Backend:
        return _decode(cached.data)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def node(self) -> str:
        return self.spec.node_name

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels or {}

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def has_endpoint(self) -> bool:
        """Whether there is, or may be, something to connect to."""
        return self.status.phase not in _TERMINAL and bool(self.status.pod_ip or self.status.pod_ips)

    @property
    def ready(self) -> bool:
        condition = self._ready_condition()
        return condition is not None and condition.status == "True"

    @property
    def readiness_changed_at(self) -> str:
        """When it last became ready or unready; empty if it never did."""
        condition = self._ready_condition()
        return (condition.last_transition_time or "") if condition is not None else ""

    def addresses(self, family: str) -> list[str]:
        """Its addresses of "IPv4" or "IPv6"."""
        found = (_family_and_spelling(address.ip) for address in self.status.pod_ips or ())
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

    def reference(self) -> dict[str, Any]:
        metadata = self.metadata
        return {"kind": "Pod", "namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}

    def told(self) -> tuple[Any, ...]:
        """All that endpoints depend on, for comparing."""
        return (
            self.metadata.uid,
            self.metadata.labels,
            self.terminating,
            self.spec.node_name,
            self.spec.hostname,
            self.spec.subdomain,
            self.status.phase in _TERMINAL,
            self.status.pod_ip,
            self.status.pod_ips,
            self.ready,
        )

    def _ports(self) -> Iterator[_Port]:
        for container in self.spec.containers or ():
            yield from container.ports or ()
        for container in self.spec.init_containers or ():
            if container.restart_policy == "Always":
                yield from container.ports or ()

    def _ready_condition(self) -> _Condition | None:
        for condition in self.status.conditions or ():
            if condition.type == "Ready":
                return condition
        return None


_decode = msgspec.json.Decoder(Backend).decode


@lru_cache(maxsize=4096)
def _family_and_spelling(ip: str) -> tuple[str, str]:
    """Asked for all pods of a service whenever one of them changes."""
    family = ip_family(ip)
    return family, canonical_ip(ip) if family else ""
