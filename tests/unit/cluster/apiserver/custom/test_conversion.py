"""Custom resources in two versions, one field renamed between them, with a real HTTPS conversion webhook."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from steersman.cluster.auth.pki import StoredAuthority
from steersman.http import Request, Response, Server, server_tls
from tests.support.api import PATIENCE_S, ApiClient, api

Object = dict[str, Any]

GROUP = "stable.example.com"
V1, V2 = f"{GROUP}/v1", f"{GROUP}/v2"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = f"{DEFINITIONS}/webapps.{GROUP}"
AUTHORITY = StoredAuthority.make("converters")
_PAIR = AUTHORITY.issue("converter", names=["localhost", "127.0.0.1", "converter.system.svc"], server=True)
#: What the field is called in each version.
NAMES = {V1: "host", V2: "hostname"}


def path(version: str, name: str = "") -> str:
    return f"/apis/{GROUP}/{version}/namespaces/default/webapps" + (f"/{name}" if name else "")


@dataclass
class Converter:
    """The webhook: renames the field, remembers what it was asked."""

    port: int = 0
    requests: list[Object] = field(default_factory=list)
    #: Changes the converted objects, or answers in another way.
    spoil: Callable[[Object, Object], Object] | None = None

    def handle(self, request: Request) -> Response:
        review = orjson.loads(request.content)
        asked = review["request"]
        self.requests.append(asked)
        converted = [self._convert(obj, asked["desiredAPIVersion"]) for obj in asked["objects"]]
        answer = {"uid": asked["uid"], "convertedObjects": converted, "result": {"status": "Success"}}
        if self.spoil is not None:
            answer = self.spoil(asked, answer)
        return Response(200, orjson.dumps({**review, "request": None, "response": answer}))

    @staticmethod
    def _convert(obj: Object, version: str) -> Object:
        spec = dict(obj.get("spec") or {})
        if NAMES[obj["apiVersion"]] in spec:
            spec[NAMES[version]] = spec.pop(NAMES[obj["apiVersion"]])
        return {**obj, "apiVersion": version, "spec": spec}

    def client_config(self) -> Object:
        ca = base64.b64encode(AUTHORITY.pem).decode()
        return {"url": f"https://localhost:{self.port}/convert", "caBundle": ca}


def version_of(name: str, storage: str, **properties: Object) -> Object:
    known = {NAMES[f"{GROUP}/{name}"]: {"type": "string"}, "replicas": {"type": "integer"}, **properties}
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": known},
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        },
    }
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    return {
        "name": name,
        "served": True,
        "storage": name == storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": scale},
        "selectableFields": [{"jsonPath": f".spec.{NAMES[f'{GROUP}/{name}']}"}],
    }


def definition(client_config: Object, storage: str = "v1", **properties: Object) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"webapps.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "webapps", "singular": "webapp", "kind": "WebApp"},
            "versions": [version_of(name, storage, **properties) for name in ("v1", "v2")],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": client_config, "conversionReviewVersions": ["v1"]},
            },
        },
    }


def web_app(version: str, name: str, host: str, **spec: Any) -> Object:
    api_version = f"{GROUP}/{version}"
    content = {NAMES[api_version]: host, **spec}
    return {"apiVersion": api_version, "kind": "WebApp", "metadata": {"name": name}, "spec": content}


async def established(client: ApiClient) -> None:
    """Wait until the definition is served; the condition is written after the resources are there."""
    async with client.watch(f"{DEFINITIONS}?watch=true") as events:
        while True:
            conditions = (await events.next())["object"]["status"].get("conditions") or ()
            if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
                return


async def served_with(client: ApiClient, spec: Object) -> None:
    """Change the definition's spec, and wait for it to be served: watches of before end."""
    current = await client.ok("GET", DEFINITION)
    async with client.watch(f"{path('v1')}?watch=true") as events:
        await client.ok("PUT", DEFINITION, {**current, "spec": spec})
        await events.rest()


@asynccontextmanager
async def converter() -> AsyncIterator[tuple[Converter, Server]]:
    made = Converter()
    server = Server(made.handle)
    await server.start("127.0.0.1", 0, server_tls(_PAIR.certificate, _PAIR.key))
    made.port = server.port
    try:
        yield made, server
    finally:
        await server.close()


