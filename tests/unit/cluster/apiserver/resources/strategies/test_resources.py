"""What holds for the strategies of all resources."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from steersman.cluster.apiserver.resources.strategies import strategy_for
from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.resources import ResourceType, all_resources

RESOURCES = [resource for resource in all_resources() if "update" in resource.verbs]
IDS = [f"{resource.group}-{resource.version}-{resource.plural}" for resource in RESOURCES]
WITH_STATUS = [resource for resource in RESOURCES if "status" in resource.subresources]
#: Where a new object's status is not the client's; autoscaling/v1 is prepared in its stored form.
FRESH_STATUS = [
    resource
    for resource in WITH_STATUS
    if resource.kind != "Node" and (resource.group, resource.version) != ("autoscaling", "v1")
]
#: Kinds whose fresh status is not their type's zero.
PHASES = {
    "Namespace": "Active",
    "PersistentVolume": "Pending",
    "PersistentVolumeClaim": "Pending",
    "Pod": "Pending",
}


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
def test_status_has_an_endpoint_exactly_where_discovery_says_so(resource: ResourceType) -> None:
    assert strategy_for(resource.group, resource.plural).has_status == ("status" in resource.subresources)


@pytest.mark.parametrize("resource", FRESH_STATUS, ids=lambda resource: resource.plural)
def test_a_fresh_status_is_the_zero_of_its_type(resource: ResourceType) -> None:
    strategy = strategy_for(resource.group, resource.plural)
    zero = decode(resource.gvk, {"apiVersion": resource.api_version, "kind": resource.kind}).obj["status"]
    phase = PHASES.get(resource.kind)
    assert strategy.zero_status == (zero | {"phase": phase} if phase else zero)


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
def test_an_update_without_change_changes_nothing(
    resource: ResourceType, make: Callable[..., dict[str, Any]]
) -> None:
    strategy = strategy_for(resource.group, resource.plural)
    old = make(resource.api_version, resource.kind)
    strategy.prepare_create(old)
    strategy.complete_create(old)
    for subresource in ("", *strategy.subresources):
        new = deepcopy(old)
        if subresource:
            strategy.prepare_subresource(subresource, new, old)
        else:
            strategy.prepare_update(new, old)
        assert new == old
        assert strategy.warnings_on_update(new, old, subresource) == []


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
def test_what_a_client_says_of_status_and_generation_does_not_count(
    resource: ResourceType, make: Callable[..., dict[str, Any]]
) -> None:
    strategy = strategy_for(resource.group, resource.plural)
    old = make(resource.api_version, resource.kind)
    strategy.prepare_create(old)
    strategy.complete_create(old)
    new = deepcopy(old)
    new["metadata"]["generation"] = 99
    if strategy.has_status:
        new["status"] = {"conditions": [{"type": "Mine"}], "loadBalancer": {}}
    strategy.prepare_update(new, old)
    assert new == old


@pytest.mark.parametrize("resource", WITH_STATUS, ids=lambda resource: resource.plural)
def test_a_status_endpoint_keeps_the_spec(
    resource: ResourceType, make: Callable[..., dict[str, Any]]
) -> None:
    strategy = strategy_for(resource.group, resource.plural)
    old = make(resource.api_version, resource.kind)
    strategy.prepare_create(old)
    strategy.complete_create(old)
    new = deepcopy(old)
    new["spec"]["made-up"] = 1
    strategy.prepare_subresource("status", new, old)
    assert new == old


def test_an_unknown_resource_gets_a_plain_strategy(make: Callable[..., dict[str, Any]]) -> None:
    strategy = strategy_for("example.com", "foos")
    assert (strategy.has_status, strategy.tracks_generation, strategy.default_propagation) == (
        False,
        False,
        "Background",
    )


@pytest.mark.parametrize(
    ("group", "plural", "creates", "unconditional", "propagation"),
    [
        ("", "pods", False, True, "Background"),
        ("", "services", True, True, "Background"),
        ("", "events", True, True, None),
        ("", "replicationcontrollers", False, True, "Orphan"),
        ("batch", "jobs", False, True, "Orphan"),
        ("coordination.k8s.io", "leases", True, False, "Background"),
        ("rbac.authorization.k8s.io", "clusterroles", True, True, "Background"),
        ("policy", "poddisruptionbudgets", False, False, "Background"),
        ("node.k8s.io", "runtimeclasses", True, False, "Background"),
    ],
)
def test_how_put_and_delete_behave(
    group: str, plural: str, creates: bool, unconditional: bool, propagation: str | None
) -> None:
    strategy = strategy_for(group, plural)
    assert strategy.allow_create_on_update is creates
    assert strategy.allow_unconditional_update is unconditional
    assert strategy.default_propagation == propagation


@pytest.mark.parametrize(
    ("group", "plural", "label", "text"),
    [
        (
            "",
            "configmaps",
            "data.k",
            '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("", "pods", "spec.x", "field label not supported: spec.x"),
        ("", "nodes", "metadata.namespace", "field label not supported: metadata.namespace"),
        ("batch", "jobs", "x", 'field label "x" not supported for Job'),
        ("events.k8s.io", "events", "involvedObject.kind", "field label not supported: involvedObject.kind"),
    ],
)
def test_selecting_by_an_unknown_field_is_refused(group: str, plural: str, label: str, text: str) -> None:
    strategy = strategy_for(group, plural)
    assert strategy.field_reader(label) is None
    assert strategy.refuse_field(label) == text


@pytest.mark.parametrize(
    ("api_version", "kind", "plural", "fields", "label", "value"),
    [
        ("v1", "Pod", "pods", {"spec": {"nodeName": "n"}}, "spec.nodeName", "n"),
        ("v1", "Pod", "pods", {"spec": {"nodeName": "n"}}, "spec.host", "n"),
        ("v1", "Pod", "pods", {}, "spec.hostNetwork", "false"),
        ("v1", "Pod", "pods", {"status": {"podIP": "1.2.3.4"}}, "status.podIP", "1.2.3.4"),
        ("v1", "Pod", "pods", {}, "metadata.name", "x"),
        ("v1", "Node", "nodes", {"spec": {"unschedulable": True}}, "spec.unschedulable", "true"),
        ("v1", "Namespace", "namespaces", {}, "status.phase", "Active"),
        ("v1", "Secret", "secrets", {}, "type", "Opaque"),
        ("v1", "Service", "services", {}, "spec.type", "ClusterIP"),
        ("v1", "Event", "events", {"reportingComponent": "c"}, "source", "c"),
        ("v1", "Event", "events", {"involvedObject": {"kind": "Pod"}}, "involvedObject.kind", "Pod"),
        ("batch/v1", "Job", "jobs", {"status": {"succeeded": 2}}, "status.successful", "2"),
    ],
)
def test_selectable_fields_are_read_as_text(
    make: Callable[..., dict[str, Any]],
    api_version: str,
    kind: str,
    plural: str,
    fields: dict[str, Any],
    label: str,
    value: str,
) -> None:
    group = api_version.rpartition("/")[0]
    read = strategy_for(group, plural).field_reader(label)
    assert read is not None
    assert read(make(api_version, kind, **fields)) == value


def test_events_are_selected_by_their_new_names_over_the_stored_form(
    make: Callable[..., dict[str, Any]],
) -> None:
    read = strategy_for("events.k8s.io", "events").field_reader("regarding.kind")
    assert read is not None
    assert read(make("v1", "Event", involvedObject={"kind": "Pod"})) == "Pod"


@pytest.mark.parametrize("resource", RESOURCES, ids=IDS)
def test_every_built_in_resource_has_a_strategy_of_its_own(resource: ResourceType) -> None:
    assert strategy_for(resource.group, resource.plural) is strategy_for(resource.group, resource.plural)
