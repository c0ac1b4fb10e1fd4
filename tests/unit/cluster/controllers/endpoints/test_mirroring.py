"""Slices that mirror Endpoints made by hand."""

from __future__ import annotations

from typing import Any

from steersman.cluster.controllers.endpoints.mirroring import MOST_ADDRESSES, mirrored, plan_mirror
from steersman.cluster.controllers.endpoints.slices import SlicePlan
from tests.unit.cluster.controllers.endpoints.endpoint_objects import numbered

Object = dict[str, Any]
HTTP = {"name": "http", "port": 80, "protocol": "TCP"}


def endpoints(*subsets: Object, **metadata: Any) -> Object:
    return {"metadata": {"name": "db", "namespace": "ns", "uid": "u", **metadata}, "subsets": list(subsets)}


def plan(of: Object, existing: list[Object] | None = None) -> SlicePlan:
    return plan_mirror(of, mirrored(of), existing or [])


def test_a_mirror_says_the_same() -> None:
    address = {"ip": "10.0.0.1", "hostname": "h", "nodeName": "n"}
    of = endpoints(
        {"addresses": [address], "notReadyAddresses": [{"ip": "10.0.0.2"}], "ports": [HTTP]},
        labels={"team": "x"},
        annotations={"kept": "1", "endpoints.kubernetes.io/last-change-trigger-time": "t"},
    )
    [one] = plan(of).create
    assert one["metadata"]["labels"] == {
        "team": "x",
        "kubernetes.io/service-name": "db",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    }
    assert one["metadata"]["annotations"] == {"kept": "1"}
    assert one["metadata"]["ownerReferences"][0]["kind"] == "Endpoints"
    assert one["ports"] == [HTTP]
    assert one["endpoints"] == [
        {"addresses": ["10.0.0.1"], "conditions": {"ready": True}, "hostname": "h", "nodeName": "n"},
        {"addresses": ["10.0.0.2"], "conditions": {"ready": False}},
    ]
    assert plan(of, [numbered("s", one)]) == SlicePlan()


def test_what_changes_is_updated_and_what_goes_is_deleted() -> None:
    of = endpoints({"addresses": [{"ip": "10.0.0.1"}], "ports": [HTTP]})
    there = numbered("s", plan(of).create[0])
    more = endpoints({"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], "ports": [HTTP]})
    [updated] = plan(more, [there]).update
    assert updated["metadata"]["name"] == "s"
    assert len(updated["endpoints"]) == 2
    marked = endpoints({"addresses": [{"ip": "10.0.0.1"}], "ports": [HTTP]}, annotations={"new": "1"})
    [annotated] = plan(marked, [there]).update
    assert annotated["metadata"]["annotations"] == {"new": "1"}
    assert plan(endpoints(), [there]) == SlicePlan(delete=[there])


def test_other_ports_take_over_the_slice_that_would_go() -> None:
    of = endpoints({"addresses": [{"ip": "10.0.0.1"}], "ports": [HTTP]})
    there = numbered("s", plan(of).create[0])
    other = endpoints({"addresses": [{"ip": "10.0.0.1"}], "ports": [{**HTTP, "port": 81}]})
    changed = plan(other, [there])
    assert (changed.create, changed.delete) == ([], [])
    assert changed.update[0]["metadata"]["name"] == "s"
    assert changed.update[0]["ports"][0]["port"] == 81


def test_families_are_told_apart_and_what_is_no_address_is_counted() -> None:
    addresses = [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}, {"ip": "nowhere"}]
    wanted = mirrored(endpoints({"addresses": addresses, "ports": [HTTP]}))
    assert sorted(family for family, _ in wanted.groups) == ["IPv4", "IPv6"]
    assert (wanted.invalid, wanted.skipped) == (1, 1)


def test_too_many_addresses_are_left_out() -> None:
    addresses = [{"ip": f"10.0.{number // 250}.{number % 250}"} for number in range(MOST_ADDRESSES + 5)]
    wanted = mirrored(endpoints({"addresses": addresses, "ports": [HTTP]}))
    assert (wanted.invalid, wanted.skipped) == (0, 5)