def with_webhook(test: Callable[[ApiClient, Converter], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def body() -> None:
            async with asyncio.timeout(PATIENCE_S), converter() as (hook, _), api() as client:
                await client.ok("POST", DEFINITIONS, definition(hook.client_config()))
                await established(client)
                await test(client, hook)

        asyncio.run(body())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@with_webhook
async def test_an_object_is_shown_in_both_versions(client: ApiClient, hook: Converter) -> None:
    made = await client.ok("POST", path("v1"), web_app("v1", "a", "one"))
    assert hook.requests == []
    shown = await client.ok("GET", path("v2", "a"))
    assert shown == {**made, "apiVersion": V2, "spec": {"hostname": "one"}}
    [asked] = hook.requests
    assert asked["desiredAPIVersion"] == V2
    assert asked["objects"] == [made]
    assert await client.ok("GET", path("v1", "a")) == made
    assert len(hook.requests) == 1


@with_webhook
async def test_a_write_in_another_version_is_stored_in_the_storage_version(
    client: ApiClient, hook: Converter
) -> None:
    made = await client.ok("POST", path("v2"), web_app("v2", "a", "one"))
    assert made["apiVersion"] == V2
    assert made["spec"] == {"hostname": "one"}
    assert [asked["desiredAPIVersion"] for asked in hook.requests] == [V1, V2]
    hook.requests.clear()
    stored = await client.ok("GET", path("v1", "a"))
    assert stored["spec"] == {"host": "one"}
    assert hook.requests == []


@with_webhook
async def test_put_patch_and_apply_in_another_version(client: ApiClient, hook: Converter) -> None:
    made = await client.ok("POST", path("v1"), web_app("v1", "a", "one"))
    v2 = await client.ok("GET", path("v2", "a"))
    put = await client.ok("PUT", path("v2", "a"), {**v2, "spec": {"hostname": "two"}})
    assert put["spec"] == {"hostname": "two"}
    assert put["metadata"]["generation"] == made["metadata"]["generation"] + 1
    code, patched = await client.patch(path("v2", "a"), {"spec": {"hostname": "three", "replicas": 2}})
    assert (code, patched["spec"]) == (200, {"hostname": "three", "replicas": 2})
    code, applied = await client.ask(
        "PATCH",
        f"{path('v2', 'a')}?fieldManager=me&force=true",
        web_app("v2", "a", "four"),
        {"content-type": "application/apply-patch+yaml"},
    )
    assert (code, applied["spec"]) == (200, {"hostname": "four", "replicas": 2})
    assert (await client.ok("GET", path("v1", "a")))["spec"] == {"host": "four", "replicas": 2}


@with_webhook
async def test_ownership_follows_a_field_through_its_versions(client: ApiClient, hook: Converter) -> None:
    await client.ok("POST", f"{path('v1')}?fieldManager=first", web_app("v1", "a", "one", replicas=1))
    code, patched = await client.ask(
        "PATCH",
        f"{path('v2', 'a')}?fieldManager=second",
        {"spec": {"hostname": "two"}},
        {"content-type": "application/merge-patch+json"},
    )
    assert code == 200, patched
    owners = {entry["manager"]: entry for entry in patched["metadata"]["managedFields"]}
    assert owners["first"]["fieldsV1"] == {"f:spec": {".": {}, "f:replicas": {}}}
    assert owners["second"]["fieldsV1"] == {"f:spec": {"f:hostname": {}}}
    assert (owners["first"]["apiVersion"], owners["second"]["apiVersion"]) == (V1, V2)


async def applied(client: ApiClient, manager: str, app: Object, **query: str) -> tuple[int, Object]:
    where = path(app["apiVersion"].rpartition("/")[2], app["metadata"]["name"])
    asked = "&".join(f"{key}={value}" for key, value in {"fieldManager": manager, **query}.items())
    return await client.ask(
        "PATCH", f"{where}?{asked}", app, {"content-type": "application/apply-patch+yaml"}
    )


def owned(obj: Object) -> dict[str, tuple[str, Object]]:
    entries = obj["metadata"].get("managedFields") or ()
    return {entry["manager"]: (entry["apiVersion"], entry["fieldsV1"]["f:spec"]) for entry in entries}


@with_webhook
async def test_what_was_applied_in_another_version_and_no_longer_is_goes(
    client: ApiClient, hook: Converter
) -> None:
    await applied(client, "me", web_app("v1", "a", "one", replicas=1))
    code, again = await applied(client, "me", web_app("v2", "a", "one"))
    assert (code, again["spec"]) == (200, {"hostname": "one"})
    assert owned(again) == {"me": (V2, {"f:hostname": {}})}
    # The renamed field counts as the one it was.
    code, renamed = await applied(client, "me", {**web_app("v1", "a", ""), "spec": {"replicas": 2}})
    assert (code, renamed["spec"]) == (200, {"replicas": 2})


@with_webhook
async def test_a_field_owned_in_another_version_is_a_conflict(client: ApiClient, hook: Converter) -> None:
    await applied(client, "first", web_app("v1", "a", "one", replicas=1))
    code, status = await applied(client, "second", web_app("v2", "a", "two"))
    assert code == 409
    assert status["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "first"', "field": ".spec.host"}
    ]
    code, forced = await applied(client, "second", web_app("v2", "a", "two"), force="true")
    assert (code, forced["spec"]) == (200, {"hostname": "two", "replicas": 1})
    assert owned(forced) == {"first": (V1, {"f:replicas": {}}), "second": (V2, {"f:hostname": {}})}


@with_webhook
async def test_what_somebody_owns_in_another_version_stays(client: ApiClient, hook: Converter) -> None:
    await applied(client, "first", web_app("v1", "a", "one"))
    await applied(client, "second", web_app("v2", "a", "one", replicas=3))
    code, less = await applied(client, "second", {**web_app("v2", "a", ""), "spec": {"replicas": 3}})
    assert (code, less["spec"]) == (200, {"hostname": "one", "replicas": 3})
    assert owned(less) == {"first": (V1, {"f:host": {}}), "second": (V2, {"f:replicas": {}})}


@with_webhook
async def test_without_the_webhook_an_apply_fails_and_an_update_leaves_all_owners(
    client: ApiClient, hook: Converter
) -> None:
    await applied(client, "first", web_app("v1", "a", "one"))
    await applied(client, "second", web_app("v2", "a", "one"))
    owners = owned(await client.ok("GET", path("v1", "a")))
    hook.spoil = lambda asked, answer: {**answer, "result": {"status": "Failure", "message": "no"}}
    code, status = await applied(client, "first", web_app("v1", "a", "two"), force="true")
    assert (code, status["message"]) == (500, f"conversion webhook for {V1}, Kind=WebApp failed: no")
    code, patched = await client.patch(path("v1", "a"), {"spec": {"host": "two"}})
    assert (code, patched["spec"]) == (200, {"host": "two"})
    assert owned(patched) == owners


@with_webhook
async def test_owners_sent_with_a_create_are_read_in_their_version(
    client: ApiClient, hook: Converter
) -> None:
    entry = {
        "manager": "before",
        "operation": "Apply",
        "apiVersion": V2,
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:hostname": {}, "f:gone": {}}},
    }
    app = web_app("v1", "a", "one")
    app["metadata"]["managedFields"] = [entry]
    made = await client.ok("POST", f"{path('v1')}?fieldManager=now", app)
    assert owned(made) == {"before": (V2, {"f:gone": {}}), "now": (V1, {".": {}, "f:host": {}})}


@with_webhook
async def test_status_and_scale_in_another_version(client: ApiClient, hook: Converter) -> None:
    await client.ok("POST", path("v1"), web_app("v1", "a", "one", replicas=1))
    code, shown = await client.patch(f"{path('v2', 'a')}/status", {"status": {"replicas": 1}})
    assert (code, shown["status"], shown["spec"]["hostname"]) == (200, {"replicas": 1}, "one")
    code, scale = await client.patch(f"{path('v2', 'a')}/scale", {"spec": {"replicas": 4}})
    assert (code, scale["spec"], scale["status"]) == (200, {"replicas": 4}, {"replicas": 1})
    stored = await client.ok("GET", path("v1", "a"))
    assert (stored["spec"], stored["status"]) == ({"host": "one", "replicas": 4}, {"replicas": 1})


@with_webhook
async def test_a_list_is_converted_in_one_review(client: ApiClient, hook: Converter) -> None:
    for name in "abc":
        await client.ok("POST", path("v1"), web_app("v1", name, f"host-{name}"))
    found = await client.ok("GET", path("v2"))
    assert [item["spec"] for item in found["items"]] == [{"hostname": f"host-{name}"} for name in "abc"]
    assert {item["apiVersion"] for item in found["items"]} == {V2}
    [asked] = hook.requests
    assert len(asked["objects"]) == 3


@with_webhook
async def test_pages_and_field_selectors_are_about_the_converted_objects(
    client: ApiClient, hook: Converter
) -> None:
    for name in "abc":
        await client.ok("POST", path("v1"), web_app("v1", name, "x" if name != "b" else "y"))
    page = await client.ok("GET", f"{path('v2')}?limit=2")
    assert [item["metadata"]["name"] for item in page["items"]] == ["a", "b"]
    assert page["metadata"]["remainingItemCount"] == 1
    rest = await client.ok("GET", f"{path('v2')}?limit=2&continue={page['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["c"]
    selected = await client.ok("GET", f"{path('v2')}?fieldSelector=spec.hostname%3Dx&limit=1")
    assert [item["metadata"]["name"] for item in selected["items"]] == ["a"]
    token = selected["metadata"]["continue"]
    selected = await client.ok(
        "GET", f"{path('v2')}?fieldSelector=spec.hostname%3Dx&limit=1&continue={token}"
    )
    assert [item["metadata"]["name"] for item in selected["items"]] == ["c"]
    assert selected["metadata"]["continue"] == ""


@with_webhook
async def test_a_watch_gets_converted_events_in_order(client: ApiClient, hook: Converter) -> None:
    await client.ok("POST", path("v1"), web_app("v1", "a", "0"))
    async with client.watch(f"{path('v2')}?watch=true") as events:
        first = await events.next()
        assert (first["type"], first["object"]["apiVersion"]) == ("ADDED", V2)
        for number in range(1, 6):
            await client.patch(path("v1", "a"), {"spec": {"host": str(number)}})
        await client.ok("DELETE", path("v1", "a"))
        seen = [await events.next() for _ in range(6)]
    assert [event["type"] for event in seen] == ["MODIFIED"] * 5 + ["DELETED"]
    assert [event["object"]["spec"] for event in seen] == [{"hostname": str(n)} for n in (1, 2, 3, 4, 5, 5)]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
    assert versions == sorted(set(versions))


@with_webhook
async def test_a_watch_from_a_revision_converts_what_it_missed(client: ApiClient, hook: Converter) -> None:
    made = await client.ok("POST", path("v1"), web_app("v1", "a", "0"))
    await client.patch(path("v1", "a"), {"spec": {"host": "1"}})
    since = made["metadata"]["resourceVersion"]
    async with client.watch(f"{path('v2')}?watch=true&resourceVersion={since}") as events:
        missed = await events.next()
        assert (missed["type"], missed["object"]["spec"]) == ("MODIFIED", {"hostname": "1"})
        await client.patch(path("v1", "a"), {"spec": {"host": "2"}})
        assert (await events.next())["object"]["spec"] == {"hostname": "2"}


@with_webhook
async def test_a_failing_webhook_ends_the_watch_with_an_error(client: ApiClient, hook: Converter) -> None:
    await client.ok("POST", path("v1"), web_app("v1", "a", "0"))
    async with client.watch(f"{path('v2')}?watch=true") as events:
        await events.next()
        hook.spoil = lambda asked, answer: {
            **answer,
            "result": {"status": "Failure", "message": "out of order"},
        }
        await client.patch(path("v1", "a"), {"spec": {"host": "1"}})
        [last] = await events.rest()
    assert last["type"] == "ERROR"
    assert last["object"]["code"] == 500
    assert last["object"]["message"] == f"conversion webhook for {V1}, Kind=WebApp failed: out of order"


@with_webhook
async def test_a_new_storage_version_leaves_old_objects_until_they_are_written(
    client: ApiClient, hook: Converter
) -> None:
    await client.ok("POST", path("v1"), web_app("v1", "old", "one"))
    await served_with(client, definition(hook.client_config(), storage="v2")["spec"])
    assert (await client.ok("GET", DEFINITION))["status"]["storedVersions"] == ["v1", "v2"]
    await client.ok("POST", path("v2"), web_app("v2", "new", "two"))
    hook.requests.clear()
    in_v2 = (await client.ok("GET", path("v2")))["items"]
    assert [item["spec"] for item in in_v2] == [{"hostname": "two"}, {"hostname": "one"}]
    assert [[obj["metadata"]["name"] for obj in asked["objects"]] for asked in hook.requests] == [["old"]]
    in_v1 = (await client.ok("GET", path("v1")))["items"]
    assert [item["spec"] for item in in_v1] == [{"host": "two"}, {"host": "one"}]
    # Writing it unchanged migrates it.
    await client.ok("PUT", path("v2", "old"), in_v2[1])
    hook.requests.clear()
    moved = await client.ok("GET", path("v2", "old"))
    assert moved["spec"] == {"hostname": "one"}
    assert moved["metadata"]["resourceVersion"] != in_v2[1]["metadata"]["resourceVersion"]
    assert hook.requests == []
    # And once more changes nothing.
    again = await client.ok("PUT", path("v2", "old"), moved)
    assert again["metadata"]["resourceVersion"] == moved["metadata"]["resourceVersion"]


@with_webhook
async def test_defaults_of_the_stored_version_and_pruning_of_the_asked_one(
    client: ApiClient, hook: Converter
) -> None:
    await client.ok("POST", path("v1"), web_app("v1", "a", "one"))
    size = {"type": "string", "default": "small"}
    await served_with(client, definition(hook.client_config(), size=size)["spec"])
    hook.spoil = lambda asked, answer: {
        **answer,
        "convertedObjects": [
            {**obj, "spec": {**obj["spec"], "unknown": 1}} for obj in answer["convertedObjects"]
        ],
    }
    shown = await client.ok("GET", path("v2", "a"))
    assert shown["spec"] == {"hostname": "one", "size": "small"}
    assert hook.requests[-1]["objects"][0]["spec"] == {"host": "one", "size": "small"}


@with_webhook
async def test_deletion_with_a_finalizer(client: ApiClient, hook: Converter) -> None:
    app = web_app("v1", "a", "one")
    app["metadata"]["finalizers"] = ["example.com/hold"]
    await client.ok("POST", path("v1"), app)
    await client.ok("DELETE", path("v2", "a"))
    held = await client.ok("GET", path("v2", "a"))
    assert "deletionTimestamp" in held["metadata"]
    assert held["spec"] == {"hostname": "one"}
    await client.patch(path("v2", "a"), {"metadata": {"finalizers": None}})
    code, _ = await client.ask("GET", path("v1", "a"))
    assert code == 404


@with_webhook
async def test_answers_to_deletions_are_converted(client: ApiClient, hook: Converter) -> None:
    for name in "ab":
        app = web_app("v1", name, f"host-{name}")
        app["metadata"]["finalizers"] = ["example.com/hold"]
        await client.ok("POST", path("v1"), app)
    marked = await client.ok("DELETE", path("v2", "a"))
    assert (marked["apiVersion"], marked["spec"]) == (V2, {"hostname": "host-a"})
    deleted = await client.ok("DELETE", path("v2"))
    assert [item["spec"] for item in deleted["items"]] == [{"hostname": "host-a"}, {"hostname": "host-b"}]


@with_webhook
async def test_a_scale_is_read_in_the_asked_version(client: ApiClient, hook: Converter) -> None:
    await client.ok("POST", path("v1"), web_app("v1", "a", "one", replicas=3))
    assert (await client.ok("GET", f"{path('v2', 'a')}/scale"))["spec"] == {"replicas": 3}
    assert len(hook.requests) == 1


@with_webhook
async def test_policies_see_the_version_they_ask_for(client: ApiClient, hook: Converter) -> None:
    base = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [GROUP], "apiVersions": ["v2"], "operations": ["CREATE"], "resources": ["webapps"]}
    policy = {
        "metadata": {"name": "no-evil"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule], "matchPolicy": "Equivalent"},
            "validations": [{"expression": "object.spec.hostname != 'evil'", "message": "no evil hosts"}],
        },
    }
    await client.ok("POST", f"{base}/validatingadmissionpolicies", policy)
    binding = {
        "metadata": {"name": "no-evil"},
        "spec": {"policyName": "no-evil", "validationActions": ["Deny"]},
    }
    await client.ok("POST", f"{base}/validatingadmissionpolicybindings", binding)
    code, status = await client.ask("POST", path("v1"), web_app("v1", "a", "evil"))
    assert code == 422
    assert "no evil hosts" in status["message"]
    await client.ok("POST", path("v1"), web_app("v1", "a", "good"))


