"""The EndpointSlices of a service: what they say, and how little of them changes."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.controllers.endpoints.backends import PodEndpoint
from steersman.cluster.controllers.endpoints.service_slices import MOST_ENDPOINTS, plan_slices, slice_prefix
from steersman.cluster.controllers.endpoints.services import SelectingService
from steersman.cluster.controllers.endpoints.slices import SlicePlan
from tests.unit.cluster.controllers.endpoints.endpoint_objects import Object, numbered, pod, service


def zone_of(node: str) -> str | None:
    return {"n1": "zone-a", "n2": ""}.get(node)


def plan(of: SelectingService, pods: list[PodEndpoint], existing: list[Object] | None = None) -> SlicePlan:
    return plan_slices(of, pods, existing or [], zone_of)


def settled(
    of: SelectingService, pods: list[PodEndpoint], existing: list[Object] | None = None
) -> list[Object]:
    """The slices after a plan was carried out; another plan then has nothing to do."""
    planned = plan(of, pods, existing)
    by_name = {one["metadata"]["name"]: one for one in existing or []}
    for one in planned.delete:
        del by_name[one["metadata"]["name"]]
    for one in planned.update:
        by_name[one["metadata"]["name"]] = one
    for number, one in enumerate(planned.create):
        name = f"made-{len(by_name)}-{number}"
        by_name[name] = numbered(name, one)
    slices = list(by_name.values())
    assert plan(of, pods, slices) == SlicePlan()
    return slices


def test_a_slice_tells_all_of_an_endpoint() -> None:
    [one] = plan(service(labels={"team": "x"}), [pod("p", "10.1.0.1")]).create
    assert one == {
        "metadata": {
            "generateName": "web-",
            "namespace": "ns",
            "labels": {
                "team": "x",
                "kubernetes.io/service-name": "web",
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            },
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "name": "web",
                    "uid": "uid-web",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "addressType": "IPv4",
        "ports": [{"name": "", "port": 8080, "protocol": "TCP"}],
        "endpoints": [
            {
                "addresses": ["10.1.0.1"],
                "conditions": {"ready": True, "serving": True, "terminating": False},
                "targetRef": {"kind": "Pod", "namespace": "ns", "name": "p", "uid": "uid-p"},
                "nodeName": "n1",
                "zone": "zone-a",
            }
        ],
    }


@pytest.mark.parametrize(
    ("state", "published", "conditions"),
    [
        pytest.param({}, False, (True, True, False), id="ready"),
        pytest.param({"ready": False}, False, (False, False, False), id="not ready"),
        pytest.param({"deleting": True}, False, (False, True, True), id="ready and going"),
        pytest.param({"ready": False, "deleting": True}, False, (False, False, True), id="going"),
        pytest.param({"ready": False}, True, (True, False, False), id="published though not ready"),
        pytest.param({"deleting": True}, True, (True, True, True), id="published though going"),
    ],
)
def test_conditions_of_endpoints(
    state: dict[str, Any], published: bool, conditions: tuple[bool, bool, bool]
) -> None:
    planned = plan(service(publishNotReadyAddresses=published), [pod("p", "10.1.0.1", **state)])
    told = planned.create[0]["endpoints"][0]["conditions"]
    assert (told["ready"], told["serving"], told["terminating"]) == conditions


@pytest.mark.parametrize(
    ("ignored", "published"),
    [
        pytest.param(pod("p"), False, id="without an address"),
        pytest.param(pod("p", "10.1.0.1", phase="Succeeded"), False, id="ended"),
        pytest.param(pod("p", "10.1.0.1", phase="Failed"), True, id="failed"),
        pytest.param(pod("p", "10.1.0.1", nodeName="gone"), False, id="on a node that is gone"),
        pytest.param(pod("p", "fd00::1"), False, id="of another family"),
    ],
)
def test_pods_that_have_no_endpoint(ignored: PodEndpoint, published: bool) -> None:
    [slice_] = plan(service(publishNotReadyAddresses=published), [ignored]).create
    assert slice_["endpoints"] == []


def test_a_service_without_pods_has_a_slice_that_says_so() -> None:
    [one] = settled(service(), [])
    assert (one["ports"], one["endpoints"]) == ([], [])
    # The first pod takes it over, and the last one leaves it.
    [taken] = settled(service(), [pod("p", "10.1.0.1")], [one])
    assert taken["metadata"]["name"] == one["metadata"]["name"]
    [left] = settled(service(), [], [taken])
    assert (left["metadata"]["name"], left["endpoints"]) == (one["metadata"]["name"], [])


def test_headless_services_are_marked_and_need_no_ports() -> None:
    headless = service(clusterIP="None", ports=[])
    [one] = settled(headless, [pod("p", "10.1.0.1", hostname="h", subdomain="web")])
    assert one["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    assert one["ports"] == []
    assert one["endpoints"][0]["hostname"] == "h"


def test_named_ports_may_lead_elsewhere_in_other_pods() -> None:
    def serving(name: str, ip: str, port: int) -> PodEndpoint:
        ports = [{"name": "http", "containerPort": port, "protocol": "TCP"}]
        return pod(name, ip, containers=[{"name": "c", "ports": ports}])

    named = service(ports=[{"name": "web", "port": 80, "protocol": "TCP", "targetPort": "http"}])
    pods = [serving("a", "10.1.0.1", 8080), serving("b", "10.1.0.2", 9090), serving("c", "10.1.0.3", 8080)]
    slices = settled(named, pods)
    found = {one["ports"][0]["port"]: len(one["endpoints"]) for one in slices}
    assert found == {8080: 2, 9090: 1}


def test_both_families_have_their_slices() -> None:
    both = service(ipFamilies=["IPv4", "IPv6"])
    slices = settled(both, [pod("p", "10.1.0.1", "fd00:0:0::1")])
    assert {one["addressType"]: one["endpoints"][0]["addresses"] for one in slices} == {
        "IPv4": ["10.1.0.1"],
        "IPv6": ["fd00::1"],
    }
    only = settled(service(), [pod("p", "10.1.0.1", "fd00::1")], slices)
    assert [one["addressType"] for one in only] == ["IPv4"]


@pytest.mark.parametrize(
    ("preference", "hints"),
    [
        pytest.param(None, None, id="none"),
        pytest.param("PreferClose", {"forZones": [{"name": "zone-a"}]}, id="close"),
        pytest.param("PreferSameZone", {"forZones": [{"name": "zone-a"}]}, id="zone"),
        pytest.param(
            "PreferSameNode", {"forZones": [{"name": "zone-a"}], "forNodes": [{"name": "n1"}]}, id="node"
        ),
    ],
)
def test_hints_say_who_should_use_an_endpoint(preference: str | None, hints: Object | None) -> None:
    [one] = plan(service(trafficDistribution=preference), [pod("p", "10.1.0.1")]).create
    assert one["endpoints"][0].get("hints") == hints


def many(count: int, start: int = 0) -> list[PodEndpoint]:
    return [pod(f"p{number:04}", f"10.1.{number // 250}.{number % 250}") for number in range(start, count)]


def test_slices_hold_a_hundred_and_change_one_at_a_time() -> None:
    pods = many(250)
    slices = settled(service(), pods)
    assert sorted(len(one["endpoints"]) for one in slices) == [50, MOST_ENDPOINTS, MOST_ENDPOINTS]
    changed = plan(service(), [pod("p0000", "10.1.0.0", ready=False), *pods[1:]], slices)
    assert (len(changed.create), len(changed.update), len(changed.delete)) == (0, 1, 0)


def test_new_endpoints_go_where_something_changes_anyway() -> None:
    slices = settled(service(), many(250))
    replaced = [one for one in many(251) if one.name != "p0000"]
    changed = plan(service(), replaced, slices)
    assert (len(changed.create), len(changed.update), len(changed.delete)) == (0, 1, 0)


def test_new_endpoints_go_into_the_fullest_slice_with_room() -> None:
    slices = settled(service(), many(250))
    grown = plan(service(), many(251), slices)
    assert [len(one["endpoints"]) for one in grown.update] == [51]
    assert grown.create == []
    more = plan(service(), many(320), slices)
    assert (len(more.create), len(more.update)) == (1, 0)


def test_empty_slices_are_deleted() -> None:
    slices = settled(service(), many(250))
    left = settled(service(), many(20), slices)
    assert [len(one["endpoints"]) for one in left] == [20]


def test_labels_of_the_service_come_along() -> None:
    slices = settled(service(), many(3))
    labelled = service(labels={"team": "y"})
    [changed] = settled(labelled, many(3), slices)
    assert changed["metadata"]["labels"]["team"] == "y"


def test_slices_of_an_earlier_service_of_the_name_are_not_reused() -> None:
    [old] = settled(service(), [pod("p", "10.1.0.1")])
    owner = {**old["metadata"]["ownerReferences"][0], "uid": "earlier"}
    old = {**old, "metadata": {**old["metadata"], "ownerReferences": [owner]}}
    changed = plan(service(), [pod("p", "10.1.0.1")], [old])
    assert (len(changed.create), changed.update, changed.delete) == (1, [], [old])


def test_names_are_made_from_the_service() -> None:
    assert slice_prefix("web") == "web-"
    assert slice_prefix("x" * 253) == "x" * 253
