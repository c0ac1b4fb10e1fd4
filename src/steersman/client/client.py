"""The client: objects of any kind, read, written and watched.

`kind` is a `ResourceType`, and objects are plain dicts, or a class (a builder, a custom resource), and
objects are its instances. Methods build a request and hand it to `Sender`; what a request says is in
`targets`, what goes wrong is in `errors`.

Without a namespace, single objects are looked for in the client's own, collections in all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Required, Self, TypedDict, TypeVar, Unpack, overload

import orjson

from steersman.aio import Clock, SystemClock
from steersman.client.answers import read_object
from steersman.client.credentials import Anonymous, Credentials
from steersman.client.discovery import Discovery
from steersman.client.errors import Expired, NotFound
from steersman.client.listing import Listed, Page, read_page
from steersman.client.pods import InsidePods
from steersman.client.sending import JSON, Observe, Sender, Wire
from steersman.client.targets import Query, collection, one, with_query
from steersman.client.transport import Transport
from steersman.client.watching import WatchEvents
from steersman.objects.kinds import Object
from steersman.objects.resource_type import ResourceType, Typed

__all__ = ["Client", "Object", "PatchType"]

T = TypeVar("T", bound=Typed)
PatchType = Literal["merge", "json", "strategic"]
Propagation = Literal["Foreground", "Background", "Orphan"]
Patch = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class WriteOptions(TypedDict, total=False):
    """What can be said with a write of a whole object."""

    namespace: str | None
    """Where; else where the object says, else the client's own."""
    kind: ResourceType | None
    """What a dict is; else the resource that the API serves for its apiVersion and kind."""
    field_manager: str | None
    dry_run: bool
    """Have everything checked and nothing stored."""


class ApplyOptions(TypedDict, total=False):
    """What can be said with a server-side apply."""

    field_manager: Required[str]
    force: bool
    """Take fields over from other managers (the default)."""
    namespace: str | None
    kind: ResourceType | None
    dry_run: bool


class PatchOptions(TypedDict, total=False):
    """What can be said with a patch."""

    type: PatchType
    subresource: str
    field_manager: str | None
    force: bool
    dry_run: bool


