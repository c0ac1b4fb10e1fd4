"""The DNS records of the cluster's names, as in Kubernetes' DNS specification, from caches.

| name under the cluster's domain       | records                                                            |
|---------------------------------------|--------------------------------------------------------------------|
| SERVICE.NAMESPACE.svc                 | A, AAAA: cluster IPs, or of a headless service its ready endpoints |
|                                       | CNAME of an ExternalName; SRV of all ports                         |
| _PORT._PROTOCOL.SERVICE.NAMESPACE.svc | SRV of a named port                                                |
| HOST.SERVICE.NAMESPACE.svc            | A, AAAA of a headless service's endpoint: its hostname, or its     |
|                                       | address with dashes                                                |
| 10-244-0-7.NAMESPACE.pod              | A: that address                                                    |
| dns-version                           | TXT                                                                |

Reverse names lead from cluster IPs to services and from endpoints of headless services to their names. A name
that exists without records of the type asked for gets NOERROR, one that does not NXDOMAIN.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, ip_address
from typing import Any, Final, Protocol

from steersman.cluster.dns.wire import (
    LONGEST_LABEL,
    DnsRecord,
    Name,
    RecordType,
    address_record,
    name_of,
    name_record,
    soa_record,
    srv_record,
    txt_record,
)
from steersman.objects.kinds.types.core_v1 import Service
from steersman.objects.kinds.types.discovery_v1 import EndpointPort, EndpointSlice
from steersman.objects.labels import labels_of

__all__ = ["TTL_S", "Zone", "ZoneAnswer", "ZoneSource"]


TTL_S: Final = 5
_VERSION: Final = b"1.1.0"
_ADDRESSES: Final = (RecordType.A, RecordType.AAAA, RecordType.ANY)
_REVERSE: Final[dict[Name, int]] = {(b"in-addr", b"arpa"): 4, (b"ip6", b"arpa"): 32}


class ZoneSource(Protocol):
    """The Services and endpoints of the cluster."""

    def has_namespace(self, namespace: str) -> bool: ...

    def service(self, namespace: str, name: str) -> Service | None: ...

    def services_at(self, address: str) -> Iterable[Service]:
        """Those with this cluster IP."""

    def slices(self, namespace: str, service: str) -> Iterable[EndpointSlice]: ...

    def slices_at(self, address: str) -> Iterable[EndpointSlice]:
        """Those with this endpoint."""


@dataclass(slots=True)
class ZoneAnswer:
    """The records of a name; None instead of it means that the name does not exist (NXDOMAIN)."""

    records: list[DnsRecord] = field(default_factory=list)
    additional: list[DnsRecord] = field(default_factory=list)
    #: A name outside the cluster that must be asked for to complete the answer.
    continues_at: Name | None = None


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """An endpoint of a headless Service."""

    address: str
    host: str
    ports: Sequence[EndpointPort]


class Zone:
    """The records of the cluster's domain."""

    def __init__(self, source: ZoneSource, domain: str, ranges: Iterable[IPv4Network] = ()) -> None:
        """`ranges` are the cluster's own: nobody else knows names of their addresses."""
        self._source = source
        self.domain: Final = _lowered(name_of(domain))
        self._ranges = list(ranges)

    def soa(self, name: Name, serial: int) -> DnsRecord:
        """What goes with an answer that has nothing, so that it can be remembered."""
        domain = self.domain if self.covers_forward(name) else _lowered(name)[-2:]
        return soa_record(domain, (b"ns", b"dns", *self.domain), (b"hostmaster", *self.domain), serial, TTL_S)

    def covers_forward(self, name: Name) -> bool:
        return _lowered(name[-len(self.domain) :]) == self.domain

    def covers(self, name: Name) -> bool:
        """Whether the cluster decides what a name is."""
        if self.covers_forward(name):
            return True
        address = _reversed_address(name)
        if address is None:
            return False
        return any(ip_address(address) in network for network in self._ranges)

    def look_up(self, name: Name, kind: int, serial: int) -> ZoneAnswer | None:
        """The records of a name; the owner of each is spelled as it was asked for."""
        if not self.covers_forward(name):
            return self._reverse(name, kind)
        labels = [label.decode("ascii", "replace") for label in _lowered(name[: -len(self.domain)])]
        match labels:
            case []:
                return self._apex(name, kind, serial)
            case ["dns-version"]:
                return _only(kind, txt_record(name, _VERSION, TTL_S))
            case ["svc" | "pod"] | ["dns"]:
                return ZoneAnswer()
            case ["ns", "dns"]:
                return self._server_itself(name, kind)
            case [namespace, "svc" | "pod"]:
                return ZoneAnswer() if self._source.has_namespace(namespace) else None
            case [dashed, namespace, "pod"]:
                return self._pod(name, kind, dashed, namespace)
            case [service, namespace, "svc"]:
                return self._service(name, kind, service, namespace)
            case [host, service, namespace, "svc"]:
                return self._endpoint(name, kind, host, service, namespace)
            case [port, protocol, service, namespace, "svc"]:
                return self._port(name, kind, (port, protocol), service, namespace)
        return None

    def _apex(self, name: Name, kind: int, serial: int) -> ZoneAnswer:
        server = name_record(name, RecordType.NS, (b"ns", b"dns", *self.domain), TTL_S)
        return _only(kind, self.soa(name, serial), server)

    def _server_itself(self, name: Name, kind: int) -> ZoneAnswer:
        service = self._source.service("kube-system", "kube-dns")
        addresses = [] if service is None else _cluster_ips(service)
        return _only(kind, *(address_record(name, address, TTL_S) for address in addresses))

    def _pod(self, name: Name, kind: int, dashed: str, namespace: str) -> ZoneAnswer | None:
        address = _undashed(dashed)
        if address is None or not self._source.has_namespace(namespace):
            return None
        return _only(kind, address_record(name, address, TTL_S))

    # --- services

    def _service(self, name: Name, kind: int, service_name: str, namespace: str) -> ZoneAnswer | None:
        service = self._source.service(namespace, service_name)
        if service is None:
            return None
        if service["spec"].get("type") == "ExternalName":
            return self._external(name, kind, name_of(service["spec"].get("externalName") or ""))
        if kind == RecordType.SRV:
            return self._srv(name, service, None)
        addresses = _cluster_ips(service)
        if not addresses:
            addresses = [each.address for each in self._ready(service)]
            if not addresses:
                return None
            random.shuffle(addresses)
        return _only(kind, *(address_record(name, address, TTL_S) for address in dict.fromkeys(addresses)))

    def _external(self, name: Name, kind: int, target: Name) -> ZoneAnswer:
        if not target or max(map(len, target)) > LONGEST_LABEL:
            return ZoneAnswer()  # what a Service may say and DNS cannot
        answer = ZoneAnswer([name_record(name, RecordType.CNAME, target, TTL_S)])
        if kind != RecordType.CNAME:
            answer.continues_at = target
        return answer

    def _endpoint(
        self, name: Name, kind: int, host: str, service_name: str, namespace: str
    ) -> ZoneAnswer | None:
        service = self._source.service(namespace, service_name)
        if service is None or not _is_headless(service):
            if host in ("_tcp", "_udp", "_sctp") and service is not None:
                return ZoneAnswer()
            return None
        found = [each.address for each in self._ready(service) if each.host == host]
        if not found:
            return ZoneAnswer() if host in ("_tcp", "_udp", "_sctp") else None
        return _only(kind, *(address_record(name, address, TTL_S) for address in dict.fromkeys(found)))

    def _port(
        self, name: Name, kind: int, port: tuple[str, str], service_name: str, namespace: str
    ) -> ZoneAnswer | None:
        service = self._source.service(namespace, service_name)
        if service is None or not all(part.startswith("_") for part in port):
            return None
        answer = self._srv(name, service, (port[0][1:], port[1][1:]))
        if not answer.records:
            return None
        return answer if kind in (RecordType.SRV, RecordType.ANY) else ZoneAnswer()

    def _srv(self, name: Name, service: Service, wanted: tuple[str, str] | None) -> ZoneAnswer:
        """All ports of a service, or the one with this name and protocol."""
        metadata = service["metadata"]
        owner = (metadata["name"].encode(), metadata["namespace"].encode(), b"svc", *self.domain)
        answer, targets = ZoneAnswer(), []
        if _is_headless(service):
            for each in self._ready(service):
                targets += [((each.host.encode(), *owner), each.address, port) for port in each.ports]
        else:
            for address in _cluster_ips(service):
                targets += [(owner, address, port) for port in service["spec"].get("ports") or ()]
        targets = [each for each in targets if wanted is None or _is_port(each[2], wanted)]
        seen = set()
        for target, address, port in targets:
            record = srv_record(name, max(100 // len(targets), 1), port["port"], target, TTL_S)
            if record not in answer.records:
                answer.records.append(record)
            if (target, address) not in seen:
                seen.add((target, address))
                answer.additional.append(address_record(target, address, TTL_S))
        return answer

    def _ready(self, service: Service) -> Iterator[_Endpoint]:
        metadata = service["metadata"]
        for each in self._source.slices(metadata["namespace"], metadata["name"]):
            yield from _ready_endpoints(each)

    # --- reverse

    def _reverse(self, name: Name, kind: int) -> ZoneAnswer | None:
        address = _reversed_address(name)
        if address is None:
            return None
        found: list[tuple[str, ...]] = []
        for service in self._source.services_at(address):
            metadata = service["metadata"]
            found.append((metadata["name"], metadata["namespace"]))
        for each in () if found else self._source.slices_at(address):
            namespace = each["metadata"]["namespace"]
            name_of_service = labels_of(each).get("kubernetes.io/service-name", "")
            of = self._source.service(namespace, name_of_service)
            if of is not None and _is_headless(of):
                hosts = (own.host for own in _ready_endpoints(each) if own.address == address)
                found += [(host, name_of_service, namespace) for host in hosts]
        if not found:
            return None
        targets = [(*(part.encode() for part in parts), b"svc", *self.domain) for parts in found]
        return _only(
            kind, *(name_record(name, RecordType.PTR, target, TTL_S) for target in dict.fromkeys(targets))
        )


def _only(kind: int, *records: DnsRecord) -> ZoneAnswer:
    return ZoneAnswer([record for record in records if kind in (record.kind, RecordType.ANY)])


def _lowered(name: Name) -> Name:
    return tuple(label.lower() for label in name)


def _is_headless(service: Service) -> bool:
    return bool(service["spec"].get("clusterIP") == "None")


def _cluster_ips(service: Service) -> list[str]:
    spec = service["spec"]
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP") or ""]
    return [address for address in addresses if address not in ("", "None")]


def _ready_endpoints(each: EndpointSlice) -> Iterator[_Endpoint]:
    """Of a slice."""
    if each["addressType"] not in ("IPv4", "IPv6"):
        return
    ports = [port for port in each.get("ports") or () if port.get("port") is not None]
    for endpoint in each.get("endpoints") or ():
        if (endpoint.get("conditions") or {}).get("ready") is False:
            continue
        for address in endpoint["addresses"]:
            host = endpoint.get("hostname") or address.replace(".", "-").replace(":", "-")
            yield _Endpoint(address, host, ports)


def _is_port(port: Mapping[str, Any], wanted: tuple[str, str]) -> bool:
    name, protocol = wanted
    return (port.get("name") or "").lower() == name and (port.get("protocol") or "TCP").lower() == protocol


def _undashed(text: str) -> str | None:
    for separator in (".", ":"):
        try:
            return str(ip_address(text.replace("-", separator)))
        except ValueError:
            continue
    return None


def _reversed_address(name: Name) -> str | None:
    """The address that a name under in-addr.arpa or ip6.arpa stands for."""
    lowered = _lowered(name)
    length = _REVERSE.get(lowered[-2:])
    if length is None or len(lowered) != length + 2:
        return None
    parts = [label.decode("ascii", "replace") for label in lowered[-3::-1]]
    if length == 4:
        text = ".".join(parts)
    else:
        text = ":".join("".join(parts[start : start + 4]) for start in range(0, length, 4))
    try:
        return str(ip_address(text))
    except ValueError:
        return None