@with_webhook
async def test_policies_about_deletions_see_the_version_they_ask_for(
    client: ApiClient, hook: Converter
) -> None:
    base = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [GROUP], "apiVersions": ["v2"], "operations": ["DELETE"], "resources": ["webapps"]}
    policy = {
        "metadata": {"name": "keep"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "oldObject.spec.hostname != 'kept'", "message": "it is kept"}],
        },
    }
    await client.ok("POST", f"{base}/validatingadmissionpolicies", policy)
    binding = {"metadata": {"name": "keep"}, "spec": {"policyName": "keep", "validationActions": ["Deny"]}}
    await client.ok("POST", f"{base}/validatingadmissionpolicybindings", binding)
    for name in ("kept", "other"):
        await client.ok("POST", path("v1"), web_app("v1", name, name))
    code, status = await client.ask("DELETE", path("v2", "kept"))
    assert code == 422
    assert "it is kept" in status["message"]
    await client.ok("DELETE", path("v2", "other"))


@with_webhook
async def test_a_deletion_by_field_selector_is_about_the_converted_objects(
    client: ApiClient, hook: Converter
) -> None:
    for name in "abc":
        await client.ok("POST", path("v1"), web_app("v1", name, "x" if name != "b" else "y"))
    deleted = await client.ok("DELETE", f"{path('v2')}?fieldSelector=spec.hostname%3Dx")
    assert [item["metadata"]["name"] for item in deleted["items"]] == ["a", "c"]
    assert [item["metadata"]["name"] for item in (await client.ok("GET", path("v2")))["items"]] == ["b"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        pytest.param(
            lambda asked, answer: {**answer, "uid": "other"},
            f'conversion webhook for {V1}, Kind=WebApp failed: expected response.uid="UID", got "other"',
            id="another review's answer",
        ),
        pytest.param(
            lambda asked, answer: {**answer, "convertedObjects": []},
            f"conversion webhook for {V1}, Kind=WebApp returned 0 objects, expected 1",
            id="too few objects",
        ),
        pytest.param(
            lambda asked, answer: {**answer, "convertedObjects": asked["objects"]},
            f"conversion webhook for {V1}, Kind=WebApp returned invalid object at index 0: "
            f"invalid groupVersion (expected {V2}, received {V1})",
            id="nothing converted",
        ),
    ],
)
def test_a_wrong_answer_is_refused(spoil: Callable[[Object, Object], Object], message: str) -> None:
    @with_webhook
    async def run(client: ApiClient, hook: Converter) -> None:
        await client.ok("POST", path("v1"), web_app("v1", "a", "one"))
        hook.spoil = spoil
        code, status = await client.ask("GET", path("v2", "a"))
        assert code == 500
        assert status["message"] == message.replace("UID", hook.requests[-1]["uid"])

    run()


