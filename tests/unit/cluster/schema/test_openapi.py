"""OpenAPI documents hold together and say what kubectl looks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from steersman.cluster.schema.openapi import Extension, OpenAPI
from steersman.cluster.schema.resources import ResourceType, all_resources
from steersman.cluster.schema.version import KUBERNETES_VERSION

GROUPS = sorted({("apis/" if each.group else "api/") + each.api_version for each in all_resources()})


@pytest.fixture(scope="module")
def openapi() -> OpenAPI:
    return OpenAPI(f"v{KUBERNETES_VERSION}")


def document(openapi: OpenAPI, path: str) -> dict[str, Any]:
    found = openapi.group_version(path)
    assert found is not None
    loaded: dict[str, Any] = json.loads(found.body)
    return loaded


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_index_names_every_group_version(openapi: OpenAPI) -> None:
    paths = json.loads(openapi.index().body)["paths"]
    assert sorted(paths) == GROUPS
    url = paths["apis/apps/v1"]["serverRelativeURL"]
    assert url.startswith("/openapi/v3/apis/apps/v1?hash=")
    assert len({each["serverRelativeURL"].partition("hash=")[2] for each in paths.values()}) == len(paths)


@pytest.mark.parametrize("path", GROUPS)
def test_documents_have_no_dangling_references(openapi: OpenAPI, path: str) -> None:
    found = document(openapi, path)
    schemas = found["components"]["schemas"]
    for reference in references(found):
        assert reference.removeprefix("#/components/schemas/") in schemas, reference


def test_unknown_documents_are_none(openapi: OpenAPI) -> None:
    assert openapi.group_version("apis/nope/v1") is None


def test_kubectl_finds_kind_and_query_parameters(openapi: OpenAPI) -> None:
    paths = document(openapi, "apis/apps/v1")["paths"]
    item = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    patch = item["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
    }
    assert patch["x-kubernetes-action"] == "patch"
    assert {"dryRun", "fieldValidation", "fieldManager", "force"} <= {
        each["name"] for each in patch["parameters"]
    }
    assert "application/apply-patch+yaml" in patch["requestBody"]["content"]
    everywhere = paths["/apis/apps/v1/deployments"]["get"]
    assert everywhere["x-kubernetes-action"] == "list"
    assert everywhere["operationId"] == "listAppsV1DeploymentForAllNamespaces"
    scale = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]["get"]
    assert scale["x-kubernetes-group-version-kind"]["group"] == "autoscaling"
    assert scale["operationId"] == "readAppsV1NamespacedDeploymentScale"


def test_operation_ids_are_unique(openapi: OpenAPI) -> None:
    seen: set[str] = set()
    for path in GROUPS:
        for item in document(openapi, path)["paths"].values():
            for method in ("get", "put", "post", "delete", "patch"):
                if method in item:
                    assert item[method]["operationId"] not in seen
                    seen.add(item[method]["operationId"])


def test_schemas_have_prose_and_marks(openapi: OpenAPI) -> None:
    schemas = document(openapi, "apis/apps/v1")["components"]["schemas"]
    spec = schemas["io.k8s.api.apps.v1.DeploymentSpec"]
    assert "description" in spec["properties"]["replicas"]
    assert spec["required"] == ["selector", "template"]
    template = spec["properties"]["template"]
    assert template["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec"}]
    assert template["description"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["items"] == {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}
    assert schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] == {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    }


def test_version_2_is_whole(openapi: OpenAPI) -> None:
    found = json.loads(openapi.v2_json().body)
    for reference in references(found):
        assert reference.removeprefix("#/definitions/") in found["definitions"], reference
    post = found["paths"]["/api/v1/namespaces/{namespace}/pods"]["post"]
    assert post["parameters"][0]["in"] == "body"
    assert post["parameters"][0]["schema"] == {"$ref": "#/definitions/io.k8s.api.core.v1.Pod"}


def test_documents_are_built_once_and_hashed(openapi: OpenAPI) -> None:
    assert openapi.v2_json() is openapi.v2_json()
    assert openapi.v2_json().digest != openapi.v2_protobuf().digest


def test_custom_resources_join_in() -> None:
    extensions: list[Extension] = []
    openapi = OpenAPI(f"v{KUBERNETES_VERSION}", lambda: extensions)
    before = json.loads(openapi.index().body)["paths"]
    assert openapi.group_version("apis/example.com/v1") is None
    name = "com.example.v1.Web"
    extensions.append(
        Extension(
            [ResourceType("example.com", "v1", "webs", "Web", namespaced=True)],
            lambda openapi: {
                name: {
                    "type": "object",
                    "properties": {"metadata": {"$ref": "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}},
                    "x-kubernetes-group-version-kind": [
                        {"group": "example.com", "version": "v1", "kind": "Web"}
                    ],
                }
            },
        )
    )
    openapi.changed()
    after = json.loads(openapi.index().body)["paths"]
    assert set(after) - set(before) == {"apis/example.com/v1"}
    assert {path: after[path] for path in before} == before
    found = document(openapi, "apis/example.com/v1")
    assert name in found["components"]["schemas"]
    assert "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" in found["components"]["schemas"]
    assert "/apis/example.com/v1/namespaces/{namespace}/webs/{name}" in found["paths"]
    assert name in json.loads(openapi.v2_json().body)["definitions"]


# The protobuf form, read by a reader that knows only the wire format.


def read(data: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        value: Any = varint()
        if tag & 7 == 2:
            start, at = at, at + value
            assert at <= len(data)
            value = data[start:at]
        found.setdefault(tag >> 3, []).append(value)
    return found


def pairs(entries: list[bytes]) -> dict[str, dict[int, list[Any]]]:
    named = [read(entry) for entry in entries]
    return {entry[1][0].decode(): read(entry[2][0]) for entry in named}


def test_protobuf_says_what_json_says(openapi: OpenAPI) -> None:
    expected = json.loads(openapi.v2_json().body)
    found = read(openapi.v2_protobuf().body)
    assert found[1] == [b"2.0"]
    assert read(found[2][0]) == {1: [b"Kubernetes"], 2: [f"v{KUBERNETES_VERSION}".encode()]}
    definitions = pairs(read(found[9][0])[1])
    assert list(definitions) == list(expected["definitions"])
    pod_spec = pairs(read(definitions["io.k8s.api.core.v1.PodSpec"][25][0])[1])
    containers = pod_spec["containers"]
    assert read(containers[22][0]) == {1: [b"array"]}
    assert read(read(containers[23][0])[1][0]) == {1: [b"#/definitions/io.k8s.api.core.v1.Container"]}
    extensions = pairs(containers[31])
    assert extensions["x-kubernetes-patch-merge-key"][2] == [b'"name"\n']
    paths = pairs(read(found[8][0])[2])
    assert list(paths) == list(expected["paths"])
    patch = read(paths["/api/v1/namespaces/{namespace}/pods/{name}"][8][0])
    action = pairs(patch[13])["x-kubernetes-group-version-kind"][2][0]
    assert json.loads(action) == {"group": "", "version": "v1", "kind": "Pod"}
    parameters = [read(read(each)[1][0]) for each in patch[8]]
    queries = [read(read(each[2][0])[3][0]) for each in parameters if 2 in each]
    assert b"dryRun" in [query[4][0] for query in queries]