_WRITE = Wire(content_type=b"application/json")
_APPLY = Wire(content_type=b"application/apply-patch+yaml")
_PATCHES: Mapping[PatchType, Wire] = {
    "merge": Wire(content_type=b"application/merge-patch+json"),
    "json": Wire(content_type=b"application/json-patch+json"),
    "strategic": Wire(content_type=b"application/strategic-merge-patch+json"),
}
_METADATA = Wire(b"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
_METADATA_LIST = Wire(b"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")


class Client(InsidePods):
    """One user's way to one API server. Use it as an async context manager, or call `close`."""

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str = "default",
        credentials: Credentials | None = None,
        observe: Observe | None = None,
        clock: Clock | None = None,
        host: str = "",
    ) -> None:
        super().__init__(
            Sender(transport, credentials or Anonymous(), clock or SystemClock(), observe), namespace
        )
        self.host = host
        self._discovery = Discovery(self._sender)

    @classmethod
    def load(
        cls,
        *,
        kubeconfig: str | Path | None = None,
        context: str | None = None,
        user_agent: str | None = None,
        observe: Observe | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """The client for the kubeconfig given, else KUBECONFIG's, else this pod's, else ~/.kube/config.

        Raises `ConfigError`. Nothing is sent yet.
        """
        # Only needed where a configuration is read, which a client in the cluster's own process never does.
        from steersman.client.connecting import connect, find_settings

        clock = clock or SystemClock()
        settings = find_settings(kubeconfig, context)
        made = connect(settings, user_agent, clock)
        return cls(
            made.transport,
            namespace=settings.namespace,
            credentials=made.credentials,
            observe=observe,
            clock=clock,
            host=made.host,
        )

    def observe_requests(self, observe: Observe) -> Callable[[], None]:
        """Tell `observe`, too, the method and code of every request, until what is returned is called."""
        return self._sender.observe(observe)

    def carry(self, wrap: Callable[[Transport], Transport]) -> None:
        """Have requests carried by what `wrap` makes of the transport: for those who look on."""
        self._sender.transport = wrap(self._sender.transport)

    def named(self, user_agent: str) -> Self:
        """This client under another name, which is that of the manager of the fields it writes. They share
        their connections: closing one closes the other."""
        twin = copy(self)
        twin._sender = self._sender.named(user_agent)
        twin._discovery = Discovery(twin._sender)
        return twin

    def ignore_warnings(self) -> None:
        """Do not log what the API warns of: nobody here can do anything about it."""
        self._sender.logs_warnings = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Drop all connections; requests in flight fail."""
        await self._sender.transport.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout_s: float | None = None,
    ) -> bytes:
        """Any request to the API. `body` is bytes, or what JSON can say. Raises `ApiError`."""
        content = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        wire = Wire(accept.encode(), content_type.encode() if body is not None else b"")
        target = with_query(path, query) if query else path
        answer = await self._sender.send(method, target, wire, content, timeout_s)
        return answer.content

    async def resource_type(self, api_version: str, kind: str) -> ResourceType:
        """The resource of a kind, as the API serves it. Raises `NoSuchKind`."""
        return await self._discovery.find(api_version, kind)

    # reading

    @overload
    async def get(
        self, kind: type[T], name: str, namespace: str | None = None, *, subresource: str = ""
    ) -> T: ...

    @overload
    async def get(
        self, kind: ResourceType, name: str, namespace: str | None = None, *, subresource: str = ""
    ) -> Object: ...

    async def get(
        self,
        kind: ResourceType | type[Typed],
        name: str,
        namespace: str | None = None,
        *,
        subresource: str = "",
    ) -> Any:
        """One object. Raises `NotFound`."""
        path = one(_resource(kind), name, namespace or self.namespace, subresource)
        return _result(kind, (await self._sender.send("GET", path)).content)

    @overload
    async def find(self, kind: type[T], name: str, namespace: str | None = None) -> T | None: ...

    @overload
    async def find(self, kind: ResourceType, name: str, namespace: str | None = None) -> Object | None: ...

    async def find(self, kind: ResourceType | type[Typed], name: str, namespace: str | None = None) -> Any:
        """One object, or None if there is none."""
        try:
            return await self.get(kind, name, namespace)
        except NotFound:
            return None

    @overload
    async def list(
        self,
        kind: type[T],
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 500,
    ) -> Listed[T]: ...

    @overload
    async def list(
        self,
        kind: ResourceType,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 500,
    ) -> Listed[Object]: ...

    async def list(
        self,
        kind: ResourceType | type[Typed],
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 500,
    ) -> Listed[Any]:
        """All objects that match, of one namespace or (None) of all; fetched in pages of `limit`.

        If the list expires between two pages it is asked for again, as a whole.
        """
        resource = _resource(kind)
        items: list[Any] = []
        token = ""
        while True:
            try:
                page = await self.list_page(
                    resource, namespace, labels=labels, fields=fields, limit=limit, continue_token=token
                )
            except Expired:
                if not token:
                    raise
                items, token, limit = [], "", 0
                continue
            items += [_result(kind, item) for item in page.items]
            token = page.continue_token
            if not token:
                return Listed(items, page.resource_version)

    async def list_page(
        self,
        resource: ResourceType,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
        metadata_only: bool = False,
    ) -> Page:
        """Part of a list with its objects as bytes, for those who keep them so."""
        query: Query = {
            "labelSelector": labels,
            "fieldSelector": fields,
            "limit": limit or None,
            "continue": continue_token,
            "resourceVersion": resource_version,
        }
        target = with_query(collection(resource, namespace), query)
        answer = await self._sender.send("GET", target, _METADATA_LIST if metadata_only else JSON)
        return read_page(answer.content, resource)

    @asynccontextmanager
    async def watch(
        self,
        kind: ResourceType | type[Typed],
        namespace: str | None = None,
        *,
        resource_version: str = "",
        labels: str = "",
        fields: str = "",
        timeout_s: int | None = None,
        bookmarks: bool = True,
        initial_events: bool = False,
        metadata_only: bool = False,
        read_timeout_s: float | None = None,
    ) -> AsyncIterator[WatchEvents]:
        """`async with client.watch(kind) as events:` changes since `resource_version`, as they happen.

        The server ends a watch after `timeout_s`. With `initial_events` what is there comes first, as ADDED
        events up to a bookmark that says so. `read_timeout_s` gives up on a server that is silent.
        """
        query: Query = {
            "watch": True,
            "resourceVersion": resource_version,
            "labelSelector": labels,
            "fieldSelector": fields,
            "timeoutSeconds": timeout_s,
            "allowWatchBookmarks": bookmarks,
            "sendInitialEvents": initial_events,
            "resourceVersionMatch": "NotOlderThan" if initial_events else None,
        }
        target = with_query(collection(_resource(kind), namespace), query)
        wire = _METADATA if metadata_only else JSON
        async with self._sender.stream(target, wire, read_timeout_s) as answer:
            yield WatchEvents(answer.lines())

    # writing

    @overload
    async def create(self, obj: T, **options: Unpack[WriteOptions]) -> T: ...

    @overload
    async def create(self, obj: Mapping[str, Any], **options: Unpack[WriteOptions]) -> Object: ...

    async def create(self, obj: Typed | Mapping[str, Any], **options: Unpack[WriteOptions]) -> Any:
        """Make an object. Raises `AlreadyExists`, `Invalid`, …"""
        body, resource = await self._body(obj, options.get("kind"))
        path = collection(resource, options.get("namespace") or self._namespace_of(body))
        return _like(obj, await self._write("POST", path + _query(options), _WRITE, body, resource), resource)

    @overload
    async def replace(self, obj: T, *, subresource: str = "", **options: Unpack[WriteOptions]) -> T: ...

    @overload
    async def replace(
        self, obj: Mapping[str, Any], *, subresource: str = "", **options: Unpack[WriteOptions]
    ) -> Object: ...

    async def replace(
        self, obj: Typed | Mapping[str, Any], *, subresource: str = "", **options: Unpack[WriteOptions]
    ) -> Any:
        """Put an object in the place of what is there. Raises `Conflict` if it carries a resourceVersion
        and somebody else was faster."""
        body, resource = await self._body(obj, options.get("kind"))
        path = self._path_of(body, resource, options.get("namespace"), subresource)
        return _like(obj, await self._write("PUT", path + _query(options), _WRITE, body, resource), resource)

    @overload
    async def apply(self, obj: T, *, subresource: str = "", **options: Unpack[ApplyOptions]) -> T: ...

    @overload
    async def apply(
        self, obj: Mapping[str, Any], *, subresource: str = "", **options: Unpack[ApplyOptions]
    ) -> Object: ...

    async def apply(
        self, obj: Typed | Mapping[str, Any], *, subresource: str = "", **options: Unpack[ApplyOptions]
    ) -> Any:
        """Server-side apply: the object's fields become as given and owned by `field_manager`.

        With `force=False`, a field that another manager has set otherwise is a `Conflict`.
        """
        body, resource = await self._body(obj, options.get("kind"))
        path = self._path_of(body, resource, options.get("namespace"), subresource)
        query = _query(options, options.get("force", True))
        return _like(obj, await self._write("PATCH", path + query, _APPLY, body, resource), resource)

    @overload
    async def patch(
        self,
        kind: type[T],
        name: str,
        patch: Patch,
        namespace: str | None = None,
        **options: Unpack[PatchOptions],
    ) -> T: ...

    @overload
    async def patch(
        self,
        kind: ResourceType,
        name: str,
        patch: Patch,
        namespace: str | None = None,
        **options: Unpack[PatchOptions],
    ) -> Object: ...

    async def patch(
        self,
        kind: ResourceType | type[Typed],
        name: str,
        patch: Patch,
        namespace: str | None = None,
        **options: Unpack[PatchOptions],
    ) -> Any:
        """Change part of an object: by merge, by JSON patch (a list) or by strategic merge."""
        resource = _resource(kind)
        path = one(resource, name, namespace or self.namespace, options.get("subresource", ""))
        wire = _PATCHES[options.get("type", "merge")]
        query = _query(options, options.get("force", False))
        return _result(kind, await self._write("PATCH", path + query, wire, patch, resource))

    async def delete(
        self,
        kind: ResourceType | type[Typed],
        name: str,
        namespace: str | None = None,
        *,
        propagation: Propagation | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_s: int | None = None,
        dry_run: bool = False,
    ) -> Object | None:
        """Delete an object; with `uid` or `resource_version` only if it is this one. Raises `NotFound`.

        It may stay for a while: until its finalizers are gone, its grace period or its dependents. Then
        it is returned as it now is; None means that it is gone.
        """
        resource = _resource(kind)
        options = _delete_options(propagation, uid, resource_version, grace_s, dry_run)
        path = one(resource, name, namespace or self.namespace)
        answer = read_object(await self._write("DELETE", path, _WRITE, options, resource), resource)
        return answer if _remains(answer) else None

    async def delete_collection(
        self,
        kind: ResourceType | type[Typed],
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        propagation: Propagation | None = None,
        grace_s: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete all objects of a namespace (the client's own if None) that match."""
        resource = _resource(kind)
        options = _delete_options(propagation, None, None, grace_s, dry_run)
        query: Query = {"labelSelector": labels, "fieldSelector": fields}
        target = with_query(collection(resource, namespace or self.namespace), query)
        await self._write("DELETE", target, _WRITE, options, resource)

    # building requests

    async def _body(
        self, obj: Typed | Mapping[str, Any], kind: ResourceType | None
    ) -> tuple[Mapping[str, Any], ResourceType]:
        """What to send, and which resource it is of."""
        if not isinstance(obj, Mapping):
            return obj.to_object(), kind or obj.resource_type
        if kind is None:
            try:
                api_version, name = obj["apiVersion"], obj["kind"]
            except KeyError as error:
                raise ValueError(f"the object has no {error.args[0]}") from None
            return obj, await self._discovery.find(api_version, name)
        if "apiVersion" not in obj or "kind" not in obj:
            obj = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
        return obj, kind

    def _namespace_of(self, body: Mapping[str, Any]) -> str:
        namespace: str = (body.get("metadata") or {}).get("namespace") or self.namespace
        return namespace

    def _path_of(
        self, body: Mapping[str, Any], resource: ResourceType, namespace: str | None, subresource: str
    ) -> str:
        name = (body.get("metadata") or {}).get("name") or ""
        return one(resource, name, namespace or self._namespace_of(body), subresource)

    async def _write(self, method: str, target: str, wire: Wire, body: Any, resource: ResourceType) -> bytes:
        content = b"" if body is None else orjson.dumps(body)
        try:
            answer = await self._sender.send(method, target, wire if content else JSON, content)
        except NotFound as error:
            if not (error.details or {}).get("name"):
                # Not the object but the resource is gone; it may come back as another.
                self._discovery.forget(resource)
            raise
        return answer.content


def _resource(kind: ResourceType | type[Typed]) -> ResourceType:
    return kind if isinstance(kind, ResourceType) else kind.resource_type


def _result(kind: ResourceType | type[Typed], content: bytes) -> Any:
    decoded = read_object(content, _resource(kind))
    return decoded if isinstance(kind, ResourceType) else kind.from_object(decoded)


def _like(obj: Typed | Mapping[str, Any], content: bytes, resource: ResourceType) -> Any:
    """The API's answer as what was sent."""
    decoded = read_object(content, resource)
    return decoded if isinstance(obj, Mapping) else type(obj).from_object(decoded)


def _query(options: WriteOptions | ApplyOptions | PatchOptions, force: bool = False) -> str:
    return _encoded_query(options.get("field_manager"), force, options.get("dry_run", False))


@lru_cache(maxsize=64)
def _encoded_query(field_manager: str | None, force: bool, dry_run: bool) -> str:
    """A writer says the same with every write, so it is encoded once."""
    dry = "All" if dry_run else None
    return with_query("", {"fieldManager": field_manager, "force": force, "dryRun": dry})


def _delete_options(
    propagation: str | None, uid: str | None, resource_version: str | None, grace_s: int | None, dry_run: bool
) -> Object | None:
    preconditions = {
        name: value
        for name, value in (("uid", uid), ("resourceVersion", resource_version))
        if value is not None
    }
    options: Object = {}
    if propagation is not None:
        options["propagationPolicy"] = propagation
    if preconditions:
        options["preconditions"] = preconditions
    if grace_s is not None:
        options["gracePeriodSeconds"] = grace_s
    if dry_run:
        options["dryRun"] = ["All"]
    return {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None


def _remains(answer: Mapping[str, Any]) -> bool:
    """Whether what a delete answered is still there: some kinds are answered with though they are gone."""
    if answer.get("kind") == "Status":
        return False
    metadata = answer.get("metadata") or {}
    held = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    if not held and answer.get("kind") == "Namespace":
        held = (answer.get("spec") or {}).get("finalizers")
    return bool(metadata.get("deletionTimestamp") and held)