def test_a_webhook_that_is_down_stops_only_what_needs_it() -> None:
    async def body() -> None:
        async with asyncio.timeout(PATIENCE_S), converter() as (hook, server), api() as client:
            await client.ok("POST", DEFINITIONS, definition(hook.client_config()))
            await established(client)
            await client.ok("POST", path("v1"), web_app("v1", "a", "one"))
            await client.patch(path("v2", "a"), {"spec": {"hostname": "two"}})
            await server.close()
            about = f"conversion webhook for {V1}, Kind=WebApp failed: "
            for where in (path("v2", "a"), path("v2")):
                code, status = await client.ask("GET", where)
                assert code == 500
                assert status["message"].startswith(f'{about}Post "https://localhost:{hook.port}/convert')
                assert status["message"].endswith("connect: connection refused")
            code, status = await client.ask("POST", path("v2"), web_app("v2", "b", "two"))
            assert code == 500
            assert status["message"].startswith(f"conversion webhook for {V2}, Kind=WebApp failed: ")
            # Owners of the other version do not stop a write either.
            code, patched = await client.patch(path("v1", "a"), {"spec": {"host": "three"}})
            assert (code, patched["spec"]) == (200, {"host": "three"})
            assert len((await client.ok("GET", path("v1")))["items"]) == 1
            async with client.watch(f"{path('v2')}?watch=true") as events:
                [error] = await events.rest()
            assert (error["type"], error["object"]["code"]) == ("ERROR", 500)

    asyncio.run(body())


