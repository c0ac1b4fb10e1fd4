"""What is said about patches whose result is no object of its kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.api import ApiClient, Object, with_api

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
DEPLOYMENT: Object = {
    "metadata": {"name": "d"},
    "spec": {
        "selector": {"matchLabels": {"app": "d"}},
        "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]},
        },
    },
}


def pod_spec(**fields: Any) -> Object:
    return {"spec": {"template": {"spec": fields}}}


_POD_SPEC = "map[spec:map[template:map[spec:map["


@pytest.mark.parametrize(
    ("change", "shown", "why"),
    [
        ({"spec": {"replicas": "x"}}, "map[spec:map[replicas:x]]", "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "map[spec:map[replicas:1.5]]", "cannot convert float64 to int32"),
        (
            {"metadata": {"labels": {"a": 1}}},
            "map[metadata:map[labels:map[a:1]]]",
            "cannot convert int64 to string",
        ),
        ({"metadata": {"labels": "a"}}, "map[metadata:map[labels:a]]", "cannot restore map from string"),
        ({"spec": {"paused": "yes"}}, "map[spec:map[paused:yes]]", "unrecognized type: bool"),
        ({"spec": "x"}, "map[spec:x]", "cannot restore struct from: string"),
        (
            pod_spec(containers={"a": 1}),
            f"{_POD_SPEC}containers:map[a:1]]]]]",
            "cannot restore slice from map",
        ),
        (
            pod_spec(
                **{"$setElementOrder/containers": [{"name": "c"}]},
                containers=[{"name": "c", "image": True}],
                priority=7,
            ),
            f"{_POD_SPEC}priority:7]]]]",
            "unrecognized type: string",
        ),
        (
            pod_spec(
                containers=[
                    {"name": "c", "$setElementOrder/env": [{"name": "A"}], "env": [{"name": "A", "value": 5}]}
                ]
            ),
            f"{_POD_SPEC}containers:[map[name:c]]]]]]",
            "cannot convert int64 to string",
        ),
        (
            pod_spec(initContainers=[{"name": "x", "$patch": "delete"}, {"name": "c", "image": True}]),
            f"{_POD_SPEC}initContainers:[map[$patch:delete name:x] map[image:true name:c]]]]]]",
            "unrecognized type: string",
        ),
        (
            {"spec": {"strategy": {"$retainKeys": ["type"], "type": True}}},
            "map[spec:map[strategy:map[type:true]]]",
            "unrecognized type: string",
        ),
        (
            {"spec": {"replicas": "x", "revisionHistoryLimit": None}, "status": {"a": {"b": None, "c": 1}}},
            "map[spec:map[replicas:x revisionHistoryLimit:<nil>] status:map[a:map[c:1]]]",
            "unrecognized type: int32",
        ),
        (
            {"spec": {"strategy": {"rollingUpdate": {"maxSurge": True}}}},
            "map[spec:map[strategy:map[rollingUpdate:map[maxSurge:true]]]]",
            "json: cannot unmarshal bool into Go value of type int32",
        ),
    ],
)
def test_what_a_strategic_merge_makes_must_fit(change: Object, shown: str, why: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        await client.ok("POST", DEPLOYMENTS, DEPLOYMENT)
        code, status = await client.patch(f"{DEPLOYMENTS}/d", change, "strategic-merge")
        message = f' "" is invalid: patch: Invalid value: "{shown}": {why}'
        assert (code, status["message"]) == (422, message)

    check()


@pytest.mark.parametrize(
    ("kind", "content", "findings"),
    [
        ("strategic-merge", '{"spec":{"b":1,"a":1}}', ['unknown field "spec.a"', 'unknown field "spec.b"']),
        ("strategic-merge", '{"spec":{"paused":true,"paused":false}}', ['duplicate field "spec.paused"']),
        ("merge", '{"spec":{"paused":true,"paused":false}}', ['duplicate field "spec.paused"']),
        ("merge", '{"spec":{"b":1},"a":1}', ['unknown field "a"', 'unknown field "spec.b"']),
        (
            "json",
            '[{"op":"add","path":"/spec/paused","value":1,"value":false,"extra":1}]',
            ['json patch duplicate field "[0].value"', 'json patch unknown field "[0].extra"'],
        ),
    ],
    ids=["unknown", "repeated in strategic merge", "repeated in merge", "sorted", "in operations"],
)
def test_strict_reading_of_patches(kind: str, content: str, findings: list[str]) -> None:
    headers = {"content-type": f"application/{kind}-patch+json"}

    @with_api
    async def check(client: ApiClient) -> None:
        await client.ok("POST", DEPLOYMENTS, DEPLOYMENT)
        path = f"{DEPLOYMENTS}/d?fieldValidation="
        warned = await client.raw("PATCH", f"{path}Warn", content.encode(), headers)
        expected = ["299 - " + json.dumps(text) for text in findings]
        assert (warned.status, warned.headers.get_all("warning")) == (200, expected)
        code, status = await client.ask("PATCH", f"{path}Strict", content.encode(), headers)
        assert code == 422
        assert status["message"].endswith("strict decoding error: " + ", ".join(findings))
        ignored = await client.raw("PATCH", f"{path}Ignore", content.encode(), headers)
        assert (ignored.status, ignored.headers.get_all("warning")) == (200, [])

    check()


@pytest.mark.parametrize(
    ("kind", "change", "code", "message"),
    [
        ("merge", {"metadata": {"name": "e"}}, 400, "the name of the object (e) does not match the name on"),
        (
            "merge",
            {"metadata": None},
            400,
            "the name of the object (d based on URL) was undeterminable: name",
        ),
        ("merge", {"kind": "Pod"}, 422, 'no kind "Pod" is registered for version "apps/v1" in scheme'),
        (
            "merge",
            {"kind": "ReplicaSet"},
            422,
            "converting (v1.ReplicaSet) to (apps.Deployment): unknown conv",
        ),
        ("strategic-merge", {"kind": "Pod"}, 200, ""),
        ("merge", {"apiVersion": None}, 400, "the name of the object (d based on URL) was undeterminable"),
        (
            "json",
            [{"op": "replace", "path": "/apiVersion", "value": ""}],
            400,
            "the name of the object (d based on URL) was undeterminable",
        ),
        (
            "strategic-merge",
            pod_spec(containers=[{"image": "x"}]),
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
    ],
)
def test_patches_that_are_refused(kind: str, change: Object, code: int, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        await client.ok("POST", DEPLOYMENTS, DEPLOYMENT)
        answered, status = await client.patch(f"{DEPLOYMENTS}/d", change, kind)
        assert answered == code
        assert message in status.get("message", "")

    check()


@with_api
async def test_what_has_no_namespace_loses_it(client: ApiClient) -> None:
    body = {"metadata": {"name": "other", "namespace": "x"}}
    made = await client.ok("POST", "/api/v1/namespaces", body)
    assert "namespace" not in made["metadata"]


@pytest.mark.parametrize(
    ("content_type", "code", "message"),
    [
        ("application/merge-patch+json; charset=utf-8", 200, None),
        ("APPLICATION/MERGE-PATCH+JSON", 415, "415: Unsupported Media Type"),
        ("application/json", 415, "415: Unsupported Media Type"),
        (
            "application/merge-patch+json, application/json",
            415,
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/strategic-merge-patch+json, application/apply-patch+yaml",
        ),
    ],
)
def test_a_patch_has_exactly_one_type(content_type: str, code: int, message: str | None) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        await client.ok("POST", DEPLOYMENTS, DEPLOYMENT)
        headers = {"content-type": content_type}
        found, status = await client.ask("PATCH", f"{DEPLOYMENTS}/d", b"{}", headers)
        assert (found, status.get("message")) == (code, message)

    check()


@pytest.mark.parametrize(
    ("kind", "patch", "message"),
    [
        ("json", b"{}", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ("json", b"[5]", "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
        ("merge", b"1", "Invalid JSON Patch"),
    ],
)
def test_another_form_without_strict_reading(kind: str, patch: bytes, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        await client.ok("POST", DEPLOYMENTS, DEPLOYMENT)
        code, status = await client.patch(f"{DEPLOYMENTS}/d?fieldValidation=Ignore", patch, kind)
        assert (code, status["message"]) == (400, message)

    check()


@with_api
async def test_a_list_takes_the_place_of_what_it_patches(client: ApiClient) -> None:
    await client.ok("POST", DEPLOYMENTS, DEPLOYMENT)
    code, status = await client.patch(f"{DEPLOYMENTS}/d?fieldValidation=Ignore", b"[]", "merge")
    said = 'Invalid value: "[]": couldn\'t get version/kind; json parse error: json: cannot unmarshal array'
    assert (code, status["message"].startswith(f' "" is invalid: patch: {said}')) == (422, True)


@with_api
async def test_the_first_of_several_faults_is_the_first_by_name(client: ApiClient) -> None:
    await client.ok("POST", DEPLOYMENTS, DEPLOYMENT)
    change = pod_spec(volumes="x", initContainers="x")
    code, status = await client.patch(f"{DEPLOYMENTS}/d", change, "merge")
    assert (
        code,
        status["message"].endswith("PodSpec.spec.template.spec.initContainers of type []v1.Container"),
    ) == (
        422,
        True,
    )


@with_api
async def test_an_error_shows_the_patch_without_the_directives_that_were_obeyed(client: ApiClient) -> None:
    await client.ok("POST", DEPLOYMENTS, DEPLOYMENT)
    change = {**pod_spec(dnsPolicy="Default"), "$retainKeys": ["spec", "nope", "metadata"], "nope": 1}
    code, status = await client.patch(f"{DEPLOYMENTS}/d?fieldValidation=Strict", change, "strategic-merge")
    assert (code, status["details"]["causes"][0]["message"]) == (
        422,
        f'Invalid value: "map[nope:1 {_POD_SPEC[4:]}dnsPolicy:Default]]]]": strict decoding error: '
        'unknown field "nope"',
    )


@pytest.mark.parametrize(
    ("method", "when"), [("PUT", ""), ("PATCH", " after mutating admission happens")], ids=["put", "patch"]
)
def test_owners_named_twice(method: str, when: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        await client.ok("POST", DEPLOYMENTS, DEPLOYMENT)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
        body = {**DEPLOYMENT, "metadata": {"name": "d", "ownerReferences": [owner, owner]}}
        media_type = "application/json" if method == "PUT" else "application/merge-patch+json"
        content = json.dumps(body).encode()
        answer = await client.raw(method, f"{DEPLOYMENTS}/d", content, {"content-type": media_type})
        [warning] = answer.headers.get_all("warning")
        assert warning.startswith(f'299 - ".metadata.ownerReferences contains duplicate entries{when}; API')

    check()
