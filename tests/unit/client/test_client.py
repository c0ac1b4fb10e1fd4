"""What the client asks for, and what it makes of the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Self

import orjson
import pytest

from steersman.client import Client, Expired, NoSuchKind, NotFound, Unreachable, WatchEvent
from steersman.http.errors import Disconnected
from steersman.objects.resource_type import ResourceType
from tests.unit.client.conftest import Answer, Script, StoppedClock

PODS = ResourceType("", "v1", "Pod", "pods")
NODES = ResourceType("", "v1", "Node", "nodes", namespaced=False)
DEPLOYMENTS = ResourceType("apps", "v1", "Deployment", "deployments")
EXPIRED: Answer = (410, {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}, {})


class Note:
    """A class for one kind, as the builders and custom resources are."""

    resource_type: ClassVar[ResourceType] = ResourceType("example.com", "v1", "Note", "notes")

    def __init__(self, name: str, text: str = "") -> None:
        self.name = name
        self.text = text

    @classmethod
    def from_object(cls, obj: Mapping[str, Any], /) -> Self:
        return cls(obj["metadata"]["name"], obj.get("text", ""))

    def to_object(self) -> dict[str, Any]:
        metadata = {"name": self.name}
        return {"apiVersion": "example.com/v1", "kind": "Note", "metadata": metadata, "text": self.text}


NOTE: Answer = (200, {"metadata": {"name": "n"}, "text": "hello"}, {})


def play(script: Script, act: Callable[[Client], Awaitable[Any]], namespace: str = "mine") -> Any:
    async def main() -> Any:
        async with Client(script, namespace=namespace, clock=StoppedClock()) as client:
            return await act(client)

    return asyncio.run(main())


ANY: Answer = (200, {"kind": "Any"}, {})
BODY = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
ELSEWHERE = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "theirs"}}
JSON_TYPE = "application/json"


@pytest.mark.parametrize(
    ("act", "line", "content_type"),
    [
        (lambda c: c.get(PODS, "p"), "GET /api/v1/namespaces/mine/pods/p", None),
        (lambda c: c.get(PODS, "p", "x", subresource="status"), "GET /api/v1/namespaces/x/pods/p/status", None),
        (lambda c: c.get(NODES, "n"), "GET /api/v1/nodes/n", None),
        (lambda c: c.create(BODY, kind=PODS), "POST /api/v1/namespaces/mine/pods", JSON_TYPE),
        (lambda c: c.create(ELSEWHERE, kind=PODS), "POST /api/v1/namespaces/theirs/pods", JSON_TYPE),
        (lambda c: c.create(BODY, kind=PODS, namespace="x"), "POST /api/v1/namespaces/x/pods", JSON_TYPE),
        (
            lambda c: c.create(BODY, kind=PODS, dry_run=True, field_manager="me"),
            "POST /api/v1/namespaces/mine/pods?fieldManager=me&dryRun=All",
            JSON_TYPE,
        ),
        (
            lambda c: c.replace(BODY, kind=PODS, subresource="status"),
            "PUT /api/v1/namespaces/mine/pods/p/status",
            JSON_TYPE,
        ),
        (
            lambda c: c.apply(BODY, kind=PODS, field_manager="me"),
            "PATCH /api/v1/namespaces/mine/pods/p?fieldManager=me&force=true",
            "application/apply-patch+yaml",
        ),
        (
            lambda c: c.apply(BODY, kind=PODS, field_manager="me", force=False, subresource="status"),
            "PATCH /api/v1/namespaces/mine/pods/p/status?fieldManager=me",
            "application/apply-patch+yaml",
        ),
        (
            lambda c: c.patch(PODS, "p", {}),
            "PATCH /api/v1/namespaces/mine/pods/p",
            "application/merge-patch+json",
        ),
        (
            lambda c: c.patch(PODS, "p", [], "x", type="json", subresource="status", dry_run=True),
            "PATCH /api/v1/namespaces/x/pods/p/status?dryRun=All",
            "application/json-patch+json",
        ),
        (
            lambda c: c.patch(PODS, "p", {}, type="strategic", field_manager="me"),
            "PATCH /api/v1/namespaces/mine/pods/p?fieldManager=me",
            "application/strategic-merge-patch+json",
        ),
        (lambda c: c.delete(PODS, "p"), "DELETE /api/v1/namespaces/mine/pods/p", None),
        (lambda c: c.delete(PODS, "p", uid="u"), "DELETE /api/v1/namespaces/mine/pods/p", JSON_TYPE),
        (
            lambda c: c.delete_collection(PODS, labels="a=b"),
            "DELETE /api/v1/namespaces/mine/pods?labelSelector=a%3Db",
            None,
        ),
        (
            lambda c: c.evict("p", grace_s=0),
            "POST /api/v1/namespaces/mine/pods/p/eviction",
            JSON_TYPE,
        ),
        (
            lambda c: c.list(PODS, fields="a=b", limit=7),
            "GET /api/v1/pods?fieldSelector=a%3Db&limit=7",
            None,
        ),
        (lambda c: c.list(PODS, "x", limit=0), "GET /api/v1/namespaces/x/pods", None),
        (
            lambda c: c.logs("p", tail=0, container="a", timestamps=True, since_s=5),
            "GET /api/v1/namespaces/mine/pods/p/log?container=a&tailLines=0&sinceSeconds=5&timestamps=true",
            None,
        ),
        (lambda c: c.request("POST", "/x", query={"a": "b c"}, body={"d": 1}), "POST /x?a=b%20c", JSON_TYPE),
        (lambda c: c.request("GET", "/healthz"), "GET /healthz", None),
    ],
)  # fmt: skip
def test_each_call_is_this_request(
    act: Callable[[Client], Awaitable[Any]], line: str, content_type: str | None
) -> None:
    script = Script([ANY])
    play(script, act)
    (sent,) = script.sent
    assert f"{sent.method} {sent.target}" == line
    assert sent.headers.get("content-type") == content_type
    assert bool(sent.content) is (content_type is not None)


def test_delete_says_only_what_was_asked_for() -> None:
    script = Script([ANY, ANY])

    async def act(client: Client) -> None:
        await client.delete(PODS, "p", propagation="Foreground", uid="u", resource_version="7", grace_s=0)
        await client.delete(PODS, "p", dry_run=True)

    play(script, act)
    assert [orjson.loads(sent.content) for sent in script.sent] == [
        {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Foreground",
            "preconditions": {"uid": "u", "resourceVersion": "7"},
            "gracePeriodSeconds": 0,
        },
        {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]},
    ]


GOING = {"deletionTimestamp": "2026-11-16T09:00:00Z"}


@pytest.mark.parametrize(
    ("answer", "remains"),
    [
        ({"kind": "Status", "status": "Success"}, False),
        ({"kind": "Pod", "metadata": {"name": "p"}}, False),
        ({"kind": "Pod", "metadata": {**GOING, "deletionGracePeriodSeconds": 30}}, True),
        ({"kind": "Pod", "metadata": {**GOING, "deletionGracePeriodSeconds": 0}}, False),
        ({"kind": "Note", "metadata": {**GOING, "finalizers": ["a/b"]}}, True),
        ({"kind": "Note", "metadata": {"finalizers": ["a/b"]}}, False),
        ({"kind": "Namespace", "metadata": GOING, "spec": {"finalizers": ["kubernetes"]}}, True),
        ({"kind": "Namespace", "metadata": GOING, "spec": {}}, False),
    ],
    ids=["status", "gone", "grace", "no grace", "finalizer", "finalizer, not going", "namespace", "empty namespace"],
)  # fmt: skip
def test_what_is_deleted_is_returned_while_it_is_there(answer: Any, remains: bool) -> None:
    returned = play(Script([(200, answer, {})]), lambda c: c.delete(PODS, "p"))
    assert returned == (answer if remains else None)


def test_a_class_gives_its_instances() -> None:
    page: Answer = (200, {"metadata": {"resourceVersion": "4"}, "items": [NOTE[1]]}, {})
    script = Script([NOTE, NOTE, page, NOTE, NOTE, NOTE])

    async def act(client: Client) -> None:
        made = await client.create(Note("n", "hello"))
        got = await client.get(Note, "n")
        listed = await client.list(Note)
        found = await client.find(Note, "n")
        applied = await client.apply(Note("n"), field_manager="m")
        patched = await client.patch(Note, "n", {})
        assert found is not None
        assert [note.text for note in (made, got, *listed, found, applied, patched)] == ["hello"] * 6
        assert listed.resource_version == "4"

    play(script, act)
    assert orjson.loads(script.sent[0].content) == Note("n", "hello").to_object()
    assert script.sent[0].target == "/apis/example.com/v1/namespaces/mine/notes"


def pages(*tokens: str) -> list[Answer]:
    return [
        (200, {"metadata": {"resourceVersion": "9", "continue": token}, "items": [{"metadata": {}}]}, {})
        for token in tokens
    ]


def test_a_list_is_fetched_page_by_page() -> None:
    script = Script(pages("one", "two", ""))
    assert len(play(script, lambda c: c.list(PODS, limit=1))) == 3
    assert [sent.target for sent in script.sent] == [
        "/api/v1/pods?limit=1",
        "/api/v1/pods?limit=1&continue=one",
        "/api/v1/pods?limit=1&continue=two",
    ]


def test_a_list_that_expires_on_the_way_is_fetched_as_a_whole() -> None:
    script = Script([*pages("one"), EXPIRED, *pages("")])
    assert len(play(script, lambda c: c.list(PODS, labels="a", limit=1))) == 1
    assert script.sent[2].target == "/api/v1/pods?labelSelector=a"


def test_a_list_that_expires_at_once_is_an_error() -> None:
    with pytest.raises(Expired):
        play(Script([EXPIRED]), lambda c: c.list(PODS))


def test_only_metadata_can_be_asked_for() -> None:
    script = Script([*pages(""), (200, b"", {})])

    async def act(client: Client) -> None:
        await client.list_page(PODS, metadata_only=True)
        async with client.watch(PODS, metadata_only=True):
            pass

    play(script, act)
    kinds = ["PartialObjectMetadataList", "PartialObjectMetadata"]
    assert [sent.headers["accept"] for sent in script.sent] == [
        f"application/json;as={kind};g=meta.k8s.io;v=v1" for kind in kinds
    ]


def test_the_same_client_may_go_by_another_name() -> None:
    script = Script([NOTE, NOTE])

    async def act(client: Client) -> None:
        await client.named("kubelet").get(PODS, "n")
        await client.get(PODS, "n")

    play(script, act)
    assert [sent.headers.get("user-agent") for sent in script.sent] == ["kubelet", None]


def test_a_watch_asks_for_what_it_is_told_to() -> None:
    script = Script([(200, b"", {})])

    async def act(client: Client) -> None:
        async with client.watch(
            DEPLOYMENTS, "x", resource_version="7", labels="a=b", timeout_s=300, initial_events=True
        ):
            pass

    play(script, act)
    assert script.sent[0].target == (
        "/apis/apps/v1/namespaces/x/deployments?watch=true&resourceVersion=7&labelSelector=a%3Db"
        "&timeoutSeconds=300&allowWatchBookmarks=true&sendInitialEvents=true"
        "&resourceVersionMatch=NotOlderThan"
    )


def watched(content: bytes) -> list[WatchEvent]:
    async def act(client: Client) -> list[WatchEvent]:
        async with client.watch(PODS) as events:
            return [event async for event in events]

    found: list[WatchEvent] = play(Script([(200, content, {})]), act)
    return found


def test_events_are_cut_and_not_decoded() -> None:
    events = watched(
        b'{"type":"ADDED","object":{"a": 1 }}\n\n{"object":{"b":[]},"more":2,"type":"DELETED"}\n'
        b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}}\n'
    )
    assert [(event.type, event.object) for event in events[:2]] == [
        ("ADDED", b'{"a": 1 }'), ("DELETED", b'{"b":[]}'),
    ]  # fmt: skip
    assert events[0].decode() == {"a": 1}
    assert isinstance(events[2].error(), Expired)


@pytest.mark.parametrize("line", [b"nonsense\n", b'{"type":"ADDED"}\n', b'{"type":"ADDED","object":{"a"'])
def test_a_line_that_is_no_event_is_an_error(line: bytes) -> None:
    with pytest.raises(Unreachable, match="the watch sent an invalid event"):
        watched(line)


GROUP: Answer = (200, {"resources": [
    {"name": "notes", "kind": "Note", "namespaced": True},
    {"name": "notes/status", "kind": "Note", "namespaced": True},
]}, {})  # fmt: skip
A_NOTE = {"apiVersion": "example.com/v1", "kind": "Note", "metadata": {"name": "n"}}
NOT_SERVED: Answer = (404, {"kind": "Status", "code": 404, "reason": "NotFound", "details": {}}, {})
NOT_THERE: Answer = (404, {"kind": "Status", "code": 404, "reason": "NotFound", "details": {"name": "n"}}, {})


def test_a_dict_is_looked_up_once() -> None:
    script = Script([GROUP, ANY, ANY])

    async def act(client: Client) -> None:
        await client.create(A_NOTE)
        await client.replace(A_NOTE)

    play(script, act)
    assert [sent.target for sent in script.sent] == [
        "/apis/example.com/v1",
        "/apis/example.com/v1/namespaces/mine/notes",
        "/apis/example.com/v1/namespaces/mine/notes/n",
    ]


def test_a_kind_that_is_gone_is_looked_up_again() -> None:
    script = Script([GROUP, NOT_SERVED, GROUP, NOT_THERE, ANY])

    async def act(client: Client) -> None:
        for _ in range(2):
            with pytest.raises(NotFound):
                await client.replace(A_NOTE)
        await client.create(A_NOTE)

    play(script, act)
    assert [sent.target for sent in script.sent].count("/apis/example.com/v1") == 2


@pytest.mark.parametrize("answer", [NOT_SERVED, (200, {"resources": []}, {})], ids=["no group", "no kind"])
def test_a_kind_that_is_not_there_is_asked_for_each_time(answer: Any) -> None:
    script = Script([answer, GROUP])

    async def act(client: Client) -> None:
        with pytest.raises(NoSuchKind, match='no matches for kind "Note" in version "example'):
            await client.resource_type("example.com/v1", "Note")
        assert await client.resource_type("example.com/v1", "Note") == Note.resource_type

    play(script, act)


def test_a_dict_that_does_not_say_what_it_is_is_refused() -> None:
    with pytest.raises(ValueError, match="the object has no apiVersion"):
        play(Script([]), lambda c: c.create({"kind": "Note"}))


def test_a_dict_of_a_known_kind_need_not_say_what_it_is() -> None:
    script = Script([ANY])
    play(script, lambda c: c.create({"metadata": {"name": "p"}}, kind=PODS))
    assert orjson.loads(script.sent[0].content) == BODY


def test_an_object_without_name_cannot_be_replaced() -> None:
    with pytest.raises(ValueError, match="is not a valid name of an object"):
        play(Script([]), lambda c: c.replace({"metadata": {}}, kind=PODS))


def test_a_broken_log_is_unreachable() -> None:
    class Breaking(Script):
        def _next(self, *args: Any) -> Any:
            status, headers, _ = super()._next(*args)
            return status, headers, b"one\ntwo"

    async def act(client: Client) -> list[bytes]:
        seen = []
        async with client.follow_logs("p") as lines:
            async for line in lines:
                seen.append(line)
        return seen

    assert play(Breaking([ANY]), act) == [b"one", b"two"]
    with pytest.raises(Unreachable):
        play(Script([Disconnected("cut")]), act)