def test_the_stored_version_survives_a_restart(tmp_path: Path) -> None:
    async def body() -> None:
        folder = str(tmp_path / "data")
        async with asyncio.timeout(PATIENCE_S), converter() as (hook, _):
            async with api(data=folder) as client:
                await client.ok("POST", DEFINITIONS, definition(hook.client_config()))
                await established(client)
                await client.ok("POST", path("v1"), web_app("v1", "a", "one"))
                await served_with(client, definition(hook.client_config(), storage="v2")["spec"])
                await client.ok("POST", path("v1"), web_app("v1", "b", "two"))
            async with api(data=folder) as client:
                hook.requests.clear()
                found = (await client.ok("GET", path("v2")))["items"]
                assert [item["spec"] for item in found] == [{"hostname": "one"}, {"hostname": "two"}]
                assert len(hook.requests) == 1
                assert [obj["apiVersion"] for obj in hook.requests[0]["objects"]] == [V1]

    asyncio.run(body())


@with_webhook
async def test_a_service_without_endpoints_cannot_be_asked(client: ApiClient, hook: Converter) -> None:
    await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "system"}})
    service = {"metadata": {"name": "converter"}, "spec": {"ports": [{"port": 443}]}}
    await client.ok("POST", "/api/v1/namespaces/system/services", service)
    by_service = {
        "service": {"namespace": "system", "name": "converter", "path": "/convert"},
        "caBundle": hook.client_config()["caBundle"],
    }
    await served_with(client, definition(by_service)["spec"])
    await client.ok("POST", path("v1"), web_app("v1", "a", "one"))
    code, status = await client.ask("GET", path("v2", "a"))
    assert code == 500
    assert status["message"].endswith('no endpoints available for service "converter"')
    assert "https://converter.system.svc:443/convert?timeout=30s" in status["message"]


