"""OpenAPI documents as they are served."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steersman.cluster.apiserver.non_resource.openapi import serve_openapi
from steersman.cluster.schema.openapi import OpenAPI
from steersman.cluster.schema.version import KUBERNETES_VERSION
from steersman.http import Response
from tests.unit.cluster.apiserver.asking import ask

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
PROTOBUF_ANSWER = b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


@pytest.fixture(scope="module")
def openapi() -> OpenAPI:
    return OpenAPI(f"v{KUBERNETES_VERSION}")


def get(openapi: OpenAPI, target: str, **headers: str) -> Response:
    found = serve_openapi(lambda: openapi, ask(target, **headers))
    assert found is not None, target
    return found


def content(answer: Response) -> tuple[bytes, bytes]:
    assert isinstance(answer.body, bytes)
    return dict(answer.headers)[b"Content-Type"], answer.body


def dangling(node: Any, known: set[str]) -> set[str]:
    """References below `node` to what is not known."""
    if isinstance(node, list):
        return set().union(*(dangling(each, known) for each in node))
    if not isinstance(node, dict):
        return set()
    own = node.get("$ref")
    missing = {own} if isinstance(own, str) and own not in known else set()
    return missing.union(*(dangling(each, known) for each in node.values()))


def test_every_document_of_the_index_is_there_and_whole(openapi: OpenAPI) -> None:
    kind, body = content(get(openapi, "/openapi/v3"))
    assert kind == b"text/plain; charset=utf-8"
    paths = json.loads(body)["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/batch/v1"} <= paths.keys()
    for path, entry in paths.items():
        kind, body = content(get(openapi, entry["serverRelativeURL"]))
        document = json.loads(body)
        assert kind == b"application/json"
        assert document["openapi"] == "3.0.0"
        assert document["paths"], path
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert not dangling(document, known), path


def test_version_2_as_json(openapi: OpenAPI) -> None:
    kind, body = content(get(openapi, "/openapi/v2"))
    document = json.loads(body)
    assert (kind, document["swagger"]) == (b"application/json", "2.0")
    assert not dangling(document, {f"#/definitions/{name}" for name in document["definitions"]})


@pytest.mark.parametrize(
    ("accept", "protobuf"),
    [
        ("", False),
        ("application/json", False),
        ("*/*", False),
        (PROTOBUF, True),
        (PROTOBUF_ANSWER.decode(), True),
        (f"{PROTOBUF},application/json", True),
        (f"{PROTOBUF};q=0.5,application/json", False),
        (f"application/json;q=0.5,{PROTOBUF}", True),
        ("text/html", False),
    ],
)
def test_version_2_is_negotiated(openapi: OpenAPI, accept: str, protobuf: bool) -> None:
    answer = get(openapi, "/openapi/v2", accept=accept)
    kind, body = content(answer)
    assert kind == (PROTOBUF_ANSWER if protobuf else b"application/json")
    # Field 1 of the protobuf document is the text "2.0".
    assert body.startswith(b"\x0a\x032.0" if protobuf else b'{"swagger":"2.0"')
    assert dict(answer.headers)[b"Vary"] == b"Accept"


@pytest.mark.parametrize("target", ["/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1?hash=X"])
def test_a_known_document_is_not_sent_again(openapi: OpenAPI, target: str) -> None:
    etag = dict(get(openapi, target).headers)[b"ETag"].decode()
    again = get(openapi, target, if_none_match=etag)
    assert (again.status, again.body) == (304, b"")
    assert get(openapi, target, if_none_match='"other"').status == 200


@pytest.mark.parametrize("path", ["/openapi", "/openapi/v1"])
def test_what_is_not_there(openapi: OpenAPI, path: str) -> None:
    assert serve_openapi(lambda: openapi, ask(path)) is None


@pytest.mark.parametrize("path", ["/openapi/v3/apis/nope/v1", "/openapi/v3/api"])
def test_a_group_without_a_document_has_an_empty_answer(openapi: OpenAPI, path: str) -> None:
    answer = get(openapi, path)
    assert (answer.status, answer.body, list(answer.headers)) == (404, b"", [])
