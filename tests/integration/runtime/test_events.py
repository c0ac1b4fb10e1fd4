"""Events as the API server takes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from steersman.aio import Scope
from steersman.client import Client, Unreachable
from steersman.objects.resources import EVENTS, NAMESPACES
from steersman.runtime.events import Recorder
from tests.integration.runtime.embedded import config_map, in_cluster
from tests.sim.virtual_time import VirtualClock


@asynccontextmanager
async def recording(client: Client) -> AsyncIterator[Recorder]:
    recorder = Recorder(client, "example.com/webapp-operator", "pod-1", clock=VirtualClock())
    async with Scope() as scope:
        scope.start(recorder.run())
        yield recorder
        await recorder.flush()


async def events(client: Client, namespace: str = "default") -> list[dict[str, Any]]:
    return sorted(await client.list(EVENTS, namespace), key=lambda event: event["note"])


@in_cluster
async def test_an_event_names_who_did_what_to_whom(client: Client) -> None:
    obj = await client.create(config_map("a"))
    other = await client.create(config_map("b"))
    async with recording(client) as recorder:
        recorder.event(obj, "Warning", "Broken", "it broke", action="Checking", related=other)
    [event] = await events(client)
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": "default",
        "name": "a",
        "uid": obj["metadata"]["uid"],
        "resourceVersion": obj["metadata"]["resourceVersion"],
    }
    assert event["related"]["name"] == "b"
    assert {name: event[name] for name in ("type", "reason", "note", "action")} == {
        "type": "Warning",
        "reason": "Broken",
        "note": "it broke",
        "action": "Checking",
    }
    assert event["reportingController"] == "example.com/webapp-operator"
    assert event["reportingInstance"] == "pod-1"
    assert "series" not in event
    assert event["metadata"]["name"].startswith("a.")


@pytest.mark.ours("virtual time")
@in_cluster
async def test_the_same_again_is_counted_in_one_object(client: Client) -> None:
    obj = await client.create(config_map("a"))
    async with recording(client) as recorder:
        recorder.event(obj, "Normal", "Scaled", "to 3")
        await recorder.flush()
        for _ in range(3):
            await asyncio.sleep(60)
            recorder.event(obj, "Normal", "Scaled", "to 3")
            await recorder.flush()
    [event] = await events(client)
    assert event["series"]["count"] == 4
    assert event["series"]["lastObservedTime"] > event["eventTime"]


@in_cluster
async def test_a_burst_is_one_request(client: Client) -> None:
    obj = await client.create(config_map("a"))
    async with recording(client) as recorder:
        for _ in range(100):
            recorder.event(obj, "Normal", "Busy", "very")
    [event] = await events(client)
    assert event["series"]["count"] == 25
    assert event["metadata"].get("generation") is None


@in_cluster
async def test_an_event_that_has_expired_is_told_anew(client: Client) -> None:
    obj = await client.create(config_map("a"))
    async with recording(client) as recorder:
        recorder.event(obj, "Normal", "Scaled", "to 3")
        await recorder.flush()
        [event] = await events(client)
        await client.delete(EVENTS, event["metadata"]["name"])
        recorder.event(obj, "Normal", "Scaled", "to 3")
    [again] = await events(client)
    assert again["metadata"]["name"] != event["metadata"]["name"]
    assert again["series"]["count"] == 2


@in_cluster
async def test_events_about_objects_without_a_namespace_are_in_default(client: Client) -> None:
    namespace = await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    async with recording(client) as recorder:
        recorder.event(namespace, "Normal", "Seen", "x" * 3000)
    [event] = await events(client)
    assert event["regarding"]["kind"] == "Namespace"
    assert len(event["note"].encode()) <= 1024


@in_cluster
async def test_objects_may_have_names_that_events_may_not(client: Client) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a:b"}}
    async with recording(client) as recorder:
        recorder.event(role, "Normal", "Seen", "odd name")
    [event] = await events(client)
    assert event["regarding"]["name"] == "a:b"


@in_cluster
async def test_recording_never_fails(client: Client) -> None:
    recorder = Recorder(client, "example.com/op", "pod-1", clock=VirtualClock())
    recorder.event({"kind": "Nothing"}, "Normal", "Odd", "no name")
    missing = config_map("a", namespace="missing", uid="u")
    async with Scope() as scope:
        scope.start(recorder.run())
        recorder.event(missing, "Normal", "Odd", "no such namespace")
        await recorder.flush()
    assert await events(client, "missing") == []
    assert recorder.lost.by_cause == {"their namespace ends": 1}


@in_cluster
async def test_nobody_hears_of_events_in_a_namespace_that_ends(client: Client) -> None:
    held = {"metadata": {"name": "ending", "finalizers": ["example.com/held"]}}
    await client.create(held, kind=NAMESPACES)
    await client.delete(NAMESPACES, "ending")
    async with recording(client) as recorder:
        for name in ("a", "b"):
            recorder.event(config_map(name, namespace="ending", uid="u"), "Normal", "Odd", "too late")
    assert recorder.lost.by_cause == {"their namespace ends": 2}


@in_cluster
async def test_what_could_not_be_sent_is_tried_again_and_then_given_up(client: Client) -> None:
    obj = await client.create(config_map("a"))
    tries = 0
    working = client.create

    async def flaky(*arguments: Any, **options: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries in (1, 2, 4, 5, 6, 7, 8):
            raise Unreachable("connection refused")
        return await working(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "create", flaky)
        async with recording(client) as recorder:
            recorder.event(obj, "Normal", "First", "sent at the third try")
            await recorder.flush()
            recorder.event(obj, "Normal", "Second", "given up after five")
    assert [event["reason"] for event in await events(client)] == ["First"]
    assert tries == 8


@in_cluster
async def test_a_full_buffer_drops_what_is_new(client: Client) -> None:
    recorder = Recorder(client, "example.com/op", "pod-1", clock=VirtualClock())
    for number in range(1200):
        recorder.event(config_map(f"n{number}", namespace="default", uid="u"), "Normal", "Many", "x")
    assert recorder.lost.total == 200


@in_cluster
async def test_parts_of_an_object_have_events_of_their_own(client: Client) -> None:
    recorder = Recorder(client, "test", "here")
    pod = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "p", "uid": "u"}
    async with Scope() as scope:
        scope.start(recorder.run())
        for container in ("a", "b", "b"):
            part = {**pod, "fieldPath": f"spec.containers{{{container}}}"}
            recorder.event(part, "Normal", "Started", "Container started")
        await recorder.flush()
    found = await client.list(EVENTS, "default")
    assert sorted(event["regarding"]["fieldPath"] for event in found) == [
        "spec.containers{a}",
        "spec.containers{b}",
    ]