def unconverted(storage: str) -> Object:
    """A definition whose versions differ in name only, and that takes a while to be served."""
    made = definition({}, storage, **{f"field{n}": {"type": "string", "maxLength": n} for n in range(300)})
    made["spec"]["conversion"] = {"strategy": "None"}
    return made


def by_webhook(hook: Converter) -> Object:
    webhook = {"clientConfig": hook.client_config(), "conversionReviewVersions": ["v1"]}
    return {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}


def before_webhook(storage: str, test: Callable[[ApiClient, Converter], Awaitable[None]]) -> None:
    """Run a test that begins with a definition without a webhook."""

    async def body() -> None:
        async with asyncio.timeout(PATIENCE_S), converter() as (hook, _), api() as client:
            await client.ok("POST", DEFINITIONS, unconverted(storage))
            await established(client)
            await test(client, hook)

    asyncio.run(body())


def test_who_has_changed_the_conversion_sees_objects_converted() -> None:
    async def run(client: ApiClient, hook: Converter) -> None:
        await client.ok("POST", path("v1"), web_app("v1", "a", "one"))
        assert (await client.patch(DEFINITION, by_webhook(hook)))[0] == 200
        seen, listed, made = await asyncio.gather(
            client.ok("GET", path("v2", "a")),
            client.ok("GET", path("v2")),
            client.ok("POST", path("v2"), web_app("v2", "b", "two")),
        )
        assert seen["spec"] == listed["items"][0]["spec"] == {"hostname": "one"}
        assert made["spec"] == {"hostname": "two"}
        assert (await client.ok("GET", path("v1", "b")))["spec"] == {"host": "two"}

    before_webhook("v1", run)


