"""Cluster IPs and node ports: handed out once, given back when a write fails."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from steersman.cluster.apiserver.resources.allocation import NODE_PORTS, Reservation, ServiceAllocator
from steersman.objects.status import StatusError

Object = dict[str, Any]


def service(name: str = "s", *ports: Object, **spec: Any) -> Object:
    """A service as it is after defaulting."""
    full: Object = {"type": "ClusterIP", "sessionAffinity": "None", "ports": list(ports), **spec}
    if full["type"] == "LoadBalancer":
        full.setdefault("allocateLoadBalancerNodePorts", True)
    return {"metadata": {"name": name, "namespace": "default"}, "spec": full}


def port(number: int, protocol: str = "TCP", node_port: int = 0) -> Object:
    made: Object = {"name": f"{protocol}-{number}".lower(), "port": number, "protocol": protocol}
    return {**made, "nodePort": node_port} if node_port else made


def node_ports(obj: Object) -> list[int]:
    return [each.get("nodePort", 0) for each in obj["spec"]["ports"]]


def placed(allocator: ServiceAllocator, obj: Object, old: Object | None = None) -> Object:
    allocator.reserve(obj, old).keep()
    return obj


def refusal(allocator: ServiceAllocator, obj: Object, old: Object | None = None) -> StatusError:
    with pytest.raises(StatusError) as refused:
        allocator.reserve(obj, old)
    return refused.value


@pytest.fixture
def allocator() -> ServiceAllocator:
    return ServiceAllocator("10.96.0.0/16")


def test_addresses_differ_and_come_from_the_upper_band(allocator: ServiceAllocator) -> None:
    addresses = [placed(allocator, service())["spec"]["clusterIP"] for _ in range(50)]
    assert len(set(addresses)) == 50
    lowest, highest = ipaddress.IPv4Address("10.96.1.0"), ipaddress.IPv4Address("10.96.255.255")
    assert all(lowest < ipaddress.IPv4Address(each) < highest for each in addresses)


def test_all_address_fields_tell_the_same(allocator: ServiceAllocator) -> None:
    spec = placed(allocator, service())["spec"]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")


def test_a_small_range_is_given_out_whole_and_then_full() -> None:
    allocator = ServiceAllocator("10.0.0.0/29")
    given = {placed(allocator, service())["spec"]["clusterIP"] for _ in range(6)}
    assert given == {f"10.0.0.{host}" for host in range(1, 7)}
    error = refusal(allocator, service("late"))
    assert error.code == 422
    assert error.message.endswith("failed to allocate IP: range is full")


@pytest.mark.parametrize(
    ("cidr", "band"),
    [("10.0.0.0/29", 0), ("10.0.0.0/28", 0), ("10.0.0.0/27", 16), ("10.0.0.0/20", 256), ("10.0.0.0/8", 256),
     ("fd00::/112", 256)],
)  # fmt: skip
def test_the_lower_band_is_used_last(cidr: str, band: int) -> None:
    pool = ServiceAllocator(cidr)._addresses
    assert pool._dynamic.start - pool.numbers.start == band


def test_the_lower_band_serves_when_the_upper_is_full() -> None:
    allocator = ServiceAllocator("10.0.0.0/27")
    given = [int(placed(allocator, service())["spec"]["clusterIP"].rpartition(".")[2]) for _ in range(30)]
    assert sorted(given[:14]) == list(range(17, 31))
    assert sorted(given[14:]) == list(range(1, 17))


def test_ipv6_ranges(allocator: ServiceAllocator) -> None:
    allocator = ServiceAllocator("fd00::/112")
    spec = placed(allocator, service())["spec"]
    assert ipaddress.ip_address(spec["clusterIP"]) in allocator.network
    assert (allocator.family, allocator.first_address, spec["ipFamilies"]) == ("IPv6", "fd00::1", ["IPv6"])


def test_an_address_of_ones_own_choice(allocator: ServiceAllocator) -> None:
    placed(allocator, service(clusterIP="10.96.0.10"))
    error = refusal(allocator, service("t", clusterIP="10.96.0.10"))
    assert (error.code, error.message) == (
        422,
        'Service "t" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP '
        "10.96.0.10: provided IP is already allocated",
    )


@pytest.mark.parametrize("address", ["10.97.0.1", "10.96.0.0", "10.96.255.255"])
def test_addresses_outside_the_range(allocator: ServiceAllocator, address: str) -> None:
    assert refusal(allocator, service(clusterIP=address)).message.endswith(
        f"failed to allocate IP {address}: the provided network does not match the current range"
    )
    with pytest.raises(StatusError) as dry:
        allocator.reserve(service(clusterIP=address), None, dry_run=True)
    assert dry.value.message.endswith(
        f"failed to allocate IP {address}: the provided IP ({address}) is not in the valid range. "
        "The range of valid IPs is 10.96.0.0/16"
    )


@pytest.mark.parametrize(
    "spec", [{"clusterIP": "None"}, {"type": "ExternalName", "externalName": "a.b"}], ids=str
)
def test_services_without_an_address(spec: Object) -> None:
    allocator = ServiceAllocator("10.0.0.0/29")
    for _ in range(10):
        obj = placed(allocator, service(**spec))
    assert obj["spec"].get("clusterIP", "None") == "None"
    assert not allocator._addresses.taken


def test_a_cancelled_reservation_leaks_nothing(allocator: ServiceAllocator) -> None:
    obj = service("s", port(80), type="LoadBalancer", externalTrafficPolicy="Local")
    allocator.reserve(obj, None).cancel()
    assert not allocator._addresses.taken
    assert not allocator._ports.taken


def test_a_refused_reservation_leaks_nothing(allocator: ServiceAllocator) -> None:
    placed(allocator, service("s", port(80, node_port=30100), type="NodePort"))
    taken = set(allocator._addresses.taken), set(allocator._ports.taken)
    refusal(allocator, service("t", port(80), port(81, node_port=30100), type="NodePort"))
    assert (allocator._addresses.taken, allocator._ports.taken) == taken


def test_what_is_reserved_is_nobody_elses_before_the_write(allocator: ServiceAllocator) -> None:
    first = service(clusterIP="10.96.0.10")
    pending = allocator.reserve(first, None)
    refusal(allocator, service("t", clusterIP="10.96.0.10"))
    pending.cancel()
    placed(allocator, service("t", clusterIP="10.96.0.10"))


def test_a_released_service_gives_everything_back(allocator: ServiceAllocator) -> None:
    obj = placed(allocator, service("s", port(80), type="LoadBalancer", externalTrafficPolicy="Local"))
    assert len(allocator._ports.taken) == 2
    allocator.release(obj)
    assert not allocator._addresses.taken
    assert not allocator._ports.taken


def test_stored_services_are_loaded(allocator: ServiceAllocator) -> None:
    before = ServiceAllocator("10.96.0.0/16")
    stored = [
        placed(before, service("a", port(80), type="LoadBalancer", externalTrafficPolicy="Local")),
        placed(before, service("b", clusterIP="None")),
        service("c", type="ExternalName", externalName="a.b"),
        service("d", clusterIP="192.168.0.1", clusterIPs=["192.168.0.1"]),
    ]
    allocator.load(stored)
    assert allocator._addresses.taken == before._addresses.taken
    assert allocator._ports.taken == before._ports.taken


def test_node_ports_come_from_the_upper_band(allocator: ServiceAllocator) -> None:
    given = node_ports(placed(allocator, service("s", *map(port, range(1, 51)), type="NodePort")))
    assert len(set(given)) == 50
    assert all(number in NODE_PORTS and number >= 30086 for number in given)


def test_only_external_services_have_node_ports(allocator: ServiceAllocator) -> None:
    assert node_ports(placed(allocator, service("s", port(80)))) == [0]


def test_the_same_port_of_two_protocols_shares_its_node_port(allocator: ServiceAllocator) -> None:
    first, second, other = node_ports(
        placed(allocator, service("dns", port(53), port(53, "UDP"), port(80), type="NodePort"))
    )
    assert first == second != other


@pytest.mark.parametrize("asked_by", [0, 1], ids=["first", "second"])
def test_a_chosen_node_port_is_shared_too(allocator: ServiceAllocator, asked_by: int) -> None:
    ports = [port(53), port(53, "UDP")]
    ports[asked_by]["nodePort"] = 30053
    assert node_ports(placed(allocator, service("dns", *ports, type="NodePort"))) == [30053, 30053]


def test_one_node_port_for_two_ports_is_taken_by_the_first(allocator: ServiceAllocator) -> None:
    twice = [port(80, node_port=30077), port(81, node_port=30077)]
    assert str(refusal(allocator, service("s", *twice, type="NodePort"))) == (
        'Service "s" is invalid: spec.ports[1].nodePort: Invalid value: 30077: provided port is already allocated'
    )
    assert not allocator._ports.taken
    old = placed(allocator, service("s", port(80, node_port=30077), type="NodePort"))
    twice = [port(80, node_port=30077), port(80, node_port=30077)]
    refused = refusal(allocator, service("s", *twice, type="NodePort"), old)
    assert (refused.code, str(refused)) == (500, "duplicate nodePort: {TCP 30077}")


def test_a_dry_run_may_have_a_taken_address(allocator: ServiceAllocator) -> None:
    placed(allocator, service("s", clusterIP="10.96.0.9"))
    dry = service("t", clusterIP="10.96.0.9")
    allocator.reserve(dry, None, dry_run=True).cancel()
    assert dry["spec"]["clusterIPs"] == ["10.96.0.9"]
    assert "already allocated" in str(refusal(allocator, service("t", clusterIP="10.96.0.9")))


def test_a_dry_run_counts_node_ports_of_its_own(allocator: ServiceAllocator) -> None:
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
    obj = service("s", port(80), port(81), port(82, node_port=99999), **spec)
    allocator.reserve(obj, None, dry_run=True).cancel()
    assert node_ports(obj) == [32769, 32770, 99999]
    assert obj["spec"]["healthCheckNodePort"] == 100000
    assert not allocator._ports.taken


def test_a_port_added_later_gets_a_node_port_of_its_own(allocator: ServiceAllocator) -> None:
    old = placed(allocator, service("dns", port(53, node_port=30053), type="NodePort"))
    spec = {"clusterIP": old["spec"]["clusterIP"], "clusterIPs": old["spec"]["clusterIPs"]}
    new = service("dns", port(53, node_port=30053), port(53, "UDP"), type="NodePort", **spec)
    pending = allocator.reserve(new, old)
    assert len(set(node_ports(new))) == 2
    pending.cancel()
    assert allocator._ports.taken == {30053}, "a failed update takes nothing from the stored service"


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (30100, "provided port is already allocated"),
        (
            29999,
            "provided port is not in the valid range. The range of valid ports is 30000-32767",
        ),
        (
            32768,
            "provided port is not in the valid range. The range of valid ports is 30000-32767",
        ),
    ],
)
def test_node_ports_one_cannot_have(allocator: ServiceAllocator, number: int, why: str) -> None:
    placed(allocator, service("s", port(80, node_port=30100), type="NodePort"))
    error = refusal(allocator, service("t", port(80), port(81, node_port=number), type="NodePort"))
    assert (error.code, error.message) == (
        422,
        f'Service "t" is invalid: spec.ports[1].nodePort: Invalid value: {number}: {why}',
    )


def test_no_node_port_is_left(allocator: ServiceAllocator) -> None:
    allocator._ports.taken.update(NODE_PORTS)
    error = refusal(allocator, service("s", port(80), type="NodePort"))
    assert (error.code, error.message) == (
        500,
        "Internal error occurred: failed to allocate a nodePort: range is full",
    )


def test_a_load_balancer_may_do_without_node_ports(allocator: ServiceAllocator) -> None:
    chosen = [port(80), port(81, node_port=30081)]
    obj = service("s", *chosen, type="LoadBalancer", allocateLoadBalancerNodePorts=False)
    assert node_ports(placed(allocator, obj)) == [0, 30081]
    assert allocator._ports.taken == {30081}, "a port asked for is taken all the same"


@pytest.mark.parametrize("node_ports_wanted", [True, False])
def test_local_traffic_needs_a_health_check_port(
    allocator: ServiceAllocator, node_ports_wanted: bool
) -> None:
    spec = {"allocateLoadBalancerNodePorts": node_ports_wanted, "externalTrafficPolicy": "Local"}
    obj = placed(allocator, service("s", port(80), type="LoadBalancer", **spec))
    assert obj["spec"]["healthCheckNodePort"] in allocator._ports.taken
    assert len(allocator._ports.taken) == 1 + node_ports_wanted


def test_a_health_check_port_of_ones_own_choice(allocator: ServiceAllocator) -> None:
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30200}
    assert placed(allocator, service("s", **spec))["spec"]["healthCheckNodePort"] == 30200
    error = refusal(allocator, service("t", **spec))
    assert (error.code, error.message) == (
        500,
        "Internal error occurred: failed to allocate requested HealthCheck NodePort 30200: provided port is "
        "already allocated",
    )


def test_an_update_keeps_what_it_names_and_frees_the_rest(allocator: ServiceAllocator) -> None:
    old = placed(
        allocator, service("s", port(80, node_port=30080), port(81, node_port=30081), type="NodePort")
    )
    spec = {"clusterIP": old["spec"]["clusterIP"], "clusterIPs": old["spec"]["clusterIPs"]}
    new = service("s", port(80, node_port=30080), type="NodePort", **spec)
    pending: Reservation = allocator.reserve(new, old)
    assert allocator._ports.taken == {30080, 30081}, "nothing is free before the write"
    pending.keep()
    assert allocator._ports.taken == {30080}
    assert len(allocator._addresses.taken) == 1


def test_a_failed_update_frees_nothing(allocator: ServiceAllocator) -> None:
    old = placed(allocator, service("s", port(80, node_port=30080), type="NodePort"))
    allocator.reserve(service("s", type="ExternalName", externalName="a.b", ports=[]), old).cancel()
    assert allocator._ports.taken == {30080}
    assert len(allocator._addresses.taken) == 1


def test_an_address_that_is_given_up_is_free_again(allocator: ServiceAllocator) -> None:
    old = placed(allocator, service("s"))
    placed(allocator, service("s", type="ExternalName", externalName="a.b"), old)
    assert not allocator._addresses.taken
