"""Runs a reconcile as a dry run: its writes are sent with `dryRun=All` and collected, not stored.

The author's function runs against the live objects. Defaulting, admission and validation take part, and later
reads see what the writes would have stored. Effects outside the Kubernetes API are not prevented.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import orjson

from steersman.aio import SystemClock
from steersman.client import Client
from steersman.client.transport import PassingTransport, Transport
from steersman.http import ClientResponse, Headers, RawHeaders
from steersman.objects.kinds import Object
from steersman.objects.patches import merge
from steersman.operator.children import Children
from steersman.operator.context import Tools
from steersman.operator.operator import Chain
from steersman.operator.reconciling import Reconciler
from steersman.operator.status import StatusWriter
from steersman.operator.terms import without_term
from steersman.runtime import Cached, Key, Recorder, Request, Writes

__all__ = ["DryRun", "WouldChange", "dry_run_reconcile"]


_WRITES: Final = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_SUBRESOURCES: Final = ("/status", "/scale")
_BOOKKEEPING: Final = frozenset(
    ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")
)
_GONE: Final = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}'


@dataclass(slots=True)
class WouldChange:
    """One object before and after; None where it is not there."""

    path: str
    before: Object | None
    after: Object | None


@dataclass(slots=True)
class DryRun:
    """What one reconcile would do."""

    key: Key
    changes: list[WouldChange] = field(default_factory=list)
    #: What it raised.
    error: Exception | None = None


async def dry_run_reconcile(operator: Chain[Any], client: Client, key: Key) -> DryRun:
    """Reconcile an object without a trace. All further writes of the client are dry runs, too."""
    definition = operator.definition
    obj = await client.get(definition.resource, key.name, key.namespace or None)
    held = _HeldBack.of(client)
    writes = Writes(client, definition.name, _no_cache)
    tools = Tools(
        client,
        SystemClock(),
        writes,
        Children(client, definition.name, _no_cache, writes),
        StatusWriter(client, definition.resource, writes, subresource=definition.has_status),
        # Nobody sends what it records.
        Recorder(client, definition.name, "dry_run"),
        lambda: 0,
    )
    dry_run = DryRun(key)
    try:
        await Reconciler(definition, _Nothing(), tools).reconcile(obj, Request(key, ("dry_run",)))
    except Exception as error:  # noqa: BLE001 - whatever the author's function does is told
        dry_run.error = error
    dry_run.changes = held.take()
    return dry_run


class _Nothing:
    def get(self, key: Key) -> Cached | None:
        return None


def _no_cache(_: object) -> None:
    return None


class _HeldBack(PassingTransport):
    """A transport that sends writes as dry runs, and remembers their outcome for later reads."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self._changes: dict[str, WouldChange] = {}

    @classmethod
    def of(cls, client: Client) -> _HeldBack:
        """What carries the client's requests, put there if need be."""
        found: list[_HeldBack] = []

        def wrap(transport: Transport) -> Transport:
            held = transport if isinstance(transport, cls) else cls(transport)
            found.append(held)
            return held

        client.carry(wrap)
        return found[0]

    def take(self) -> list[WouldChange]:
        """What would have changed so far; it is forgotten."""
        changes, self._changes = self._changes, {}
        seen = [WouldChange(path, _shown(each.before), _shown(each.after)) for path, each in changes.items()]
        return [change for change in seen if change.before != change.after]

    async def request(
        self,
        method: str,
        target: str,
        *,
        headers: RawHeaders = (),
        content: bytes = b"",
        timeout_s: float | None = None,
    ) -> ClientResponse:
        path, _, query = target.partition("?")
        if method not in _WRITES:
            known = self._changes.get(path)
            if known is None or query:
                return await super().request(
                    method, target, headers=headers, content=content, timeout_s=timeout_s
                )
            return _answer(known.after)
        if method == "DELETE" and content:
            # The server looks into the body, and then not at the query.
            content = orjson.dumps({**orjson.loads(content), "dryRun": ["All"]})
        else:
            target = f"{path}?{urlencode([*parse_qsl(query, keep_blank_values=True), ('dryRun', 'All')])}"
        before = None if method == "POST" else await self._live(path, headers)
        answer = await super().request(method, target, headers=headers, content=content, timeout_s=timeout_s)
        if answer.status < HTTPStatus.BAD_REQUEST:
            self._note(method, path, before, answer)
        return answer

    async def _live(self, path: str, headers: RawHeaders) -> Object | None:
        """An object before it is written to for the first time."""
        path = _whole(path)
        known = self._changes.get(path)
        if known is not None:
            return known.before
        kept = [(name, value) for name, value in headers if name.lower() != b"content-type"]
        answer = await super().request("GET", path, headers=kept)
        if answer.status != HTTPStatus.OK:
            return None
        found: Object = orjson.loads(answer.content)
        return found

    def _note(self, method: str, path: str, before: Object | None, answer: ClientResponse) -> None:
        after: Object = orjson.loads(answer.content)
        path = f"{path}/{after['metadata']['name']}" if method == "POST" else _whole(path)
        known = self._changes.setdefault(path, WouldChange(path, before, before))
        if method == "DELETE":
            known.after = None
        elif before is None or known.after is None:
            known.after = after
        else:
            # Every dry run starts from the live object, so what they do is added up.
            known.after = merge.apply(known.after, merge.create(before, after))


def _whole(path: str) -> str:
    """The object that a subresource belongs to."""
    for each in _SUBRESOURCES:
        path = path.removesuffix(each)
    return path


def _shown(obj: Object | None) -> Object | None:
    """An object without what every write changes or the server makes up, and without a leader's term."""
    if obj is None:
        return None
    known = without_term(obj)
    metadata = {name: value for name, value in known["metadata"].items() if name not in _BOOKKEEPING}
    if not metadata.get("annotations"):
        metadata.pop("annotations", None)
    return {**known, "metadata": metadata}


def _answer(obj: Object | None) -> ClientResponse:
    headers = Headers([(b"content-type", b"application/json")])
    if obj is None:
        return ClientResponse(HTTPStatus.NOT_FOUND, headers, _GONE)
    return ClientResponse(HTTPStatus.OK, headers, orjson.dumps(obj))