def test_who_has_watched_the_conversion_change_sees_objects_converted() -> None:
    async def run(client: ApiClient, hook: Converter) -> None:
        await client.ok("POST", path("v1"), web_app("v1", "a", "one"))
        current = await client.ok("GET", DEFINITION)
        since = current["metadata"]["resourceVersion"]
        async with client.watch(f"{DEFINITIONS}?watch=true&resourceVersion={since}") as events:
            change = asyncio.create_task(client.patch(DEFINITION, by_webhook(hook)))
            await events.next()
            assert (await client.ok("GET", path("v2", "a")))["spec"] == {"hostname": "one"}
            await change

    before_webhook("v1", run)


class Doorkeeper:
    """An admission webhook that lets nobody through before it is told to."""

    def __init__(self) -> None:
        self.asked = asyncio.Queue[Object]()
        self.open = asyncio.Event()

    async def handle(self, request: Request) -> Response:
        review = orjson.loads(request.content)
        self.asked.put_nowait(review["request"])
        await self.open.wait()
        answer = {"uid": review["request"]["uid"], "allowed": True}
        return Response(200, orjson.dumps({**review, "request": None, "response": answer}))


@asynccontextmanager
async def doorkeeper(client: ApiClient) -> AsyncIterator[Doorkeeper]:
    made = Doorkeeper()
    server = Server(made.handle)
    await server.start("127.0.0.1", 0, server_tls(_PAIR.certificate, _PAIR.key))
    ca = base64.b64encode(AUTHORITY.pem).decode()
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["*"], "resources": ["webapps"]}
    webhook = {
        "name": "door.example.com",
        "clientConfig": {"url": f"https://localhost:{server.port}/", "caBundle": ca},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    base = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    await client.ok("POST", base, {"metadata": {"name": "door"}, "webhooks": [webhook]})
    try:
        yield made
    finally:
        made.open.set()
        await server.close()


async def _create(client: ApiClient) -> Object:
    return await client.ok("POST", path("v1"), web_app("v1", "new", "one"))


async def _patch(client: ApiClient) -> Object:
    code, patched = await client.patch(path("v1", "old"), {"spec": {"host": "one"}})
    assert code == 200, patched
    return patched


async def _apply(client: ApiClient) -> Object:
    code, made = await applied(client, "me", web_app("v1", "new", "one"))
    assert code == 201, made
    return made


@pytest.mark.parametrize("write", [_create, _patch, _apply])
def test_a_write_that_began_before_is_stored_converted(
    write: Callable[[ApiClient], Awaitable[Object]],
) -> None:
    async def run(client: ApiClient, hook: Converter) -> None:
        await client.ok("POST", path("v2"), web_app("v2", "old", "zero"))
        async with doorkeeper(client) as door:
            writing = asyncio.ensure_future(write(client))
            await door.asked.get()
            await client.patch(DEFINITION, by_webhook(hook))
            door.open.set()
            written = await writing
        assert (written["apiVersion"], written["spec"]) == (V1, {"host": "one"})
        name = written["metadata"]["name"]
        assert (await client.ok("GET", path("v2", name)))["spec"] == {"hostname": "one"}

    before_webhook("v2", run)


def test_a_deletion_that_began_before_marks_the_object_in_its_version() -> None:
    async def run(client: ApiClient, hook: Converter) -> None:
        held = web_app("v1", "a", "one")
        held["metadata"]["finalizers"] = ["example.com/hold"]
        await client.ok("POST", path("v1"), held)
        versions = [version_of(name, "v2") for name in ("v1", "v2")]
        await client.patch(DEFINITION, {"spec": {"versions": versions}})
        async with doorkeeper(client) as door:
            deleting = asyncio.ensure_future(client.ok("DELETE", path("v1", "a")))
            await door.asked.get()
            await client.patch(DEFINITION, by_webhook(hook))
            door.open.set()
            await deleting
        marked = await client.ok("GET", path("v2", "a"))
        assert "deletionTimestamp" in marked["metadata"]
        assert marked["spec"] == {"hostname": "one"}

    before_webhook("v1", run)


def test_a_request_that_waits_for_its_resource_learns_that_it_is_gone() -> None:
    async def run(client: ApiClient, hook: Converter) -> None:
        async with doorkeeper(client) as door:
            writing = asyncio.ensure_future(client.ask("POST", path("v1"), web_app("v1", "a", "one")))
            await door.asked.get()
            versions = [{**version_of("v1", "v2"), "served": False}, version_of("v2", "v2")]
            await client.patch(DEFINITION, {"spec": {"versions": versions}})
            door.open.set()
            code, _ = await writing
        assert code == 404

    before_webhook("v2", run)
