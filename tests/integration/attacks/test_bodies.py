"""Bodies made to cost more than they are worth: large, deep, wide, folded; and selectors and patches like them."""

from __future__ import annotations

import gzip
import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.manifests import config_map
from tests.support.steer import Answer, Api

from .conftest import bounded

pytestmark = pytest.mark.slow

JSON = "application/json"
YAML = "application/yaml"
MEGABYTE = 1 << 20


def send(api: Api, method: str, path: str, body: bytes | str, content_type: str, **headers: str) -> Answer:
    """The bytes as they are."""
    connection = api.connect()
    given = {"Authorization": f"Bearer {api.token}", "Content-Type": content_type, **headers}
    try:
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.headers), answer.read().decode())
    finally:
        connection.close()


def maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def in_config_map(value: str) -> str:
    """A config map, as JSON, with a value that is no text."""
    return f'{{"metadata":{{"name":"x"}},"data":{{"k":{value}}}}}'


def folded(levels: int, width: int) -> str:
    """YAML whose last line stands for width**levels texts."""
    lines = ["a0: &a0 x"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]")
    return "\n".join(lines)


WIDE = json.dumps({"metadata": {"name": "x"}, "data": {f"key-{number}": "" for number in range(100_000)}})
NESTED_ANNOTATION = json.dumps({"metadata": {"name": "x", "annotations": {"k": "v" * 300_000}}})

#: (body, content type, the codes that are a proper answer)
BODIES: dict[str, tuple[bytes | str, str, set[int]]] = {
    "deep lists": (in_config_map("[" * 100_000 + "]" * 100_000), JSON, {400}),
    "deep lists that do not end": (in_config_map("[" * 1_000_000), JSON, {400}),
    "deep maps": (in_config_map('{"a":' * 50_000 + "1" + "}" * 50_000), JSON, {400}),
    "deep unknown field": ('{"metadata":{"name":"x"},"more":' + "[" * 9_999 + "]" * 9_999 + "}", JSON, {201, 400}),
    "deep YAML flow": ("k: " + "[" * 5_000 + "]" * 5_000, YAML, {400}),
    "deep YAML block": ("\n".join(" " * level + "a:" for level in range(1_500)), YAML, {400}),
    "YAML aliases": (folded(9, 9), YAML, {400}),
    "more YAML aliases": (folded(30, 2), YAML, {400}),
    "YAML that holds itself": ("metadata: &a {name: x, labels: *a}", YAML, {400}),
    "YAML merges": ("a: &a {x: 1}\nmetadata: {name: x}\ndata:\n  <<: [*a, *a, *a]\n", YAML, {201, 400}),
    "YAML that makes objects": ("!!python/object/apply:os.system ['true']", YAML, {400}),
    "a number of many digits": (in_config_map("9" * 500_000), JSON, {400, 422}),
    "a number of many exponents": (in_config_map("1e999999999"), JSON, {400, 422}),
    "YAML number of many digits": (f"metadata: {{name: x}}\ndata: {{k: {'9' * 100_000}}}", YAML, {201}),
    "100,000 keys": (WIDE, JSON, {201, 400, 413, 422}),
    "the same key 50,000 times": ("{" + '"a":1,' * 50_000 + '"metadata":{"name":"x"}}', JSON, {201, 400}),
    "annotations over their limit": (NESTED_ANNOTATION, JSON, {422}),
    "not UTF-8": (b'{"metadata":{"name":"\xff\xfe"}}', JSON, {400, 422}),
    "half a surrogate": ('{"metadata":{"name":"x","labels":{"a":"\\ud800"}}}', JSON, {400, 422}),
    "a NUL": ('{"metadata":{"name":"a\\u0000b"}}', JSON, {422}),
    "nothing": (b"", JSON, {400}),
    "a list": ("[]", JSON, {400}),
    "null": ("null", JSON, {400, 422}),
    "garbage called protobuf": (b"k8s\0" + b"\x0a\xff" * 100_000, "application/vnd.kubernetes.protobuf", {400}),
    "deep protobuf": (b"k8s\0" + b"\x12\x80\x01" * 50_000, "application/vnd.kubernetes.protobuf", {400}),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BODIES))
def test_a_hostile_body_is_refused_in_time(api: Api, namespace: str, name: str) -> None:
    body, content_type, codes = BODIES[name]
    with bounded():
        answer = send(api, "POST", maps(namespace), body, content_type)
    assert answer.status in codes, answer.text[:500]
    assert len(answer.text) < MEGABYTE * 4
    if answer.status >= 400:
        assert answer.json["kind"] == "Status"


