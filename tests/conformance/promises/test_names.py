"""Names in pods: what the public tests of the same names ask for, asked by programs in pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from steersman.cluster.dns.wire import RecordType, text_of
from steersman.objects.resources import SERVICES
from steersman.testing import eventually
from tests.integration.dns.resolver import ask

from .serving import NAMESPACE, PATIENCE_S, Running, Serving, can_serve, promise, running_cluster

pytestmark = pytest.mark.skipif(not can_serve(), reason="needs rights to listen at low ports")

_DOMAIN = f"{NAMESPACE}.svc.cluster.local"


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with running_cluster() as found:
        yield found


def resolving(*names: str) -> str:
    """A script that prints the addresses of each name, tried until it has some."""
    return f"""
import socket, time
for name in {names!r}:
    found = []
    deadline = time.monotonic() + 20
    while not found and time.monotonic() < deadline:
        try:
            found = sorted({{each[4][0] for each in socket.getaddrinfo(name, None, socket.AF_INET)}})
        except OSError:
            time.sleep(0.1)
    print(name, *found)
"""


async def found_in_pod(world: Serving, pod: str, *names: str, **spec: Any) -> dict[str, list[str]]:
    lines = (await world.last_word(pod, resolving(*names), **spec)).splitlines()
    return {name: found for name, *found in map(str.split, lines)}


async def cluster_ip(world: Serving, name: str, namespace: str) -> str:
    return str((await world.client.get(SERVICES, name, namespace))["spec"]["clusterIP"])


@promise("DNS should provide DNS for the cluster")
async def test_cluster(world: Serving) -> None:
    name = "kubernetes.default.svc.cluster.local"
    found = await found_in_pod(world, "asks-cluster", name)
    assert found == {name: [await cluster_ip(world, "kubernetes", "default")]}


@promise("DNS should provide /etc/hosts entries for the cluster")
async def test_hosts(world: Serving) -> None:
    await world.service("dns-test", clusterIP="None", selector={"app": "hosts"})
    names = (f"dns-querier.dns-test.{_DOMAIN}", "dns-querier")
    script = "print(open('/etc/hosts').read())"
    text = await world.last_word("asks-hosts", script, hostname="dns-querier", subdomain="dns-test")
    lines = [line.split() for line in text.splitlines()]
    assert any(line[1:] == list(names) for line in lines if line), text


@promise("DNS should provide DNS for services")
async def test_services(world: Serving) -> None:
    regular = await world.service("regular", {"name": "http", "port": 80, "targetPort": 8080})
    await world.service("headless", {"name": "http", "port": 80}, clusterIP="None")
    pod = await world.serve("headless-1", 8080)
    names = (f"regular.{_DOMAIN}", f"headless.{_DOMAIN}")
    found = await found_in_pod(world, "asks-services", *names)
    address = regular["spec"]["clusterIP"]
    assert found == {names[0]: [address], names[1]: [pod["status"]["podIP"]]}
    server = await cluster_ip(world, "kube-dns", "kube-system")
    for service, target in (("regular", f"regular.{_DOMAIN}."), ("headless", None)):
        answer = await ask(server, 53, f"_http._tcp.{service}.{_DOMAIN}", RecordType.SRV)
        (record,) = answer.answers
        assert record.target is not None
        dashed = pod["status"]["podIP"].replace(".", "-")
        assert text_of(record.target) == (target or f"{dashed}.headless.{_DOMAIN}.")
    reverse = f"import socket; print(socket.gethostbyaddr({address!r})[0])"
    assert await world.last_word("asks-reverse", reverse) == f"regular.{_DOMAIN}"


@promise("DNS should resolve DNS of partial qualified names for services")
async def test_partial_names(world: Serving) -> None:
    address = (await world.service("partial"))["spec"]["clusterIP"]
    names = ("partial", f"partial.{NAMESPACE}", f"partial.{NAMESPACE}.svc", f"partial.{_DOMAIN}")
    found = await found_in_pod(world, "asks-partial", *names)
    assert found == {name: [address] for name in names}


@promise("DNS should provide DNS for pods for Hostname")
async def test_host_names(world: Serving) -> None:
    await world.service("hosted", {"name": "http", "port": 80}, clusterIP="None")
    pod = await world.serve("hosted-1", 8080, hostname="dns-querier-2", subdomain="hosted")
    name = f"dns-querier-2.hosted.{_DOMAIN}"
    assert await found_in_pod(world, "asks-hostname", name) == {name: [pod["status"]["podIP"]]}


@promise("DNS should provide DNS for pods for Subdomain")
async def test_subdomains(world: Serving) -> None:
    await world.service("subdomain", {"name": "http", "port": 80}, clusterIP="None")
    pod = await world.serve("subdomain-1", 8080, hostname="dns-querier-3", subdomain="subdomain")
    names = (f"dns-querier-3.subdomain.{_DOMAIN}", f"subdomain.{_DOMAIN}")
    found = await found_in_pod(world, "asks-subdomain", *names)
    assert found == {name: [pod["status"]["podIP"]] for name in names}


@promise("DNS should provide DNS for ExternalName services")
async def test_external_names(world: Serving) -> None:
    server = await cluster_ip(world, "kube-dns", "kube-system")
    name = f"external.{_DOMAIN}"

    async def leads_to() -> str:
        answer = await ask(server, 53, name, RecordType.CNAME)
        targets = [text_of(each.target) for each in answer.answers if each.target is not None]
        return targets[0] if targets else ""

    async def leads(wanted: str) -> None:
        async def so() -> bool:
            return await leads_to() == wanted

        await eventually(so, PATIENCE_S)

    await world.service("external", type="ExternalName", externalName="foo.example.com")
    await leads("foo.example.com.")
    await world.change("external", externalName="bar.example.com")
    await leads("bar.example.com.")
    ports = [{"name": "http", "port": 80}]
    service = await world.change("external", type="ClusterIP", externalName=None, ports=ports)
    await leads("")
    found = await found_in_pod(world, "asks-external", name)
    assert found == {name: [service["spec"]["clusterIP"]]}


@promise("DNS should support configurable pod DNS nameservers")
async def test_own_servers(world: Serving) -> None:
    config = {"nameservers": ["192.0.2.53"], "searches": ["resolv.conf.local"]}
    script = "print(open('/etc/resolv.conf').read())"
    text = await world.last_word("asks-config", script, dnsPolicy="None", dnsConfig=config)
    lines = [line.split() for line in text.splitlines()]
    assert ["nameserver", "192.0.2.53"] in lines
    assert ["search", "resolv.conf.local"] in lines
