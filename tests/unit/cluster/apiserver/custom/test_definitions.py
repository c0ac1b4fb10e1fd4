"""The life of custom resource definitions, seen through the API: names, versions, schemas, deletion."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import orjson
import pytest

from tests.support.api import PATIENCE_S, ApiClient, with_api

Object = dict[str, Any]

GROUP = "shop.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def version(name: str, *, storage: bool = False, served: bool = True, **spec: Object) -> Object:
    properties = spec or {"size": {"type": "integer"}}
    schema = {
        "type": "object",
        "description": f"A thing of {name}.",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    return {"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": schema}}


def definition(*versions: Object, plural: str = "things", kind: str = "Thing", **names: Any) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": list(versions or (version("v1", storage=True),)),
        },
    }


def things(name: str = "", api_version: str = "v1") -> str:
    base = f"/apis/{GROUP}/{api_version}/namespaces/default/things"
    return f"{base}/{name}" if name else base


def thing(name: str, api_version: str = "v1", *finalizers: str, **spec: Any) -> Object:
    metadata: Object = {"name": name}
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return {"apiVersion": f"{GROUP}/{api_version}", "kind": "Thing", "metadata": metadata, "spec": spec}


def condition(obj: Object, kind: str) -> Object:
    found = [each for each in obj.get("status", {}).get("conditions") or () if each["type"] == kind]
    return found[0] if found else {}


async def versions_served(client: ApiClient) -> list[str]:
    """As discovery lists them, the preferred one first."""
    group = next(each for each in (await client.ok("GET", "/apis"))["groups"] if each["name"] == GROUP)
    versions = [each["version"] for each in group["versions"]]
    assert group["preferredVersion"]["version"] == versions[0]
    return versions


async def until(client: ApiClient, plural: str, kind: str, status: str = "True") -> Object:
    """The definition once it has a condition, which must not take long."""
    name = f"{plural}.{GROUP}"
    async with (
        asyncio.timeout(PATIENCE_S),
        client.watch(f"{DEFINITIONS}?watch=true&fieldSelector=metadata.name%3D{name}") as events,
    ):
        while True:
            obj: Object = (await events.next())["object"]
            if condition(obj, kind).get("status") == status:
                return obj


async def define(client: ApiClient, *versions: Object) -> Object:
    await client.ok("POST", DEFINITIONS, definition(*versions))
    return await until(client, "things", "Established")


async def redefine(client: ApiClient, *versions: Object) -> None:
    """Change the versions, and wait until the new ones are served: watches of before end then."""
    current = await client.ok("GET", f"{DEFINITIONS}/things.{GROUP}")
    async with asyncio.timeout(PATIENCE_S), client.watch(f"{things()}?watch=true") as events:
        current["spec"]["versions"] = list(versions)
        await client.ok("PUT", f"{DEFINITIONS}/things.{GROUP}", current)
        await events.rest()


@with_api
async def test_an_established_definition_can_be_used_at_once(client: ApiClient) -> None:
    made = await define(client)
    assert condition(made, "NamesAccepted")["reason"] == "NoConflicts"
    assert condition(made, "Established")["reason"] == "InitialNamesAccepted"
    assert made["status"]["storedVersions"] == ["v1"]
    assert made["status"]["acceptedNames"] == {
        "plural": "things",
        "singular": "thing",
        "kind": "Thing",
        "listKind": "ThingList",
    }
    [status] = [entry for entry in made["metadata"]["managedFields"] if entry.get("subresource")]
    assert (status["manager"], status["operation"], status["subresource"]) == (
        "kube-apiserver",
        "Update",
        "status",
    )
    named = {"f:kind": {}, "f:listKind": {}, "f:plural": {}, "f:singular": {}}
    assert status["fieldsV1"]["f:status"]["f:acceptedNames"] == named
    conditions = status["fieldsV1"]["f:status"]["f:conditions"]
    assert set(conditions) == {'k:{"type":"Established"}', 'k:{"type":"NamesAccepted"}'}
    created = await client.ok("POST", things(), thing("a", size=1))
    assert created["spec"] == {"size": 1}
    assert set(created) == {"apiVersion", "kind", "metadata", "spec"}


@with_api
async def test_a_name_in_use_is_given_when_it_is_free_again(client: ApiClient) -> None:
    await client.ok("POST", DEFINITIONS, definition(shortNames=["th"]))
    await until(client, "things", "Established")
    await client.ok("POST", DEFINITIONS, definition(plural="others", kind="Thing", shortNames=["th"]))
    refused = await until(client, "others", "NamesAccepted", "False")
    assert condition(refused, "NamesAccepted")["message"] == '"ThingList" is already in use'
    assert condition(refused, "Established")["status"] == "False"
    code, _ = await client.ask("GET", f"/apis/{GROUP}/v1/others")
    assert code == 404
    await client.ok("DELETE", f"{DEFINITIONS}/things.{GROUP}")
    await until(client, "others", "Established")
    assert (await client.ok("GET", f"/apis/{GROUP}/v1/others"))["items"] == []


@with_api
async def test_versions_without_conversion_differ_in_name_only(client: ApiClient) -> None:
    await define(client, version("v1", storage=True), version("v2"))
    await client.ok("POST", things(api_version="v2"), thing("a", "v2", size=1))
    shown = [await client.ok("GET", things("a", each)) for each in ("v1", "v2")]
    assert [obj.pop("apiVersion") for obj in shown] == [f"{GROUP}/v1", f"{GROUP}/v2"]
    assert shown[0] == shown[1]
    listed = await client.ok("GET", things(api_version="v2"))
    assert [item["apiVersion"] for item in listed["items"]] == [f"{GROUP}/v2"]
    async with client.watch(f"{things(api_version='v2')}?watch=true") as events:
        seen = (await events.next())["object"]
    assert seen == listed["items"][0]
    assert await versions_served(client) == ["v2", "v1"]


@with_api
async def test_discovery_prefers_stable_and_new_versions(client: ApiClient) -> None:
    names = ("v1alpha1", "foo", "v1", "v11beta2", "v10", "v3beta1")
    await define(client, *(version(name, storage=name == "v1") for name in names))
    other = definition(version("v2", storage=True), plural="others", kind="Other")
    await client.ok("POST", DEFINITIONS, other)
    await until(client, "others", "Established")
    expected = ["v10", "v2", "v1", "v11beta2", "v3beta1", "v1alpha1", "foo"]
    assert await versions_served(client) == expected


@with_api
async def test_stored_versions_grow_and_guard_what_is_stored(client: ApiClient) -> None:
    await define(client, version("v1", storage=True), version("v2"))
    old = await client.ok("POST", things(), thing("a", size=1))
    await redefine(client, version("v1"), version("v2", storage=True))
    current = await client.ok("GET", f"{DEFINITIONS}/things.{GROUP}")
    assert current["status"]["storedVersions"] == ["v1", "v2"]
    current["spec"]["versions"] = [version("v2", storage=True)]
    code, status = await client.ask("PUT", f"{DEFINITIONS}/things.{GROUP}", current)
    assert code == 422
    assert "status.storedVersions[0]" in status["message"]
    # Written unchanged, an object moves to the new version; after that v1 may be taken out.
    moved = await client.ok("PUT", things("a"), old)
    assert moved["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]
    still = await client.ok("PUT", things("a"), moved)
    assert still["metadata"]["resourceVersion"] == moved["metadata"]["resourceVersion"]
    code, _ = await client.patch(
        f"{DEFINITIONS}/things.{GROUP}/status", {"status": {"storedVersions": ["v2"]}}
    )
    assert code == 200
    await redefine(client, version("v2", storage=True))
    assert (await client.ok("GET", things("a", "v2")))["spec"] == {"size": 1}


@with_api
async def test_new_defaults_are_seen_in_old_objects(client: ApiClient) -> None:
    await define(client)
    await client.ok("POST", things(), thing("a", size=1))
    color = {"type": "string", "default": "red"}
    await redefine(client, version("v1", storage=True, size={"type": "integer"}, color=color))
    expected = {"size": 1, "color": "red"}
    assert (await client.ok("GET", things("a")))["spec"] == expected
    assert (await client.ok("GET", things()))["items"][0]["spec"] == expected
    async with client.watch(f"{things()}?watch=true") as events:
        assert (await events.next())["object"]["spec"] == expected


@with_api
async def test_a_version_that_is_not_served_leaves_discovery_and_openapi(client: ApiClient) -> None:
    await define(client, version("v1", storage=True), version("v2"))
    assert f"apis/{GROUP}/v2" in (await client.ok("GET", "/openapi/v3"))["paths"]
    await redefine(client, version("v1", storage=True), version("v2", served=False))
    code, _ = await client.ask("GET", things(api_version="v2"))
    assert code == 404
    assert await versions_served(client) == ["v1"]
    paths = (await client.ok("GET", "/openapi/v3"))["paths"]
    assert f"apis/{GROUP}/v1" in paths
    assert f"apis/{GROUP}/v2" not in paths


@with_api
async def test_openapi_explains_the_schema(client: ApiClient) -> None:
    await define(client, version("v1", storage=True, size={"type": "integer", "description": "How big."}))
    document = await client.ok("GET", f"/openapi/v3/apis/{GROUP}/v1")
    [schema] = [
        each
        for each in document["components"]["schemas"].values()
        if {"group": GROUP, "kind": "Thing", "version": "v1"}
        in each.get("x-kubernetes-group-version-kind", ())
    ]
    assert schema["description"] == "A thing of v1."
    size = schema["properties"]["spec"]["properties"]["size"]
    assert (size["type"], size["description"]) == ("integer", "How big.")


@with_api
async def test_a_deleted_definition_waits_for_objects_with_finalizers(client: ApiClient) -> None:
    await define(client)
    await client.ok("POST", things(), thing("free", size=1))
    await client.ok("POST", things(), thing("held", "v1", "example.com/hold", size=2))
    going = await client.ok("DELETE", f"{DEFINITIONS}/things.{GROUP}")
    assert condition(going, "Terminating")["reason"] == "InstanceDeletionPending"
    async with client.watch(f"{things()}?watch=true") as events:
        while True:
            event = await events.next()
            if event["object"]["metadata"]["name"] == "held" and (
                "deletionTimestamp" in event["object"]["metadata"]
            ):
                break
    left = (await client.ok("GET", things()))["items"]
    assert [item["metadata"]["name"] for item in left] == ["held"]
    assert left[0]["spec"] == {"size": 2}
    assert left[0]["metadata"]["generation"] == 2
    code, status = await client.ask("POST", things(), thing("late", size=3))
    assert (code, status["message"]) == (
        403,
        f'things.{GROUP} "late" is forbidden: create not allowed while custom resource definition is terminating',
    )
    going = await client.ok("GET", f"{DEFINITIONS}/things.{GROUP}")
    assert condition(going, "Terminating")["reason"] == "InstanceDeletionInProgress"
    async with client.watch(
        f"{DEFINITIONS}?watch=true&fieldSelector=metadata.name%3Dthings.{GROUP}"
    ) as events:
        await client.patch(things("held"), {"metadata": {"finalizers": None}})
        while (await events.next())["type"] != "DELETED":
            pass
    code, _ = await client.ask("GET", things())
    assert code == 404


@with_api
async def test_objects_go_with_a_definition_that_is_not_served(client: ApiClient) -> None:
    await define(client)
    await client.ok("POST", things(), thing("a", size=1))
    await redefine(client, version("v1", storage=True, served=False))
    async with client.watch(f"{DEFINITIONS}?watch=true") as events:
        await client.ok("DELETE", f"{DEFINITIONS}/things.{GROUP}")
        while (await events.next())["type"] != "DELETED":
            pass
    await define(client)
    assert (await client.ok("GET", things()))["items"] == []


@with_api
async def test_formats_without_effect_are_warned_of(client: ApiClient) -> None:
    odd = definition(version("v1", storage=True, size={"type": "string", "format": "odd"}))
    answer = await client.raw("POST", DEFINITIONS, odd)
    assert answer.status == 201
    assert answer.headers.get("warning") == '299 - "unrecognized format \\"odd\\""'


@pytest.mark.parametrize(
    ("finalizer", "warning"),
    [
        pytest.param("example.com/hold", None, id="qualified"),
        pytest.param(
            "hold",
            'metadata.finalizers: \\"hold\\": prefer a domain-qualified finalizer name to avoid accidental '
            "conflicts with other finalizer writers",
            id="bare",
        ),
    ],
)
def test_bare_finalizers_are_warned_of(finalizer: str, warning: str | None) -> None:
    @with_api
    async def run(client: ApiClient) -> None:
        await define(client)
        expected = None if warning is None else f'299 - "{warning}"'
        answer = await client.raw("POST", things(), thing("a", "v1", finalizer, size=1))
        assert answer.status == 201
        assert answer.headers.get("warning") == expected
        await client.ok("POST", things(), thing("b", size=1))
        answer = await client.raw(
            "PATCH",
            things("b"),
            {"metadata": {"finalizers": [finalizer]}},
            {"content-type": "application/merge-patch+json"},
        )
        assert (answer.status, answer.headers.get("warning")) == (200, expected)
        # It is said once, not at every write after.
        answer = await client.raw(
            "PATCH", things("b"), {"spec": {"size": 2}}, {"content-type": "application/merge-patch+json"}
        )
        assert (answer.status, answer.headers.get("warning")) == (200, None)

    run()


@with_api
async def test_what_breaks_a_new_rule_and_did_not_change_is_warned_of(client: ApiClient) -> None:
    size = {"type": "integer"}
    await define(client, version("v1", storage=True, size=size, note={"type": "string"}))
    await client.ok("POST", things(), thing("a", size=1))
    rule = {"rule": "self > 5", "message": "too small"}
    stricter = {**size, "x-kubernetes-validations": [rule]}
    await redefine(client, version("v1", storage=True, size=stricter, note={"type": "string"}))
    merge = {"content-type": "application/merge-patch+json"}
    answer = await client.raw("PATCH", things("a"), {"spec": {"note": "x"}}, merge)
    assert answer.status == 200
    assert answer.headers.get("warning") == '299 - "spec.size: Invalid value: 1: too small"'
    code, status = await client.patch(things("a"), {"spec": {"size": 2}})
    assert (code, status["message"].endswith("spec.size: Invalid value: 2: too small")) == (422, True)


@with_api
async def test_a_definition_is_not_established_with_an_invalid_ca_bundle(client: ApiClient) -> None:
    bad = definition()
    webhook = {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://localhost:1/", "caBundle": base64.b64encode(b"none").decode()},
    }
    bad["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    await client.ok("POST", DEFINITIONS, bad)
    refused = await until(client, "things", "Established", "False")
    while condition(refused, "Established")["reason"] == "Installing":
        refused = await until(client, "things", "Established", "False")
    assert condition(refused, "Established")["reason"] == "InvalidCABundle"
    assert condition(refused, "Established")["message"] == "The conversion webhook CABundle is invalid"
    assert (await client.ask("GET", things()))[0] == 404
    await client.patch(
        f"{DEFINITIONS}/things.{GROUP}", {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
    )
    await until(client, "things", "Established")
    await client.ok("POST", things(), thing("a", size=1))


async def answered_meanwhile(client: ApiClient, request: asyncio.Task[Object]) -> int:
    """How many other requests are answered while one is under way."""
    count = 0
    while not request.done():
        assert (await client.ask("GET", "/version"))[0] == 200
        count += 1
    return count


@with_api
async def test_a_rule_that_takes_long_does_not_hold_up_others(client: ApiClient) -> None:
    rule = {"rule": "self.all(x, self.exists(y, y == x))", "message": "never false"}
    numbers = {
        "type": "array",
        "maxItems": 700,
        "items": {"type": "integer"},
        "x-kubernetes-validations": [rule],
    }
    await define(client, version("v1", storage=True, numbers=numbers))
    made = asyncio.create_task(client.ok("POST", things(), thing("a", numbers=list(range(400)))))
    # On the loop it would let none through; how many come through a thread is up to the machine.
    assert await answered_meanwhile(client, made) > 1
    assert (await made)["spec"]["numbers"][:2] == [0, 1]
    changed = thing("a", numbers=list(range(700)))
    changed["metadata"]["resourceVersion"] = (await made)["metadata"]["resourceVersion"]
    refused = asyncio.create_task(client.ask("PUT", things("a"), changed))
    code, status = await refused
    assert code == 422
    assert "no further validation rules will be run due to call cost exceeds limit" in status["message"]


def large(depth: int) -> Object:
    """A schema that takes a while to check and to compile."""
    node: Object = {"type": "string", "maxLength": 10}
    for _ in range(depth):
        node = {"type": "object", "properties": {f"field{number}": node for number in range(6)}}
    return node


@with_api
async def test_a_large_definition_does_not_hold_up_others(client: ApiClient) -> None:
    made = asyncio.create_task(
        client.ok("POST", DEFINITIONS, definition(version("v1", storage=True, big=large(4))))
    )
    assert await answered_meanwhile(client, made) > 1
    served = asyncio.create_task(until(client, "things", "Established"))
    assert await answered_meanwhile(client, served) > 1
    await client.ok("POST", things(), thing("a", big={"field1": {"field2": {}}}))
    wrong = large(4)
    wrong["properties"]["field5"] = {"type": "unheard-of"}
    current = await client.ok("GET", f"{DEFINITIONS}/things.{GROUP}")
    current["spec"]["versions"] = [version("v1", storage=True, big=wrong)]
    code, status = await client.ask("PUT", f"{DEFINITIONS}/things.{GROUP}", current)
    assert (code, status["details"]["causes"][0]["reason"]) == (422, "FieldValueNotSupported")


@with_api
async def test_defaults_reach_objects_written_while_a_definition_changed(client: ApiClient) -> None:
    await define(client)
    await client.ok("POST", things(), thing("before"))
    current = await client.ok("GET", f"{DEFINITIONS}/things.{GROUP}")
    color = {"type": "string", "default": "red"}
    current["spec"]["versions"] = [version("v1", storage=True, color=color, big=large(3))]
    changed = asyncio.create_task(client.ok("PUT", f"{DEFINITIONS}/things.{GROUP}", current))
    async with client.watch(f"{things()}?watch=true") as events:
        number = 0
        while not changed.done():
            await client.ok("POST", things(), thing(f"during-{number}"))
            number += 1
        await events.rest()
    found = (await client.ok("GET", things()))["items"]
    assert len(found) == number + 1
    assert {item["spec"].get("color") for item in found} == {"red"}


@with_api
async def test_scaling_takes_the_replicas_wherever_they_are(client: ApiClient) -> None:
    sized = version("v1", storage=True, size={"type": "integer"}, note={"type": "string"})
    sized["subresources"] = {
        "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    }
    await define(client, sized)
    apply = {"content-type": "application/apply-patch+yaml"}
    applied = thing("a", size=1, note="x")
    await client.ok("PATCH", f"{things('a')}?fieldManager=applier", applied, apply)
    await client.ask(
        "PATCH",
        f"{things('a')}/scale?fieldManager=scaler",
        {"spec": {"replicas": 3}},
        {"content-type": "application/merge-patch+json"},
    )
    scaled = await client.ok("GET", things("a"))
    owners = {entry["manager"]: entry["fieldsV1"]["f:spec"] for entry in scaled["metadata"]["managedFields"]}
    assert scaled["spec"] == {"size": 3, "note": "x"}
    assert owners == {"applier": {"f:note": {}}, "scaler": {"f:size": {}}}


@with_api
async def test_scaling_needs_no_version_but_somewhere_to_begin(client: ApiClient) -> None:
    sized = version("v1", storage=True, size={"type": "integer"})
    sized["subresources"] = {
        "scale": {
            "specReplicasPath": ".spec.size",
            "statusReplicasPath": ".status.size",
            "labelSelectorPath": ".status.selector",
        }
    }
    await define(client, sized)
    await client.ok("POST", things(), thing("a"))
    path = f"{things('a')}/scale"
    code, status = await client.ask("GET", path)
    missing = 'Internal error occurred: the spec replicas field ".spec.size" does not exist'
    assert (code, status["message"]) == (500, missing)
    code, status = await client.patch(path, {})
    assert (code, status["message"]) == (400, 'the spec replicas field ".spec.size" cannot be empty')
    body = {"metadata": {"name": "a"}, "spec": {"replicas": -1}}
    code, status = await client.ask("PUT", path, body)
    assert code == 422
    assert ".spec.size: Invalid value: -1: should be a non-negative integer" in status["message"]
    scaled = await client.ok("PUT", path, {**body, "spec": {"replicas": 2}})
    assert (scaled["spec"], scaled["status"]) == ({"replicas": 2}, {"replicas": 0})
    scaled = await client.ok("PUT", path, {**body, "spec": {"replicas": 0}})
    assert scaled["spec"] == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "Other"}, 'Other.{0} "a" is invalid: kind: Invalid value: "Other": must be Thing'),
        (
            {"apiVersion": "x.io/v9"},
            'Thing.x.io "a" is invalid: apiVersion: Invalid value: "x.io/v9": must be {0}/v1',
        ),
        ({"apiVersion": "/v1"}, 'Thing "a" is invalid: apiVersion: Invalid value: "v1": must be {0}/v1'),
    ],
)
def test_a_patch_cannot_change_the_kind(change: Object, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        await define(client)
        await client.ok("POST", things(), thing("a"))
        code, status = await client.patch(things("a"), change)
        assert (code, status["message"]) == (422, message.format(GROUP))

    check()


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"kind": None}, 422, ": Object 'Kind' is missing in '"),
        ({"kind": 1}, 422, "json: cannot unmarshal number into Go struct field .kind of type string"),
        ({"apiVersion": "a/b/c"}, 422, ": unexpected GroupVersion string: a/b/c"),
        (
            {"apiVersion": ""},
            500,
            "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'",
        ),
        ({"metadata": None}, 400, "the name of the object (a based on URL) was undeterminable"),
    ],
)
def test_a_patched_custom_object_must_say_what_it_is(change: Object, code: int, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        await define(client)
        await client.ok("POST", things(), thing("a"))
        found, status = await client.patch(things("a"), change)
        assert (found, message in status["message"]) == (code, True)

    check()


@with_api
async def test_metadata_of_an_updated_custom_object_is_checked_as_often_as_kubernetes_does(
    client: ApiClient,
) -> None:
    await define(client)
    await client.ok("POST", things(), thing("a"))
    code, status = await client.patch(things("a"), {"metadata": {"uid": "x", "labels": {"a": "b c"}}})
    assert code == 422
    found = [cause["field"] for cause in status["details"]["causes"]]
    once_more = ["metadata.uid", "metadata.labels"]
    assert found == ["metadata.labels", *once_more, *once_more]


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        (
            {"kind": None},
            400,
            "the object provided is unrecognized (must be of type Thing): Object 'Kind' is missing in",
        ),
        (
            {"apiVersion": None},
            400,
            "the API version in the data () does not match the expected API version (",
        ),
        ({"kind": "Other"}, 422, 'Other.{0} "a" is invalid: kind: Invalid value: "Other": must be Thing'),
    ],
)
def test_custom_objects_must_say_what_they_are(changes: Object, code: int, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        await define(client)
        body = {key: value for key, value in (thing("a") | changes).items() if value is not None}
        answered, status = await client.ask("POST", things(), body)
        assert answered == code
        assert status["message"].startswith(message.format(GROUP))

    check()


@pytest.mark.parametrize(
    ("method", "path", "code", "message"),
    [
        ("GET", f"/apis/{GROUP}/v1/nopes", 404, "404 page not found\n"),
        ("GET", f"/apis/{GROUP}/v1/things/a", 404, "404 page not found\n"),
        ("POST", f"/apis/{GROUP}/v1/things", 404, "404 page not found\n"),
        ("GET", f"{things('a')}/scale", 404, 'things.{0} "a" not found'),
        ("DELETE", f"{things('a')}/status", 405, 'delete is not supported on resources of kind "things.{0}"'),
        (
            "PATCH",
            things("a"),
            415,
            "the body of the request was in an unknown format - accepted media types",
        ),
    ],
)
def test_refusals_of_what_a_definition_does_not_serve(
    method: str, path: str, code: int, message: str
) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        with_status = version("v1", storage=True)
        with_status["subresources"] = {"status": {}}
        await define(client, with_status)
        answered, status = await client.ask(method, path, {} if method in ("POST", "PATCH") else None)
        assert answered == code
        assert status["message"].startswith(message.format(GROUP))

    check()


STRING: Object = {"type": "string"}


@with_api
async def test_versions_show_what_both_schemas_know(client: ApiClient) -> None:
    stored = version("v1", storage=True, a=STRING, b=STRING, n={"type": "integer", "default": 3})
    other = version("v2", a=STRING, c={"type": "string", "default": "see"}, n={"type": "integer"})
    await define(client, stored, other)
    await client.ok("POST", things(), thing("a", a="x", b="y"))
    assert (await client.ok("GET", things("a", "v2")))["spec"] == {"a": "x", "n": 3}
    [item] = (await client.ok("GET", things("", "v2")))["items"]
    assert (item["apiVersion"], item["spec"]) == (f"{GROUP}/v2", {"a": "x", "n": 3})
    created = await client.ok("POST", things("", "v2"), thing("b", "v2", a="x"))
    assert created["spec"] == {"a": "x", "n": 3}
    assert (await client.ok("GET", things("b")))["spec"] == {"a": "x", "n": 3}
    # Who writes through a version loses what it does not know.
    code, patched = await client.patch(things("a", "v2"), {"spec": {"a": "z"}})
    assert (code, patched["spec"]) == (200, {"a": "z", "n": 3})
    assert (await client.ok("GET", things("a")))["spec"] == {"a": "z", "n": 3}


@with_api
async def test_lists_of_custom_objects_always_say_where_to_go_on(client: ApiClient) -> None:
    await define(client)
    assert (await client.ok("GET", things()))["metadata"]["continue"] == ""
    partial = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    assert "continue" not in (await client.ok("GET", things(), headers=partial))["metadata"]


@with_api
async def test_deprecated_versions_warn_whatever_is_asked(client: ApiClient) -> None:
    await define(client, {**version("v1", storage=True), "deprecated": True, "deprecationWarning": "old"})
    for path in (things(), things("a"), f"{things('a')}/status"):
        answer = await client.raw("GET", path)
        assert answer.headers.get_all("warning") == ['299 - "old"']


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_one_custom_object_must_be_named(method: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        await define(client)
        code, status = await client.ask(method, things(), {})
        assert (code, status["message"]) == (400, "name must be provided")

    check()


@with_api
async def test_a_custom_object_may_be_created_below_any_name(client: ApiClient) -> None:
    await define(client)
    code, made = await client.ask("POST", things("b"), thing("a"))
    assert (code, made["metadata"]["name"]) == (201, "a")
    code, status = await client.ask("POST", things("b"), thing("a"))
    assert (code, status["reason"]) == (409, "AlreadyExists")


@with_api
async def test_a_custom_object_is_no_list(client: ApiClient) -> None:
    await define(client)
    await client.ok("POST", things(), thing("a"))
    partial = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    code, status = await client.ask("GET", things("a"), None, partial)
    assert (code, status["message"]) == (500, "content is not a list")


@with_api
async def test_metadata_of_an_updated_definition_is_checked_as_often_as_kubernetes_does(
    client: ApiClient,
) -> None:
    await define(client)
    change = {"metadata": {"uid": "x", "labels": {"a": "b c"}}}
    code, status = await client.patch(f"{DEFINITIONS}/things.{GROUP}", change)
    assert code == 422
    once_more = ["metadata.uid", "metadata.labels"]
    found = [cause["field"] for cause in status["details"]["causes"]]
    assert found == ["metadata.labels", *once_more, *once_more]


@with_api
async def test_a_scale_is_shown_with_its_replicas(client: ApiClient) -> None:
    scaled = version("v1", storage=True, size={"type": "integer"})
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    await define(client, {**scaled, "subresources": {"scale": paths}})
    await client.ok("POST", things(), thing("a", size=2))
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    shown = await client.ok("GET", f"{things('a')}/scale", headers=table)
    columns = [(column["name"], column["type"]) for column in shown["columnDefinitions"]]
    assert columns == [("Name", "string"), ("Desired", "integer"), ("Available", "integer"), ("Age", "date")]
    assert shown["rows"][0]["cells"][:3] == ["a", 2, 0]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"size": None}, 'spec.size in body must be of type integer: "null"'),
        ({"port": {}}, 'spec.port in body must be of type integer,string: "object"'),
        ({"when": 5}, 'spec.when in body must be of type date-time: "int64"'),
        ({"title": 5}, ".spec.title: expected string, got &value.valueUnstructured{Value:5}"),
    ],
)
def test_applied_values_are_kept_as_they_are(spec: Object, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        shape = version(
            "v1",
            storage=True,
            size={"type": "integer"},
            port={"x-kubernetes-int-or-string": True},
            when={"type": "string", "format": "date-time"},
            title=STRING,
        )
        await define(client, shape)
        headers = {"content-type": "application/apply-patch+yaml"}
        _, status = await client.ask(
            "PATCH", f"{things('a')}?fieldManager=m", thing("a", "v1", **spec), headers
        )
        assert message in status["message"]

    check()


@with_api
async def test_fields_that_went_from_the_schema_are_not_shown(client: ApiClient) -> None:
    await define(client, version("v1", storage=True, a=STRING, gone=STRING))
    await client.ok("POST", things(), thing("a", a="x", gone="y"))
    await redefine(client, version("v1", storage=True, a=STRING))
    assert (await client.ok("GET", things("a")))["spec"] == {"a": "x"}
    [item] = (await client.ok("GET", things()))["items"]
    assert item["spec"] == {"a": "x"}


@with_api
async def test_a_scale_without_owners_cannot_be_applied_to(client: ApiClient) -> None:
    scaled = version("v1", storage=True, size={"type": "integer"})
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    await define(client, {**scaled, "subresources": {"scale": paths}})
    await client.ok("POST", things(), thing("a", size=2))
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a"},
        "spec": {"replicas": 3},
    }
    headers = {"content-type": "application/apply-patch+yaml"}
    path = f"{things('a')}/scale?fieldManager=m"
    assert (await client.ask("PATCH", path, scale, headers))[0] == 409
    code, status = await client.ask("PATCH", f"{path}&force=true", scale, headers)
    assert code == 500
    assert status["message"] == (
        "failed to convert new object (default/a; autoscaling/v1, Kind=Scale) to proper version: request to "
        "convert CR to an invalid group/version: autoscaling/v1"
    )
    code, status = await client.ask("PUT", f"{things('a')}/scale", {**scale, "spec": {"replicas": "x"}})
    assert (code, status["message"]) == (
        400,
        'no kind is registered for the type v1.Scale in scheme "k8s.io/apiextensions-apiserver/pkg/apiserver/'
        'customresource_handler.go:781"',
    )
    await client.patch(things("a"), {"metadata": {"managedFields": [{}]}})
    code, status = await client.ask("PATCH", path, scale, headers)
    assert code == 500
    assert status["message"].startswith(
        "failed to create manager for existing fields: failed to convert live"
    )


@with_api
async def test_the_last_of_a_repeated_field_counts(client: ApiClient) -> None:
    await define(client, version("v1", storage=True, a=STRING, b=STRING))
    head = f'"apiVersion":"{GROUP}/v1","kind":"Thing","metadata":{{"name":"a"}}'
    body = f'{{{head},"spec":{{"a":"1","a":"2"}},"spec":{{"b":"3"}}}}'.encode()
    answer = await client.raw("POST", things(), body)
    assert orjson.loads(answer.content)["spec"] == {"b": "3"}
    assert answer.headers.get_all("warning") == [
        '299 - "duplicate field \\"spec.a\\""',
        '299 - "duplicate field \\"spec\\""',
    ]


@with_api
async def test_an_object_must_be_one_of_every_version_in_which_fields_are_owned(client: ApiClient) -> None:
    text = {"type": "string"}
    await define(client, version("v1", storage=True, a=text), version("v2", a=text, b=text))
    headers = {"content-type": "application/apply-patch+yaml"}

    async def apply(api_version: str, manager: str, **spec: str) -> tuple[int, Object]:
        path = f"{things('x', api_version)}?fieldManager={manager}&force=true"
        return await client.ask("PATCH", path, thing("x", api_version, **spec), headers)

    assert (await apply("v1", "one", a="1"))[0] == 201
    code, status = await apply("v2", "two", a="1", b="2")
    assert (code, status["message"]) == (
        500,
        "failed to convert new object: .spec.b: field not declared in schema",
    )
    assert (await apply("v2", "two", a="1"))[0] == 200
    code, status = await apply("v2", "two", a="1", b="2")
    assert (code, status["message"]) == (
        500,
        "failed to prune fields: failed add back owned items: failed to convert merged object at version "
        f"{GROUP}/v1: .spec.b: field not declared in schema",
    )
    # An ordinary write goes on, and nobody's fields are tracked.
    _, written = await client.patch(f"{things('x', 'v2')}?fieldManager=p", {"spec": {"b": "3"}})
    assert {entry["manager"] for entry in written["metadata"]["managedFields"]} == {"one", "two"}


@with_api
async def test_a_default_of_another_version_is_a_change(client: ApiClient) -> None:
    text, seven = {"type": "string"}, {"type": "integer", "default": 7}
    await define(client, version("v1", storage=True, a=text), version("v2", a=text, c=seven))
    await client.ok("POST", things(), thing("x", a="1"))
    code, patched = await client.patch(things("x", "v2"), {"metadata": {"labels": {"l": "1"}}})
    assert (code, patched["metadata"]["generation"]) == (200, 2)


@with_api
async def test_scaling_what_nobody_owns_makes_no_list_of_owners(client: ApiClient) -> None:
    scaled = version("v1", storage=True, size={"type": "integer"})
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    await define(client, {**scaled, "subresources": {"scale": paths}})
    bare = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "bare"}}
    await client.ok("POST", things(), bare)
    assert (await client.patch(f"{things('bare')}/scale", {"spec": {"replicas": 2}}))[0] == 200
    stored = await client.ok("GET", things("bare"))
    assert (stored["spec"], "managedFields" in stored["metadata"]) == ({"size": 2}, False)
