"""list: pages of stored objects, with continue tokens."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from string import ascii_letters, digits

import orjson

from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import ListOptions
from steersman.cluster.apiserver.reading.filters import Filter
from steersman.cluster.apiserver.reading.get import check_fresh
from steersman.cluster.apiserver.responses.render import respond_list
from steersman.cluster.codec.errors import Malformed
from steersman.cluster.codec.json import parse
from steersman.cluster.store import Compacted, FutureRevision, Record
from steersman.http import Response
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, bad_request, expired, revision_too_large

__all__ = ["Page", "list_objects", "page_of"]

_LIST_EXPIRED = "The resourceVersion for the provided list is too old."
_CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)
_TOKEN_ALPHABET = (ascii_letters + digits + "-_").encode()
#: How many keys are looked at in one go while a selective page fills.
_PAGE_STEP = 2000


@dataclass(frozen=True, slots=True)
class Page:
    """What a list shows: `values` are the `records` as the client's version has them."""

    records: Sequence[Record]
    values: Sequence[bytes]
    metadata: Object


def list_objects(api: Api, call: Call, options: ListOptions) -> Response | Awaitable[Response]:
    if call.resource.conversion is not None:
        return _list_converted(api, call, options)
    chosen, options = _chosen(call, options)
    after, revision = _start(api, chosen, options)
    if chosen.everything and not (after or revision or options.limit):
        found = api.store.contents(chosen.scope)
        metadata = _list_metadata(call, found.revision, "", None)
        return respond_list(api, call, found.values, metadata, found.size)
    page = _plain_page(api, call, chosen, options, after, revision)
    return respond_list(api, call, page.values, page.metadata)


async def _list_converted(api: Api, call: Call, options: ListOptions) -> Response:
    page = await _converted_page(api, call, options)
    return respond_list(api, call, page.values, page.metadata)


async def page_of(api: Api, call: Call, options: ListOptions) -> Page:
    """What a list with these options would show."""
    if call.resource.conversion is not None:
        return await _converted_page(api, call, options)
    chosen, options = _chosen(call, options)
    return _plain_page(api, call, chosen, options, *_start(api, chosen, options))


def _plain_page(
    api: Api, call: Call, chosen: Filter, options: ListOptions, after: str, revision: int
) -> Page:
    try:
        records, shown_revision, token, remaining = _page(api, chosen, options, after, revision)
    except Compacted:
        raise _expired(options) from None
    except FutureRevision:
        raise revision_too_large(revision, api.store.revision) from None
    metadata = _list_metadata(call, shown_revision, token, remaining if chosen.everything else None)
    return Page(records, [record.value for record in records], metadata)


async def _converted_page(api: Api, call: Call, options: ListOptions) -> Page:
    """Of objects that a webhook may have to convert. Selectors are about the converted objects, so all are
    converted before one is chosen."""
    chosen, options = _chosen(call, options)
    after, revision = _start(api, chosen, options)
    limit = options.limit
    try:
        found = api.store.range(
            chosen.scope, after=after, limit=limit if chosen.everything else 0, revision=revision
        )
    except Compacted:
        raise _expired(options) from None
    except FutureRevision:
        raise revision_too_large(revision, api.store.revision) from None
    values: Sequence[bytes] = [record.value for record in found.records]
    if (pending := call.resource.shown(values)) is not None:
        values = await pending
    numbers = [number for number, value in enumerate(values) if chosen.matches(value)]
    page = numbers[:limit] if limit else numbers
    token = ""
    if page and (found.remaining or len(page) < len(numbers)):
        token = _write_token(chosen, found.records[page[-1]].key, found.revision)
    metadata = _list_metadata(call, found.revision, token, found.remaining if chosen.everything else None)
    return Page([found.records[number] for number in page], [values[number] for number in page], metadata)


def _chosen(call: Call, options: ListOptions) -> tuple[Filter, ListOptions]:
    """What the list is about, and the options that count for it."""
    chosen = Filter(call.resource, call.path.namespace, options.label_selector, options.field_selector)
    if options.limit and options.resource_version == 0 and call.resource.strategy.is_cached:
        # kube-apiserver's cache answers these as a whole; events are not in it.
        options = replace(options, limit=0)
    return chosen, options


