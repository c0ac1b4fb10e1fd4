"""The registry of built-in resources says what kube-apiserver's discovery says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steersman.cluster.schema import resources
from steersman.cluster.schema.resources import GVK
from tests.recordings import CONVERSATIONS, FACTS


def facts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FACTS / "resources.json").read_text())
    return found


def test_every_recorded_resource_is_there_in_the_recorded_order() -> None:
    assert [(each.group, each.version, each.plural) for each in resources.all_resources()] == [
        (fact["group"], fact["version"], fact["resource"]) for fact in facts()
    ]


@pytest.mark.parametrize(
    "fact", facts(), ids=lambda fact: f"{fact['group']}-{fact['version']}-{fact['resource']}"
)
def test_resource_matches_recorded_discovery(fact: dict[str, Any]) -> None:
    found = resources.find(fact["group"], fact["version"], fact["resource"])
    assert found is not None
    assert found.kind == fact["kind"]
    assert found.singular == fact["singular"]
    assert found.namespaced == (fact["scope"] == "Namespaced")
    assert list(found.verbs) == fact["verbs"]
    assert list(found.short_names) == fact.get("shortNames", [])
    assert list(found.categories) == fact.get("categories", [])
    assert [
        {
            "name": sub.name,
            "kind": sub.gvk.kind,
            "group": sub.gvk.group if sub.gvk[:2] != found.gvk[:2] else "",
            "version": sub.gvk.version if sub.gvk[:2] != found.gvk[:2] else "",
            "verbs": list(sub.verbs),
        }
        for sub in found.subresources.values()
    ] == fact.get("subresources", [])


def test_storage_version_hashes_are_those_a_real_server_shows() -> None:
    compared = 0
    for step in json.loads((CONVERSATIONS / "discovery.json").read_text())["steps"]:
        body = step["answer"].get("body")
        if not isinstance(body, dict) or body.get("kind") != "APIResourceList":
            continue
        if "storageVersionHash" in step.get("ignore", ()):
            continue
        group, _, version = body["groupVersion"].rpartition("/")
        for shown in body["resources"]:
            found = resources.find(group, version, shown["name"])
            if found is not None:
                assert found.storage_version_hash == shown.get("storageVersionHash", "")
                compared += 1
    assert compared > 5


def test_what_just_became_v1_is_hashed_as_the_release_before_stores_it() -> None:
    found = resources.find("resource.k8s.io", "v1", "devicetaintrules")
    assert found is not None
    stored = GVK("resource.k8s.io", "v1beta2", "DeviceTaintRule")
    assert found.storage_version_hash == resources.storage_version_hash(stored)


@pytest.mark.parametrize(
    "key, expected",
    [
        (("", "v1", "bindings"), None),
        (("authorization.k8s.io", "v1", "subjectaccessreviews"), None),
        (
            ("autoscaling", "v1", "horizontalpodautoscalers"),
            GVK("autoscaling", "v2", "HorizontalPodAutoscaler"),
        ),
        (("events.k8s.io", "v1", "events"), GVK("", "v1", "Event")),
        (("apps", "v1", "deployments"), GVK("apps", "v1", "Deployment")),
    ],
    ids=lambda value: value[2] if isinstance(value, tuple) and len(value) == 3 else None,
)
def test_storage_type(key: tuple[str, str, str], expected: GVK | None) -> None:
    found = resources.find(*key)
    assert found is not None
    assert found.storage == expected


def test_lookup_by_kind_and_preferred_version() -> None:
    found = resources.by_kind(GVK("apps", "v1", "Deployment"))
    assert found is not None
    assert found.group_resource == "deployments.apps"
    assert found.list_kind == "DeploymentList"
    versions = [version for group, version in resources.group_versions() if group == "autoscaling"]
    assert versions == ["v2", "v1"]


def test_unknown_resource_is_none() -> None:
    assert resources.find("apps", "v1", "nopes") is None
    assert resources.by_kind(GVK("apps", "v1", "Nope")) is None
