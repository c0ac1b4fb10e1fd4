"""Discovery documents, against a recording of what kube-apiserver serves."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from steersman.cluster.apiserver.non_resource.discovery import Discovery
from steersman.cluster.apiserver.resources.resource import Catalog
from steersman.cluster.codec import NotAcceptable
from steersman.cluster.schema.resources import all_resources
from steersman.http import Response
from steersman.objects.status import StatusError
from tests.recordings import CONVERSATIONS, FACTS
from tests.unit.cluster.apiserver.asking import ask

Object = dict[str, Any]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
#: What kubectl sends.
KUBECTL = ",".join([AGGREGATED.format("v2"), AGGREGATED.format("v2beta1"), "application/json"])

DISCOVERY = Discovery(Catalog(all_resources()))


def answer(path: str, **headers: str) -> Response:
    found = DISCOVERY.serve(ask(path, **headers))
    assert found is not None, path
    return found


def document(path: str, **headers: str) -> Object:
    body = answer(path, **headers).body
    assert isinstance(body, bytes)
    loaded: Object = json.loads(body)
    return loaded


def recorded() -> list[Object]:
    facts: list[Object] = json.loads((FACTS / "resources.json").read_text())
    return facts


def present(entry: Object, *names: str) -> Object:
    return {name: entry[name] for name in names if entry.get(name)}


def test_the_core_group() -> None:
    assert document("/api", host="example:6443") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "example:6443"}],
    }


def test_every_group_and_version_is_listed_in_recorded_order() -> None:
    expected: dict[str, list[str]] = {}
    for fact in recorded():
        if fact["group"] and fact["version"] not in expected.setdefault(fact["group"], []):
            expected[fact["group"]].append(fact["version"])
    listed = document("/apis")
    assert (listed["kind"], listed["apiVersion"]) == ("APIGroupList", "v1")
    shown = {group["name"]: [each["version"] for each in group["versions"]] for group in listed["groups"]}
    assert shown == expected
    assert list(shown) == list(expected)
    for group in listed["groups"]:
        assert group["preferredVersion"] == group["versions"][0]
        assert group["versions"][0]["groupVersion"] == f"{group['name']}/{expected[group['name']][0]}"
        assert document(f"/apis/{group['name']}") == {**group, "kind": "APIGroup", "apiVersion": "v1"}


def legacy(fact: Object) -> list[Object]:
    """A recorded resource as the old form shows it."""
    namespaced = fact["scope"] == "Namespaced"
    main = {
        "name": fact["resource"],
        "singularName": fact["singular"],
        "namespaced": namespaced,
        "kind": fact["kind"],
        "verbs": fact["verbs"],
        **present(fact, "shortNames", "categories"),
    }
    parts = [
        {
            "name": f"{fact['resource']}/{part['name']}",
            "singularName": "",
            "namespaced": namespaced,
            "kind": part["kind"],
            "verbs": part["verbs"],
            **present(part, "group", "version"),
        }
        for part in fact.get("subresources", [])
    ]
    return [main, *parts]


def test_every_resource_in_the_old_form() -> None:
    expected: dict[str, list[Object]] = {}
    for fact in recorded():
        root = f"/apis/{fact['group']}/{fact['version']}" if fact["group"] else f"/api/{fact['version']}"
        expected.setdefault(root, []).extend(legacy(fact))
    for root, entries in expected.items():
        shown = document(root)
        assert shown["kind"] == "APIResourceList"
        assert shown["groupVersion"] == root.removeprefix("/apis/").removeprefix("/api/")
        for entry in shown["resources"]:
            entry.pop("storageVersionHash", None)
        assert sorted(shown["resources"], key=lambda entry: str(entry["name"])) == sorted(
            entries, key=lambda entry: str(entry["name"])
        ), root


def aggregated(fact: Object) -> Object:
    """A recorded resource as the aggregated form shows it."""
    own = {"group": "", "version": ""}
    parts = [
        {
            "subresource": part["name"],
            "responseKind": {**own, **present(part, "group", "version"), "kind": part["kind"]},
            "verbs": part["verbs"],
        }
        for part in fact.get("subresources", [])
    ]
    return {
        "resource": fact["resource"],
        "responseKind": {**own, "kind": fact["kind"]},
        "scope": fact["scope"],
        "singularResource": fact["singular"],
        "verbs": fact["verbs"],
        **present(fact, "shortNames", "categories"),
        **({"subresources": parts} if parts else {}),
    }


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_every_resource_in_the_aggregated_form(version: str) -> None:
    shown = {}
    for root in ("/api", "/apis"):
        listed = document(root, accept=AGGREGATED.format(version))
        assert listed["kind"] == "APIGroupDiscoveryList"
        assert listed["apiVersion"] == f"apidiscovery.k8s.io/{version}"
        for group in listed["items"]:
            for each in group["versions"]:
                assert each["freshness"] == "Current"
                for entry in each["resources"]:
                    key = (group["metadata"].get("name", ""), each["version"], entry["resource"])
                    shown[key] = entry
    assert shown == {
        (fact["group"], fact["version"], fact["resource"]): aggregated(fact) for fact in recorded()
    }


def test_groups_are_listed_without_saying_what_they_are() -> None:
    groups = {group["name"]: group for group in document("/apis")["groups"]}
    version = {"groupVersion": "apps/v1", "version": "v1"}
    assert groups["apps"] == {"name": "apps", "versions": [version], "preferredVersion": version}
    assert document("/apis/apps")["kind"] == "APIGroup"


def test_definitions_are_hashed_by_their_first_version() -> None:
    shown = {each["name"]: each for each in document("/apis/apiextensions.k8s.io/v1")["resources"]}
    assert shown["customresourcedefinitions"]["storageVersionHash"] == "jfWCUB31mvA="


def test_recorded_answers() -> None:
    compared = 0
    for step in json.loads((CONVERSATIONS / "discovery.json").read_text())["steps"]:
        body = step["answer"].get("body")
        if not step["path"].startswith("/api") or not isinstance(body, dict) or body["kind"] == "Status":
            continue
        shown = document(step["path"])
        shown.pop("serverAddressByClientCIDRs", None)
        for entry in shown.get("resources", ()):
            for name in step.get("ignore", ()):
                entry.pop(name, None)
        assert shown == body, step["path"]
        compared += 1
    assert compared >= 5


def test_the_answer_names_its_form() -> None:
    headers = dict(answer("/apis", accept=KUBECTL).headers)
    assert headers[b"Content-Type"] == AGGREGATED.format("v2").encode()
    assert dict(answer("/apis").headers)[b"Content-Type"] == b"application/json"
    assert headers[b"Vary"] == b"Accept"


@pytest.mark.parametrize("path", ["/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1"])
def test_a_known_document_is_not_sent_again(path: str) -> None:
    for accept in ("application/json", KUBECTL):
        first = answer(path, accept=accept)
        etag = dict(first.headers)[b"ETag"]
        again = answer(path, accept=accept, if_none_match=etag.decode())
        assert (again.status, again.body) == (304, b"")
        assert dict(again.headers)[b"ETag"] == etag
        other = answer(path, accept=accept, if_none_match='"other"')
        assert (other.status, other.body) == (200, first.body)


def test_with_a_slash_the_groups_are_never_aggregated() -> None:
    assert document("/apis/", accept=KUBECTL)["kind"] == "APIGroupList"
    with pytest.raises(NotAcceptable):
        DISCOVERY.serve(ask("/apis/", accept=AGGREGATED.format("v2")))


@pytest.mark.parametrize("host", ["v2", "v2beta1"])
def test_a_hosts_name_cannot_be_taken_for_a_version(host: str) -> None:
    discovery = Discovery(Catalog(all_resources()))
    discovery.serve(ask("/api", host=host))
    found = discovery.serve(ask("/api", accept=AGGREGATED.format(host)))
    assert found is not None
    assert isinstance(found.body, bytes)
    assert json.loads(found.body)["kind"] == "APIGroupDiscoveryList"


def test_documents_follow_the_catalog() -> None:
    catalog = Catalog(each for each in all_resources() if each.group != "apps")
    discovery = Discovery(catalog)
    before = discovery.serve(ask("/apis"))
    catalog._resources = Catalog(all_resources())._resources
    catalog.generation += 1
    after = discovery.serve(ask("/apis"))
    assert before is not None
    assert after is not None
    assert before.body != after.body
    assert dict(before.headers)[b"ETag"] != dict(after.headers)[b"ETag"]


@pytest.mark.parametrize(
    "path", ["/apis/nope", "/apis/nope/v1", "/apis/apps/v2", "/api/v2", "/api/v1/pods", "/version", "/"]
)
def test_what_is_not_there(path: str) -> None:
    assert DISCOVERY.serve(ask(path)) is None


def test_forms_that_do_not_exist() -> None:
    for path in ("/apis", "/apis/apps"):
        with pytest.raises(NotAcceptable):
            DISCOVERY.serve(ask(path, accept="text/html"))
    for path in ("/api", "/apis/apps/v1"):
        with pytest.raises(StatusError, match="Available representations: application/json") as refused:
            DISCOVERY.serve(ask(path, accept="text/html"))
        assert refused.value.code == 406


@pytest.mark.parametrize("path", ["/api", "/apis", "/apis/apps", "/apis/apps/v1"])
def test_documents_are_yaml_for_those_who_ask(path: str) -> None:
    plain, written = DISCOVERY.serve(ask(path)), DISCOVERY.serve(ask(path, accept="application/yaml"))
    assert plain is not None
    assert written is not None
    assert (b"Content-Type", b"application/yaml") in written.headers
    assert isinstance(written.body, bytes)
    assert isinstance(plain.body, bytes)
    assert yaml.safe_load(written.body) == json.loads(plain.body)
