"""What Helm and controller-runtime send, as raw requests: apply, WatchList, leases, protobuf, metadata only."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.manifests import config_map, deployment
from tests.support.steer import Steer

pytestmark = pytest.mark.slow

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = METADATA.replace("Metadata;", "MetadataList;")


@dataclass(frozen=True)
class Requests:
    """Requests as those programs write them, to one namespace."""

    server: Steer
    namespace: str

    @contextmanager
    def sent(
        self, method: str, path: str, body: bytes = b"", content_type: str = JSON, accept: str = JSON
    ) -> Iterator[http.client.HTTPResponse]:
        api = self.server.api
        headers = {"Authorization": f"Bearer {api.token}", "Accept": accept, "Content-Type": content_type}
        connection = api.connect()
        try:
            connection.request(method, path.replace("NS", self.namespace), body or None, headers)
            yield connection.getresponse()
        finally:
            connection.close()

    def ask(
        self, method: str, path: str, body: Any = None, content_type: str = JSON, accept: str = JSON
    ) -> tuple[int, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        with self.sent(method, path, data, content_type, accept) as answer:
            return answer.status, json.loads(answer.read())

    def apply(self, path: str, body: Any, manager: str, force: bool = False) -> tuple[int, Any]:
        query = f"fieldManager={manager}" + ("&force=true" if force else "")
        return self.ask("PATCH", f"{path}?{query}", body, "application/apply-patch+yaml")


@pytest.fixture
def requests(server: Steer, namespace: str) -> Requests:
    return Requests(server, namespace)


def next_event(stream: http.client.HTTPResponse) -> Any:
    return json.loads(stream.readline())


MAPS = "/api/v1/namespaces/NS/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/NS/deployments"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/NS/leases"


def test_helm_applies_with_force_and_upgrades(requests: Requests) -> None:
    path = f"{DEPLOYMENTS}/web"
    code, made = requests.apply(path, deployment("web", 1), "helm", force=True)
    assert (code, made["spec"]["replicas"]) == (201, 1)
    requests.ask("PATCH", path, {"spec": {"replicas": 5}}, "application/merge-patch+json")
    code, refusal = requests.apply(path, deployment("web", 2), "helm")
    assert (code, refusal["reason"]) == (409, "Conflict")
    [cause] = refusal["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldManagerConflict", ".spec.replicas")
    code, upgraded = requests.apply(path, deployment("web", 2), "helm", force=True)
    assert (code, upgraded["spec"]["replicas"], upgraded["metadata"]["generation"]) == (200, 2, 3)
    code, same = requests.apply(path, deployment("web", 2), "helm", force=True)
    assert same["metadata"]["resourceVersion"] == upgraded["metadata"]["resourceVersion"]


def test_apply_needs_a_manager(requests: Requests) -> None:
    code, refusal = requests.ask("PATCH", f"{MAPS}/x", config_map("x"), "application/apply-patch+yaml")
    assert code == 422
    assert refusal["message"] == (
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
    )


def test_helm_keeps_its_releases_in_secrets(requests: Requests) -> None:
    secrets = "/api/v1/namespaces/NS/secrets"
    for number in (1, 2):
        labels = {"owner": "helm", "name": "shop", "status": "deployed", "version": str(number)}
        metadata = {"name": f"sh.helm.release.v1.shop.v{number}", "labels": labels}
        secret = {"metadata": metadata, "type": "helm.sh/release.v1", "data": {"release": "SDRzSQ=="}}
        assert requests.ask("POST", secrets, secret)[0] == 201
    metadata["labels"] = {**labels, "status": "superseded"}
    path = f"{secrets}/{metadata['name']}"
    current = requests.ask("GET", path)[1]
    current["metadata"]["labels"]["status"] = "superseded"
    assert requests.ask("PUT", path, current)[0] == 200
    _, found = requests.ask("GET", f"{secrets}?labelSelector=name%3Dshop%2Cowner%3Dhelm%2Cstatus%3Ddeployed")
    assert [item["metadata"]["name"] for item in found["items"]] == ["sh.helm.release.v1.shop.v1"]


def test_an_informer_starts_with_a_watch_list_and_resumes(requests: Requests) -> None:
    for name in ("a", "b"):
        requests.ask("POST", MAPS, config_map(name))
    watch = f"{MAPS}?watch=true&allowWatchBookmarks=true"
    first = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=30"
    with requests.sent("GET", watch + first) as stream:
        assert stream.status == 200
        initial = [next_event(stream), next_event(stream)]
        assert [(event["type"], event["object"]["metadata"]["name"]) for event in initial] == [
            ("ADDED", "a"),
            ("ADDED", "b"),
        ]
        bookmark = next_event(stream)
        assert bookmark["type"] == "BOOKMARK"
        assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        requests.ask("DELETE", f"{MAPS}/a")
        assert next_event(stream)["type"] == "DELETED"
    requests.ask("POST", MAPS, config_map("c"))
    version = bookmark["object"]["metadata"]["resourceVersion"]
    with requests.sent("GET", f"{watch}&resourceVersion={version}&timeoutSeconds=30") as stream:
        resumed = [next_event(stream), next_event(stream)]
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in resumed] == [
        ("DELETED", "a"),
        ("ADDED", "c"),
    ]


def test_watch_list_needs_its_match(requests: Requests) -> None:
    code, refusal = requests.ask("GET", f"{MAPS}?watch=true&sendInitialEvents=true")
    assert (code, refusal["reason"]) == (422, "Invalid")


def test_a_lease_is_renewed_and_lost_by_optimistic_locking(requests: Requests) -> None:
    def spec(holder: str, renewed: int) -> dict[str, Any]:
        time = f"2026-01-01T00:00:{renewed:02}.000000Z"
        return {"holderIdentity": holder, "leaseDurationSeconds": 15, "acquireTime": time, "renewTime": time}

    code, lease = requests.ask("POST", LEASES, {"metadata": {"name": "leader"}, "spec": spec("one", 0)})
    assert code == 201
    stale = lease
    for second in range(1, 6):
        lease = {**lease, "spec": spec("one", second)}
        code, lease = requests.ask("PUT", f"{LEASES}/leader", lease)
        assert (code, lease["spec"]["renewTime"]) == (200, f"2026-01-01T00:00:0{second}.000000Z")
    code, refusal = requests.ask("PUT", f"{LEASES}/leader", {**stale, "spec": spec("two", 9)})
    assert (code, refusal["reason"]) == (409, "Conflict")
    assert refusal["message"] == (
        'Operation cannot be fulfilled on leases.coordination.k8s.io "leader": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert requests.ask("GET", f"{LEASES}/leader")[1]["spec"]["holderIdentity"] == "one"


def field(number: int, content: bytes | str) -> bytes:
    """A length-delimited protobuf field; short ones are enough here."""
    data = content.encode() if isinstance(content, str) else content
    assert len(data) < 128
    return bytes([number << 3 | 2, len(data)]) + data


def test_protobuf_bodies(requests: Requests) -> None:
    entry = field(1, "key") + field(2, "value")
    body = field(1, field(1, "proto")) + field(2, entry)
    unknown = field(1, field(1, "v1") + field(2, "ConfigMap")) + field(2, body)
    with requests.sent("POST", MAPS, b"k8s\0" + unknown, PROTOBUF, f"{PROTOBUF},{JSON}") as answer:
        assert answer.status == 201, answer.read()
    assert requests.ask("GET", f"{MAPS}/proto")[1]["data"] == {"key": "value"}
    # Answers are in the other type that such clients accept.
    with requests.sent("GET", f"{MAPS}/proto", accept=f"{PROTOBUF},{JSON}") as answer:
        assert answer.headers["Content-Type"] == JSON


def test_protobuf_that_is_none_is_refused(requests: Requests) -> None:
    with requests.sent("POST", MAPS, b"k8s\0\xff\xff\xff\xff\xff", PROTOBUF) as answer:
        assert answer.status == 400


def test_metadata_only_informers(requests: Requests) -> None:
    requests.ask("POST", MAPS, config_map("a", {"x": "y"}, key="value"))
    code, listed = requests.ask("GET", MAPS, accept=f"{METADATA_LIST},{JSON}")
    assert (code, listed["kind"], listed["apiVersion"]) == (
        200,
        "PartialObjectMetadataList",
        "meta.k8s.io/v1",
    )
    [item] = listed["items"]
    assert item["metadata"]["labels"] == {"x": "y"}
    assert "data" not in item
    code, one = requests.ask("GET", f"{MAPS}/a", accept=METADATA)
    assert (one["kind"], one["metadata"]["uid"], "data" in one) == (
        "PartialObjectMetadata",
        item["metadata"]["uid"],
        False,
    )
    version = listed["metadata"]["resourceVersion"]
    requests.ask("POST", MAPS, config_map("b", key="value"))
    with requests.sent("GET", f"{MAPS}?watch=true&resourceVersion={version}", accept=METADATA) as stream:
        event = next_event(stream)
    assert (event["type"], event["object"]["kind"]) == ("ADDED", "PartialObjectMetadata")
    assert "data" not in event["object"]


@pytest.mark.parametrize("kind", ["merge-patch", "strategic-merge-patch", "json-patch", "apply-patch"])
def test_controllers_patch_status(requests: Requests, kind: str) -> None:
    requests.ask("POST", DEPLOYMENTS, deployment("web", 2))
    path = f"{DEPLOYMENTS}/web/status"
    status = {"replicas": 2, "observedGeneration": 1}
    if kind == "apply-patch":
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "status": status}
        code, patched = requests.apply(path, body, "controller", force=True)
    elif kind == "json-patch":
        operations = [
            {"op": "add", "path": f"/status/{name}", "value": value} for name, value in status.items()
        ]
        code, patched = requests.ask("PATCH", path, operations, "application/json-patch+json")
    else:
        body = {"spec": {"replicas": 9}, "status": status}
        code, patched = requests.ask("PATCH", path, body, f"application/{kind}+json")
    assert code == 200, patched
    assert patched["status"] == status
    assert (patched["spec"]["replicas"], patched["metadata"]["generation"]) == (2, 1)
    assert "status" in [entry.get("subresource") for entry in patched["metadata"]["managedFields"]]


def test_a_patch_with_a_stale_version_conflicts(requests: Requests) -> None:
    """controller-runtime's MergeFromWithOptimisticLock."""
    _, made = requests.ask("POST", MAPS, config_map("a", key="1"))
    version = made["metadata"]["resourceVersion"]
    change = {"metadata": {"resourceVersion": version}, "data": {"key": "2"}}
    assert requests.ask("PATCH", f"{MAPS}/a", change, "application/merge-patch+json")[0] == 200
    code, refusal = requests.ask("PATCH", f"{MAPS}/a", change, "application/merge-patch+json")
    assert (code, refusal["reason"]) == (409, "Conflict")


def test_deletion_with_preconditions_and_finalizers(requests: Requests) -> None:
    obj = config_map("a")
    obj["metadata"]["finalizers"] = ["example.com/hold"]
    _, made = requests.ask("POST", MAPS, obj)
    code, refusal = requests.ask("DELETE", f"{MAPS}/a", {"preconditions": {"uid": "other"}})
    assert (code, refusal["reason"]) == (409, "Conflict")
    options = {"preconditions": {"uid": made["metadata"]["uid"]}, "propagationPolicy": "Background"}
    code, held = requests.ask("DELETE", f"{MAPS}/a", options)
    assert (code, bool(held["metadata"]["deletionTimestamp"])) == (200, True)
    code, _ = requests.ask(
        "PATCH", f"{MAPS}/a", {"metadata": {"finalizers": None}}, "application/merge-patch+json"
    )
    assert code == 200
    assert requests.ask("GET", f"{MAPS}/a")[0] == 404