def _list_metadata(call: Call, revision: int, token: str, remaining: int | None) -> Object:
    metadata: Object = {"resourceVersion": str(revision)}
    if call.form.shape == "object" and call.resource.handling.shows_empty_continue:
        metadata["continue"] = ""
    if token:
        metadata["continue"] = token
        if remaining is not None:
            metadata["remainingItemCount"] = remaining
    return metadata


def _start(api: Api, chosen: Filter, options: ListOptions) -> tuple[str, int]:
    """Where the page starts (a key, exclusive) and at which revision it looks (0: now)."""
    if options.continue_token:
        start, revision = _read_token(options.continue_token)
        if options.resource_version:
            raise bad_request("specifying resource version is not allowed when using continue")
        return chosen.scope + start, max(revision, 0)
    asked = options.resource_version
    if asked is None or asked == 0:
        return "", 0
    exact = options.resource_version_match == "Exact" or (
        options.limit > 0 and not options.resource_version_match
    )
    if exact:
        return "", asked
    check_fresh(api, asked)
    return "", 0


def _page(
    api: Api, chosen: Filter, options: ListOptions, after: str, revision: int
) -> tuple[Sequence[Record], int, str, int]:
    """The records of a page, the revision it shows, and how to go on."""
    limit = options.limit
    if chosen.everything:
        found = api.store.range(chosen.scope, after=after, limit=limit, revision=revision)
        token = ""
        if found.remaining and found.records:
            token = _write_token(chosen, found.records[-1].key, found.revision)
        return found.records, found.revision, token, found.remaining
    records: list[Record] = []
    if chosen.name:
        # There is no more than this one, so no page ends before all is said.
        limit = 0
    while True:
        step = api.store.range(
            chosen.scope + chosen.name, after=after, limit=_PAGE_STEP if limit else 0, revision=revision
        )
        for record in step.records:
            if chosen.matches(record.value):
                records.append(record)
                if limit and len(records) == limit:
                    more = step.remaining or record.key != step.records[-1].key
                    token = _write_token(chosen, record.key, step.revision) if more else ""
                    return records, step.revision, token, 0
        if not step.remaining:
            return records, step.revision, "", 0
        revision = step.revision
        after = step.records[-1].key


def _write_token(chosen: Filter, last_key: str, revision: int) -> str:
    content = {"v": "meta.k8s.io/v1", "rv": revision, "start": last_key[len(chosen.scope) :] + "\x00"}
    return base64.urlsafe_b64encode(orjson.dumps(content)).decode().rstrip("=")


def _read_token(token: str) -> tuple[str, int]:
    problem = ""
    content: object = None
    try:
        encoded = token.encode()
        raw = base64.b64decode(encoded + b"=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
        content = parse(raw)
    except binascii.Error:
        # Without a stray byte it is the last one, which is too little for a byte.
        whole = len(encoded) - len(encoded) % 4
        position = next((i for i, byte in enumerate(encoded) if byte not in _TOKEN_ALPHABET), whole)
        problem = f"illegal base64 data at input byte {position}"
    except Malformed as error:
        # Stray bytes are shown as such, unlike in bodies, whose parser takes each for a character.
        stray = raw[:1] >= b"\x80"
        problem = (
            f"invalid character '\\x{raw[0]:02x}' looking for beginning of value" if stray else str(error)
        )
    if problem:
        raise _bad_token(problem)
    if not isinstance(content, dict) or content.get("v") != "meta.k8s.io/v1":
        version = content.get("v", "") if isinstance(content, dict) else ""
        raise _bad_token(f"server does not recognize this encoded version {version}")
    start, revision = content.get("start"), content.get("rv")
    if not isinstance(revision, int) or revision == 0:
        raise _bad_token("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not isinstance(start, str) or not start:
        raise _bad_token("encoded start key empty (version meta.k8s.io/v1)")
    if start.startswith("/") or "/../" in f"/{start}/":
        raise _bad_token(start)
    return start.removesuffix("\x00"), revision


def _bad_token(why: str) -> StatusError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def _expired(options: ListOptions) -> StatusError:
    if not options.continue_token:
        return expired(_LIST_EXPIRED)
    error = expired(_CONTINUE_EXPIRED)
    start, _ = _read_token(options.continue_token)
    content = {"v": "meta.k8s.io/v1", "rv": -1, "start": start + "\x00"}
    error.metadata = {"continue": base64.urlsafe_b64encode(orjson.dumps(content)).decode().rstrip("=")}
    return error
