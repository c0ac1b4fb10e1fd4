"""Which names exist and what they have."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from typing import Any

import pytest

from steersman.cluster.dns.wire import DnsRecord, RecordType, name_of, text_of
from steersman.cluster.dns.zone import Zone

Object = dict[str, Any]

PORTS = [{"name": "http", "port": 80, "protocol": "TCP"}, {"name": "dns", "port": 53, "protocol": "UDP"}]


def service(name: str, *addresses: str, **spec: Any) -> Object:
    spec = {"clusterIPs": list(addresses), "clusterIP": addresses[0] if addresses else "", **spec}
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": {"ports": PORTS, **spec}}


def endpoint(address: str, hostname: str = "", **conditions: bool) -> Object:
    named = {"hostname": hostname} if hostname else {}
    return {"addresses": [address], "conditions": conditions, **named}


def endpoint_slice(of: str, *endpoints: Object, kind: str = "IPv4") -> Object:
    return {
        "metadata": {
            "name": f"{of}-1",
            "namespace": "shop",
            "labels": {"kubernetes.io/service-name": of},
        },
        "addressType": kind,
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": list(endpoints),
    }


class Cluster:
    def __init__(self) -> None:
        self.all = [
            service("web", "10.96.0.7"),
            service("dual", "10.96.0.8", "fd00::8"),
            service("db", "None"),
            service("idle", "None"),
            service("mirror", type="ExternalName", externalName="example.com"),
            service("inner", type="ExternalName", externalName="web.shop.svc.cluster.local"),
        ]
        self.listed = [
            endpoint_slice("web", endpoint("10.244.0.9", ready=True)),
            endpoint_slice(
                "db",
                endpoint("10.244.0.1", "db-0", ready=True),
                endpoint("10.244.0.2"),
                endpoint("10.244.0.3", "db-2", ready=False),
            ),
            endpoint_slice("idle", endpoint("10.244.0.4", ready=False)),
        ]

    def has_namespace(self, namespace: str) -> bool:
        return namespace == "shop"

    def service(self, namespace: str, name: str) -> Object | None:
        found = (each for each in self.all if each["metadata"] == {"name": name, "namespace": namespace})
        return next(found, None)

    def services_at(self, address: str) -> Iterable[Object]:
        return [each for each in self.all if address in each["spec"]["clusterIPs"]]

    def slices(self, namespace: str, service: str) -> Iterable[Object]:
        wanted = {"kubernetes.io/service-name": service}
        return [each for each in self.listed if each["metadata"]["labels"] == wanted and namespace == "shop"]

    def slices_at(self, address: str) -> Iterable[Object]:
        return [
            each
            for each in self.listed
            if any(address in endpoint["addresses"] for endpoint in each["endpoints"])
        ]


ZONE = Zone(Cluster(), "cluster.local", [IPv4Network("10.96.0.0/16"), IPv4Network("10.244.0.0/16")])
NXDOMAIN = None


def shown(record: DnsRecord) -> str:
    match record.kind:
        case RecordType.A:
            return str(IPv4Address(record.data))
        case RecordType.AAAA:
            return str(IPv6Address(record.data))
        case RecordType.SRV:
            assert record.target is not None
            weight, port = int.from_bytes(record.data[2:4], "big"), int.from_bytes(record.data[4:6], "big")
            return f"{weight} {port} {text_of(record.target)}"
        case RecordType.TXT:
            return record.data[1:].decode()
    assert record.target is not None
    return text_of(record.target)


CASES: dict[tuple[str, int], list[str] | None] = {
    ("web.shop.svc.cluster.local", RecordType.A): ["10.96.0.7"],
    ("web.shop.svc.cluster.local", RecordType.AAAA): [],
    ("web.shop.svc.cluster.local", RecordType.TXT): [],
    ("WEB.Shop.svc.CLUSTER.local", RecordType.A): ["10.96.0.7"],
    ("dual.shop.svc.cluster.local", RecordType.AAAA): ["fd00::8"],
    ("none.shop.svc.cluster.local", RecordType.A): NXDOMAIN,
    ("web.other.svc.cluster.local", RecordType.A): NXDOMAIN,
    ("db.shop.svc.cluster.local", RecordType.A): ["10.244.0.1", "10.244.0.2"],
    ("idle.shop.svc.cluster.local", RecordType.A): NXDOMAIN,
    ("db-0.db.shop.svc.cluster.local", RecordType.A): ["10.244.0.1"],
    ("db-0.db.shop.svc.cluster.local", RecordType.AAAA): [],
    ("10-244-0-2.db.shop.svc.cluster.local", RecordType.A): ["10.244.0.2"],
    ("db-2.db.shop.svc.cluster.local", RecordType.A): NXDOMAIN,
    ("10-244-0-9.web.shop.svc.cluster.local", RecordType.A): NXDOMAIN,
    ("mirror.shop.svc.cluster.local", RecordType.CNAME): ["example.com."],
    ("mirror.shop.svc.cluster.local", RecordType.A): ["example.com."],
    ("_http._tcp.web.shop.svc.cluster.local", RecordType.SRV): ["100 80 web.shop.svc.cluster.local."],
    ("_http._tcp.web.shop.svc.cluster.local", RecordType.A): [],
    ("_http._udp.web.shop.svc.cluster.local", RecordType.SRV): NXDOMAIN,
    ("http.tcp.web.shop.svc.cluster.local", RecordType.SRV): NXDOMAIN,
    ("_tcp.web.shop.svc.cluster.local", RecordType.SRV): [],
    ("web.shop.svc.cluster.local", RecordType.SRV): [
        "50 53 web.shop.svc.cluster.local.",
        "50 80 web.shop.svc.cluster.local.",
    ],
    ("_http._tcp.db.shop.svc.cluster.local", RecordType.SRV): [
        "50 8080 10-244-0-2.db.shop.svc.cluster.local.",
        "50 8080 db-0.db.shop.svc.cluster.local.",
    ],
    ("10-244-0-77.shop.pod.cluster.local", RecordType.A): ["10.244.0.77"],
    ("10-244-0-77.other.pod.cluster.local", RecordType.A): NXDOMAIN,
    ("10-244-0-777.shop.pod.cluster.local", RecordType.A): NXDOMAIN,
    ("shop.svc.cluster.local", RecordType.A): [],
    ("other.svc.cluster.local", RecordType.A): NXDOMAIN,
    ("svc.cluster.local", RecordType.A): [],
    ("nothing.cluster.local", RecordType.A): NXDOMAIN,
    ("a.b.c.d.e.f.svc.cluster.local", RecordType.A): NXDOMAIN,
    ("cluster.local", RecordType.NS): ["ns.dns.cluster.local."],
    ("cluster.local", RecordType.SOA): ["ns.dns.cluster.local."],
    ("cluster.local", RecordType.A): [],
    ("dns-version.cluster.local", RecordType.TXT): ["1.1.0"],
    ("7.0.96.10.in-addr.arpa", RecordType.PTR): ["web.shop.svc.cluster.local."],
    ("1.0.244.10.in-addr.arpa", RecordType.PTR): ["db-0.db.shop.svc.cluster.local."],
    ("9.0.244.10.in-addr.arpa", RecordType.PTR): NXDOMAIN,
    ("99.0.96.10.in-addr.arpa", RecordType.PTR): NXDOMAIN,
    ("7.0.96.10.in-addr.arpa", RecordType.A): [],
}


@pytest.mark.parametrize(
    ("name", "kind", "wanted"),
    [(name, kind, wanted) for (name, kind), wanted in CASES.items()],
    ids=[f"{name} {kind}" for name, kind in CASES],
)
def test_name_has_its_records(name: str, kind: int, wanted: list[str] | None) -> None:
    answer = ZONE.look_up(name_of(name), kind, 1)
    assert (None if answer is None else sorted(map(shown, answer.records))) == wanted
    if answer is not None:
        assert {text_of(record.name) for record in answer.records} <= {f"{name}."}


def test_name_that_leads_elsewhere_says_where() -> None:
    answer = ZONE.look_up(name_of("mirror.shop.svc.cluster.local"), RecordType.A, 1)
    assert answer is not None
    assert answer.continues_at == (b"example", b"com")


def test_addresses_come_with_service_records() -> None:
    answer = ZONE.look_up(name_of("_http._tcp.db.shop.svc.cluster.local"), RecordType.SRV, 1)
    assert answer is not None
    assert sorted(map(shown, answer.additional)) == ["10.244.0.1", "10.244.0.2"]


@pytest.mark.parametrize(
    ("name", "covered"),
    [
        ("cluster.local", True),
        ("a.CLUSTER.LOCAL", True),
        ("mycluster.local", False),
        ("example.com", False),
        ("", False),
        ("7.0.96.10.in-addr.arpa", True),
        ("1.0.0.127.in-addr.arpa", False),
        ("0.96.10.in-addr.arpa", False),
        ("x.0.96.10.in-addr.arpa", False),
    ],
)
def test_zone_covers_the_cluster_only(name: str, covered: bool) -> None:
    assert ZONE.covers(name_of(name)) is covered
