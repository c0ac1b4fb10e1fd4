"""Promises about custom resource definitions and their objects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import orjson

from steersman.http import Request, Response
from tests.support.api import PATIENCE_S, ApiClient, Events

from .definitions import custom, definition, definitions, establish, remove, version
from .hooks import SERVICE, ca_bundle, service_for, serving
from .keeping import NAMESPACE, Collection, Object, newer, promise, until

STABLE = "stable.example.com"


def _random(number: int = 0, **more: Object) -> Object:
    return definition("mygroup.example.com", f"Foo{number}", namespaced=False, **more)


@promise(
    "CustomResourceDefinition resources Simple CustomResourceDefinition creating/deleting custom resource definition objects works"
)
async def test_a_definition_comes_and_goes(client: ApiClient) -> None:
    await remove(client, await establish(client, _random()))


@promise(
    "CustomResourceDefinition resources Simple CustomResourceDefinition listing custom resource definition objects works"
)
async def test_definitions_are_listed_and_deleted_by_label(client: ApiClient) -> None:
    label = {"e2e-list-test-uuid": "x"}
    made = {}
    for number in range(10):
        one = await establish(client, _random(number, labels=label))
        made[one["metadata"]["name"]] = one["spec"]
    other = await establish(client, _random(10))
    listed = await definitions(client).list("e2e-list-test-uuid=x")
    assert {one["metadata"]["name"]: one["spec"] for one in listed} == made
    await definitions(client).delete_all("e2e-list-test-uuid=x")

    async def gone() -> bool:
        return not await definitions(client).list("e2e-list-test-uuid=x")

    await until(gone)
    await definitions(client).get(other["metadata"]["name"])


@promise(
    "CustomResourceDefinition resources Simple CustomResourceDefinition getting/updating/patching custom resource definition status sub-resource works"
)
async def test_the_status_of_a_definition_is_changed(client: ApiClient) -> None:
    made = await establish(client, _random())
    name = made["metadata"]["name"]

    def add(obj: Object) -> Object:
        assert obj["spec"] == made["spec"]
        condition = {"type": "", "status": "", "lastTransitionTime": None, "message": "updated"}
        obj["status"]["conditions"].append(condition)
        return obj

    updated = await definitions(client).change(name, add, "status")
    assert "updated" in [condition.get("message") for condition in updated["status"]["conditions"]]
    patch = [{"op": "add", "path": "/status/conditions", "value": [{"message": "patched"}]}]
    patched = await definitions(client).patch(name, patch, "json", "status")
    assert [condition.get("message") for condition in patched["status"]["conditions"]] == ["patched"]


def _default(field: str, value: str) -> Object:
    path = f"/spec/versions/0/schema/openAPIV3Schema/properties/{field}/default"
    return {"op": "add", "path": path, "value": value}


@promise("CustomResourceDefinition resources custom resource defaulting for requests and from storage works")
async def test_defaults_are_filled_in_when_writing_and_when_reading(client: ApiClient) -> None:
    schema = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    }
    made = await establish(
        client, definition("g.example.com", "Foo", version("v1", schema), namespaced=False)
    )
    objects = custom(client, made)
    head = {"apiVersion": objects.version, "kind": "Foo"}
    first = await objects.create({**head, "metadata": {"name": "one"}})
    assert "a" not in first

    async def shown(name: str, **fields: str) -> None:
        async def read() -> bool:
            obj = await objects.get(name)
            return all(obj.get(field) == value for field, value in fields.items())

        await until(read)

    await definitions(client).patch(made["metadata"]["name"], [_default("a", "A")], "json")
    await shown("one", a="A")
    second = await objects.create({**head, "metadata": {"name": "two"}})
    assert second["a"] == "A"
    other = [{"op": "remove", "path": _default("a", "")["path"]}, _default("b", "B")]
    await definitions(client).patch(made["metadata"]["name"], other, "json")
    # What was filled in when writing stays.
    await shown("two", a="A", b="B")
    assert newer(second, first)


@promise(
    "CustomResourceDefinition Watch CustomResourceDefinition Watch watch on custom resource definition objects"
)
async def test_custom_objects_are_watched_by_name(client: ApiClient) -> None:
    objects = custom(client, await establish(client, definition("g.example.com", "Noxu", namespaced=False)))
    async with (
        objects.watch(fieldSelector="metadata.name=name1", timeoutSeconds=600) as one,
        objects.watch(fieldSelector="metadata.name=name2", timeoutSeconds=600) as two,
    ):
        watches = {"name1": one, "name2": two}
        for name, events in watches.items():
            head = {"apiVersion": objects.version, "kind": "Noxu", "metadata": {"name": name}}
            made = await objects.create({**head, "content": {"key": "value"}, "num": {"num1": 1}})
            assert made["metadata"]["uid"]
            assert await events.next() == {"type": "ADDED", "object": made}
        for name, events in watches.items():
            await objects.patch(name, [{"op": "add", "path": "/dummy", "value": "test"}], "json")
            assert await events.take(1) == [("MODIFIED", name)]
        for name, events in watches.items():
            await objects.delete(name)
            # Of the other object it has seen nothing all the while.
            assert await events.take(1) == [("DELETED", name)]


def _convert(request: Request) -> Response:
    """host:port in v1, host and port in v2."""
    review = orjson.loads(request.content)
    asked = review["request"]
    made = []
    for obj in asked["objects"]:
        assert obj["apiVersion"] != asked["desiredAPIVersion"]
        if asked["desiredAPIVersion"] == f"{STABLE}/v2":
            if "hostPort" in obj:
                obj["host"], _, obj["port"] = obj.pop("hostPort").partition(":")
        elif "host" in obj or "port" in obj:
            obj["hostPort"] = f"{obj.pop('host', '')}:{obj.pop('port', '')}"
        made.append({**obj, "apiVersion": asked["desiredAPIVersion"]})
    answer = {"uid": asked["uid"], "convertedObjects": made, "result": {"status": "Success"}}
    return Response(200, orjson.dumps({**review, "request": None, "response": answer}))


def _fields(*names: str) -> Object:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


def _converting(port: int, *, selectable: bool = False) -> Object:
    def fields(*names: str) -> Object:
        return {"selectableFields": [{"jsonPath": f".{name}"} for name in names]} if selectable else {}

    service = {"namespace": NAMESPACE, "name": SERVICE, "path": "/crdconvert", "port": port}
    config = {"caBundle": ca_bundle(), "service": service}
    webhook = {"clientConfig": config, "conversionReviewVersions": ["v1", "v1beta1"]}
    return definition(
        STABLE,
        "Tested",
        version("v1", _fields("hostPort"), **fields("hostPort")),
        version("v2", _fields("host", "port"), storage=False, **fields("host", "port")),
        conversion={"strategy": "Webhook", "webhook": webhook},
    )


def _converted(
    test: Callable[[Collection, Collection, Object], Awaitable[None]], *, selectable: bool = False
) -> Callable[[ApiClient], Awaitable[None]]:
    """A test of objects in both versions."""

    async def run(client: ApiClient) -> None:
        async with serving(_convert) as port:
            await service_for(client)
            made = await establish(client, _converting(port, selectable=selectable))
            versions = [custom(client, made, number, NAMESPACE) for number in ("v1", "v2")]
            await test(versions[0], versions[1], made)

    run.__name__ = test.__name__
    return run


def _tested(number: str, name: str, **fields: str) -> Object:
    head = {"apiVersion": f"{STABLE}/{number}", "kind": "Tested"}
    return {**head, "metadata": {"name": name, "namespace": NAMESPACE}, **fields}


def _shown(obj: Object) -> tuple[str, Object]:
    fields = {name: obj[name] for name in ("hostPort", "host", "port") if name in obj}
    return obj["apiVersion"], fields


_V1 = (f"{STABLE}/v1", {"hostPort": "localhost:8080"})
_V2 = (f"{STABLE}/v2", {"host": "localhost", "port": "8080"})


@promise("CustomResourceConversionWebhook should be able to convert from CR v1 to CR v2")
@_converted
async def test_an_object_is_read_in_another_version(v1: Collection, v2: Collection, made: Object) -> None:
    await v1.create(_tested("v1", "cr-1", hostPort="localhost:8080"))
    assert _shown(await v1.get("cr-1")) == _V1
    assert _shown(await v2.get("cr-1")) == _V2


@promise("CustomResourceConversionWebhook should be able to convert a non homogeneous list of CRs")
@_converted
async def test_a_list_of_objects_stored_in_two_versions(v1: Collection, v2: Collection, made: Object) -> None:
    await v1.create(_tested("v1", "cr-1", hostPort="localhost:8080"))

    def store_v2(obj: Object) -> Object:
        for each in obj["spec"]["versions"]:
            each["storage"] = each["name"] == "v2"
        return obj

    await definitions(v1.client).change(made["metadata"]["name"], store_v2)

    async def stored() -> bool:
        status = (await definitions(v1.client).get(made["metadata"]["name"]))["status"]
        return "v2" in status["storedVersions"]

    await until(stored)
    await v1.create(_tested("v1", "cr-2", hostPort="localhost:8080"))
    for objects, shown in ((v1, _V1), (v2, _V2)):
        listed = await objects.list()
        assert [_shown(obj) for obj in listed] == [shown, shown]


class _Names:
    """The names that a stream has shown so far."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self.added: set[str] = set()
        self.deleted: set[str] = set()

    async def show(self, added: set[str], deleted: set[str]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while (self.added, self.deleted) != (added, deleted):
                event = await self._events.next()
                name = event["object"]["metadata"].get("name")
                if event["type"] in ("ADDED", "DELETED"):
                    (self.added if event["type"] == "ADDED" else self.deleted).add(name)
                assert self.added <= added
                assert self.deleted <= deleted


async def _field_selectors(v1: Collection, v2: Collection, made: Object) -> None:
    host, both, joined = "host=host1", "host=host1,port=80", "hostPort=host1:80"
    informer = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    async with (
        v2.watch(fieldSelector=host) as by_host,
        v2.watch(fieldSelector=both) as by_both,
        v1.watch(fieldSelector=joined) as by_joined,
        v2.watch(fieldSelector=host, **informer) as informer_by_host,
        v2.watch(fieldSelector=both, **informer) as informer_by_both,
    ):
        streams = [_Names(events) for events in (by_host, informer_by_host)]
        narrow = [_Names(events) for events in (by_both, by_joined, informer_by_both)]
        await v2.create(_tested("v2", "one", host="host1", port="80"))
        await v2.create(_tested("v2", "two", host="host1", port="8080"))
        await v2.create(_tested("v2", "three", host="host2"))
        assert set(await v2.names(fieldSelector=host)) == {"one", "two"}
        assert await v2.names(fieldSelector=both) == ["one"]
        assert await v1.names(fieldSelector=joined) == ["one"]
        assert await v1.names(fieldSelector="hostPort=host1:8080") == ["two"]
        for stream in streams:
            await stream.show({"one", "two"}, set())
        for stream in narrow:
            await stream.show({"one"}, set())
        await v2.client.ok("DELETE", v2.many(fieldSelector=both), {"gracePeriodSeconds": 0})
        await v2.change("two", lambda obj: {**obj, "host": "host2"})
        assert await v2.names(fieldSelector=host) == await v2.names(fieldSelector=both) == []
        for stream in streams:
            await stream.show({"one", "two"}, {"one", "two"})
        for stream in narrow:
            await stream.show({"one"}, {"one"})


@promise(
    "CustomResourceFieldSelectors CustomResourceFieldSelectors MUST list and watch custom resources matching the field selector"
)
async def test_field_selectors_are_about_the_version_asked_for(client: ApiClient) -> None:
    await _converted(_field_selectors, selectable=True)(client)
