"""Promises about events, in both groups they are served in."""

from __future__ import annotations

import copy

from tests.support.api import ApiClient

from .keeping import NAMESPACE, Collection, Object, newer, promise

SELECTOR = "testevent-constant=true"
SET = "testevent-set=true"


def _events(client: ApiClient) -> Collection:
    return Collection(client, "events.k8s.io/v1", "events", NAMESPACE)


def _core_events(client: ApiClient) -> Collection:
    return Collection(client, "v1", "events", NAMESPACE)


def _event(name: str, label: str) -> Object:
    return {
        "metadata": {"name": name, "labels": {label: "true"}},
        "regarding": {"namespace": NAMESPACE},
        "eventTime": "2017-09-19T13:49:16.000000Z",
        "note": f"This is {name}",
        "action": "Do",
        "reason": "Test",
        "type": "Normal",
        "reportingController": "test-controller",
        "reportingInstance": "test-node",
    }


def _core_event(name: str, label: str) -> Object:
    return {
        "metadata": {"name": name, "labels": {label: "true"}},
        "message": f"This is {name}",
        "reason": "Test",
        "type": "Normal",
        "count": 1,
        "involvedObject": {"namespace": NAMESPACE},
        # What a typed client sends for what is not set.
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }


def _series(count: int, second: int) -> Object:
    return {"count": count, "lastObservedTime": f"2017-09-19T13:49:{second:02}.000000Z"}


def _unwritten(obj: Object) -> Object:
    """Without what the server says about its writes."""
    bare = copy.deepcopy(obj)
    for name in ("resourceVersion", "managedFields"):
        bare["metadata"].pop(name, None)
    return bare


@promise("Events API should ensure that an event can be fetched, patched, deleted, and listed")
async def test_the_life_of_an_event(client: ApiClient) -> None:
    events = _events(client)
    created = await events.create(_event("event-test", "testevent-constant"))
    for place in (events, events.everywhere):
        assert await place.names(SELECTOR) == ["event-test"]
    assert await _core_events(client).names(fieldSelector="source=test-controller") == ["event-test"]
    assert await events.names(fieldSelector="reportingController=test-controller") == ["event-test"]
    wanted = {**_unwritten(await events.get("event-test")), "series": _series(2, 11)}
    await events.patch("event-test", {"series": _series(2, 11)}, "strategic")
    patched = await events.get("event-test")
    assert newer(patched, created)
    assert _unwritten(patched) == wanted
    # An update without a resource version is unconditional.
    wanted["series"] = _series(100, 16)
    await events.replace(wanted)
    assert _unwritten(await events.get("event-test")) == wanted
    await events.delete("event-test")
    for place in (events, events.everywhere):
        assert await place.names(SELECTOR) == []


@promise("Events API should delete a collection of events")
async def test_a_collection_of_events_is_deleted(client: ApiClient) -> None:
    events = _events(client)
    for number in (1, 2, 3):
        await events.create(_event(f"test-event-{number}", "testevent-set"))
    assert len(await events.list(SET)) == 3
    await events.delete_all(SET)
    assert await events.list(SET) == []


@promise("Events should manage the lifecycle of an event")
async def test_the_life_of_a_core_event(client: ApiClient) -> None:
    events = _core_events(client)
    await events.create(_core_event("event-test", "testevent-constant"))
    assert await events.everywhere.names(SELECTOR) == ["event-test"]
    message = "This is a test event - patched"
    await events.patch("event-test", {"message": message}, "strategic")
    found = await events.get("event-test")
    assert found["message"] == message
    wanted = {**_unwritten(found), "series": _series(100, 16)}
    await events.replace(wanted)
    assert _unwritten(await events.get("event-test")) == wanted
    await events.delete("event-test")
    assert await events.everywhere.names(SELECTOR) == []


@promise("Events should delete a collection of events")
async def test_a_collection_of_core_events_is_deleted(client: ApiClient) -> None:
    events = _core_events(client)
    for number in (1, 2, 3):
        await events.create(_core_event(f"test-event-{number}", "testevent-set"))
    assert len(await events.list(SET)) == 3
    await events.delete_all(SET)
    assert await events.list(SET) == []
