"""/etc/hosts and /etc/resolv.conf."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.node.hostnames import host_and_domain
from steersman.cluster.node.volumes.network_files import (
    ResolverConfig,
    host_resolver,
    hosts_file,
    node_hosts_file,
    pod_resolver,
)

HOST = ResolverConfig(("1.1.1.1",), ("example.com",), ("timeout:2",))
ALIASES = [{"ip": "10.2.3.4", "hostnames": ["foo.local", "bar.local"]}]


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web-0", "namespace": "shop"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({}, ("web-0", "")),
        ({"hostname": "db"}, ("db", "")),
        ({"hostname": "db", "subdomain": "pg"}, ("db", "pg.shop.svc.cluster.local")),
        ({"subdomain": "pg"}, ("web-0", "pg.shop.svc.cluster.local")),
        ({"hostnameOverride": "a.b.example", "subdomain": "pg"}, ("a.b.example", "")),
        ({"hostNetwork": True}, ("node-1", "")),
        ({"hostname": "x" * 62 + "-y"}, ("x" * 62, "")),
    ],
)
def test_pods_have_names(spec: dict[str, Any], names: tuple[str, str]) -> None:
    assert host_and_domain(pod(**spec), "cluster.local", "node-1") == names


def test_the_hosts_of_a_pod_are_itself_and_its_aliases() -> None:
    text = hosts_file(["10.1.0.5", "fd00::5"], "db", "pg.shop.svc.cluster.local", ALIASES)
    lines = text.splitlines()
    assert lines[:3] == [
        "# Kubernetes-managed hosts file.",
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback",
    ]
    assert lines[7:] == [
        "10.1.0.5\tdb.pg.shop.svc.cluster.local\tdb",
        "fd00::5\tdb.pg.shop.svc.cluster.local\tdb",
        "",
        "# Entries added by HostAliases.",
        "10.2.3.4\tfoo.local\tbar.local",
    ]
    assert hosts_file(["10.1.0.5"], "db", "", ()).splitlines()[7:] == ["10.1.0.5\tdb"]


def test_on_the_nodes_network_the_nodes_hosts_are_seen_too() -> None:
    assert node_hosts_file("127.0.0.1 x\n", ALIASES) == (
        "# Kubernetes-managed hosts file (host network).\n127.0.0.1 x\n"
        "\n# Entries added by HostAliases.\n10.2.3.4\tfoo.local\tbar.local\n"
    )


def test_a_machines_resolver_is_read() -> None:
    text = "# no\nnameserver 1.1.1.1\nsearch a.b\nsearch example.com. .\noptions ndots:2 rotate\noptions ndots:3\n"
    assert host_resolver(text) == ResolverConfig(("1.1.1.1",), ("example.com",), ("ndots:3", "rotate"))


CLUSTER = ResolverConfig(
    ("10.0.0.10",),
    ("shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.com"),
    ("ndots:5",),
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, CLUSTER),
        ({"dnsPolicy": "ClusterFirst"}, CLUSTER),
        ({"dnsPolicy": "ClusterFirst", "hostNetwork": True}, HOST),
        ({"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": True}, CLUSTER),
        ({"dnsPolicy": "Default"}, HOST),
        ({"dnsPolicy": "None"}, ResolverConfig()),
        (
            {
                "dnsPolicy": "None",
                "dnsConfig": {"nameservers": ["9.9.9.9"], "searches": ["s"], "options": [{"name": "debug"}]},
            },
            ResolverConfig(("9.9.9.9",), ("s",), ("debug",)),
        ),
        (
            {
                "dnsConfig": {
                    "nameservers": ["10.0.0.10", "9.9.9.9"],
                    "options": [{"name": "ndots", "value": "2"}, {"name": "debug"}],
                }
            },
            ResolverConfig((*CLUSTER.servers, "9.9.9.9"), CLUSTER.searches, ("ndots:2", "debug")),
        ),
    ],
)
def test_a_policy_says_whom_a_pod_asks(spec: dict[str, Any], expected: ResolverConfig) -> None:
    assert pod_resolver(pod(**spec), HOST, ("10.0.0.10",), "cluster.local") == (expected, [])


def test_without_a_clusters_dns_a_pod_asks_whom_the_machine_asks() -> None:
    assert pod_resolver(pod(), HOST, (), "cluster.local") == (HOST, [])


def test_what_no_resolver_reads_is_left_out_and_told() -> None:
    spec = {"dnsConfig": {"nameservers": ["2", "3", "4"], "searches": [f"d{n}" for n in range(40)]}}
    found, told = pod_resolver(pod(**spec), HOST, ("1",), "cluster.local")
    assert found.servers == ("1", "2", "3")
    assert len(found.searches) == 32
    assert told[0] == (
        "Nameserver limits were exceeded, some nameservers have been omitted, "
        "the applied nameserver line is: 1 2 3"
    )
    assert told[1].startswith("Search Line limits were exceeded, some search paths have been omitted, ")


def test_a_resolver_is_written_as_runtimes_do() -> None:
    assert CLUSTER.text() == (
        "search shop.svc.cluster.local svc.cluster.local cluster.local example.com\n"
        "nameserver 10.0.0.10\noptions ndots:5\n"
    )