def test_deep_yaml_is_not_read_to_its_end(api: Api, namespace: str) -> None:
    with bounded(2.0):
        answer = send(api, "POST", maps(namespace), "[" * 1_000_000, YAML)
    assert answer.status == 400


@pytest.mark.parametrize("content_type", [JSON, YAML])
def test_a_body_that_is_too_large(api: Api, namespace: str, content_type: str) -> None:
    body = json.dumps(config_map("x", k="v" * (4 * MEGABYTE)))
    with bounded():
        answer = send(api, "POST", maps(namespace), body, content_type)
    assert answer.status == 413
    assert answer.json["reason"] == "RequestEntityTooLarge"


def test_a_small_body_that_unpacks_to_a_large_one(api: Api, namespace: str) -> None:
    packed = gzip.compress(json.dumps(config_map("x", k="0" * (50 * MEGABYTE))).encode())
    with bounded():
        answer = send(api, "POST", maps(namespace), packed, JSON, **{"Content-Encoding": "gzip"})
    assert answer.status == 413


def test_an_object_that_grows_by_patches_is_stopped(api: Api, namespace: str) -> None:
    path = f"{maps(namespace)}/x"
    api.post(maps(namespace), config_map("x"))
    for number in range(3):
        change = json.dumps({"data": {f"k{number}": "v" * (MEGABYTE // 2)}})
        answer = send(api, "PATCH", path, change, "application/merge-patch+json")
    assert answer.status == 422
    assert "Too long" in answer.json["message"]


JSON_PATCHES: dict[str, list[dict[str, Any]]] = {
    "doubling by copy": [
        {"op": "add", "path": "/data", "value": {"a": "x" * 1000}},
        *({"op": "copy", "from": "/data", "path": f"/data/c{number}"} for number in range(40)),
    ],
    "too many operations": [{"op": "add", "path": "/data/a", "value": "1"}] * 20_000,
    "a deep pointer": [{"op": "add", "path": "/a" * 50_000, "value": 1}],
    "an index of many digits": [{"op": "add", "path": "/metadata/finalizers/" + "9" * 10_000, "value": "x"}],
}


@pytest.mark.parametrize("name", list(JSON_PATCHES))
def test_a_hostile_patch_is_refused_in_time(api: Api, namespace: str, name: str) -> None:
    api.post(maps(namespace), config_map("x", a="1"))
    with bounded():
        answer = send(
            api,
            "PATCH",
            f"{maps(namespace)}/x",
            json.dumps(JSON_PATCHES[name]),
            "application/json-patch+json",
        )
    assert answer.status in (400, 413, 422), answer.text[:500]


@pytest.mark.parametrize(
    "content_type", ["merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]
)
def test_a_deep_patch_is_refused_in_time(api: Api, namespace: str, content_type: str) -> None:
    api.post(maps(namespace), config_map("x", a="1"))
    body = '{"apiVersion":"v1","kind":"ConfigMap","data":' + '{"a":' * 5_000 + "1" + "}" * 5_000 + "}"
    with bounded():
        answer = send(
            api, "PATCH", f"{maps(namespace)}/x?fieldManager=m", body, f"application/{content_type}"
        )
    assert answer.status in (400, 413, 422), answer.text[:500]


SELECTORS = {
    "many requirements": "labelSelector=" + ",".join(f"k{number}=v" for number in range(20_000)),
    "many values": "labelSelector=k+in+(" + ",".join(f"v{number}" for number in range(20_000)) + ")",
    "many parentheses": "labelSelector=" + quote("(" * 50_000),
    "a long value": "labelSelector=k%3D" + "v" * 100_000,
    "many fields": "fieldSelector=" + ",".join(["metadata.name=a"] * 20_000),
    "many escapes": "fieldSelector=metadata.name%3D" + quote("\\") * 20_000,
    "many parameters": "&".join(f"p{number}=1" for number in range(50_000)),
    "a long token": "continue=" + "A" * 200_000,
    "a large limit": "limit=" + "9" * 10_000,
    "a large version": "resourceVersion=" + "9" * 10_000,
    "a large timeout": "watch=true&timeoutSeconds=" + "9" * 5_000,
}


@pytest.mark.parametrize("name", list(SELECTORS))
def test_a_hostile_query_is_answered_in_time(api: Api, namespace: str, name: str) -> None:
    for number in range(20):
        api.post(maps(namespace), config_map(f"cm-{number}", {"k": "v"}))
    with bounded(5.0):
        answer = api.get(f"{maps(namespace)}?{SELECTORS[name]}")
    assert answer.status < 500, answer.text[:500]
