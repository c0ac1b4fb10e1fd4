"""update: replaces an object, or the part of it that a subresource is about.

`replace` is the heart of PUT, PATCH and the writing subresources: read, make the new object from the old,
admit, prepare, check, and store if there was no other write meanwhile; otherwise again from the start.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields

import orjson

from steersman.cluster.apiserver.pipeline.bodies import (
    dedupe_owners,
    match_name,
    match_namespace,
    read_object,
)
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import WriteOptions, parse_unsigned
from steersman.cluster.apiserver.reading.get import check_path_name
from steersman.cluster.apiserver.resources.allocation import Reservation
from steersman.cluster.apiserver.resources.storage_encoding import stamp
from steersman.cluster.apiserver.resources.strategies.strategy import next_generation
from steersman.cluster.apiserver.responses.render import respond_object
from steersman.cluster.apiserver.verbs.create import store_new, with_pending_admission, with_reservation
from steersman.cluster.apiserver.verbs.empty_values import explained, gives_empty_spec
from steersman.cluster.apiserver.verbs.managed_fields import track
from steersman.cluster.apiserver.verbs.preconditions import failed_storage_precondition
from steersman.cluster.schema.resources import GVK
from steersman.cluster.store import Conflict, NotFound, Record
from steersman.http import Response
from steersman.objects.fields import Path
from steersman.objects.fields import invalid as invalid_field
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, conflict, invalid, modified, not_found, unclassified

__all__ = ["Endpoint", "SubresourceView", "WriteResult", "replace", "update"]

#: New object from old: a fresh one in normal form, defaults filled in.
Transform = Callable[[Object], Object | Awaitable[Object]]

#: A writer that keeps losing the race gives up; each round means that another write succeeded.
_TRIES = 100


@dataclass(slots=True)
class SubresourceView:
    """What admission sees of a write through another shape (a Scale): the transform fills it in, `take` puts
    what admission left of it into the object, and `view` is what the last look is at."""

    kind: GVK
    take: Callable[[Object, Object], None]
    view: Callable[[Object], Object]
    new: Object = field(default_factory=dict)
    old: Object = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How an endpoint differs from the main one: what it keeps."""

    prepare: Callable[[Object, Object], None] | None = None
    #: What is not there is created.
    creates: bool = False
    #: The new object brings its managedFields itself.
    applies: bool = False
    #: Only the object with this uid is replaced.
    uid: str = ""
    #: Admission is asked about this instead of the object.
    part: SubresourceView | None = None


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The bytes after a write, as the request's version shows them, and whether it created the object."""

    value: bytes
    created: bool = False


async def update(api: Api, call: Call) -> Response:
    """PUT of an object or its status."""
    options = WriteOptions.parse(call.query, "UpdateOptions")
    body = read_object(call, options)
    metadata = body["metadata"]
    match_namespace(call, metadata)
    match_name(call, metadata)
    content = orjson.dumps(body)
    endpoint = replace_fields(endpoint_of(call), uid=metadata.get("uid", ""))
    written = await replace(api, call, lambda _: orjson.loads(content), options, endpoint)
    return respond_object(api, call, written.value, 201 if written.created else 200)


def endpoint_of(call: Call) -> Endpoint:
    """The main endpoint, /status, or another part the strategy knows."""
    subresource = call.path.subresource
    if not subresource:
        return Endpoint()
    strategy = call.resource.strategy

    def prepare(new: Object, old: Object) -> None:
        strategy.prepare_subresource(subresource, new, old)

    return Endpoint(prepare)


async def replace(
    api: Api,
    call: Call,
    transform: Transform,
    options: WriteOptions,
    endpoint: Endpoint,
    *,
    tries: int = _TRIES,
) -> WriteResult:
    """Write what `transform` makes of the stored object. Raises 404, 409, 422, … as StatusError."""
    resource = call.resource
    name = call.path.name
    key = resource.key(call.path.namespace, name)
    for _ in range(tries):
        record = api.store.get(key)
        if record is None:
            if call.request.method == "PATCH":
                check_path_name(name)
            if endpoint.creates or (resource.strategy.allow_create_on_update and not call.path.subresource):
                _check_uid(call, endpoint, "", options)
                created = await _create(api, call, await _made(transform({})), options, endpoint)
                if created is not None:
                    return created
                continue
            raise not_found(resource.group, resource.plural, name)
        old = resource.read(await resource.show(record.value))
        _check_uid(call, endpoint, old["metadata"]["uid"], options)
        new = await _made(transform(old))
        _check_version(call, new, old)
        try:
            value = await _write(api, call, record, new, old, options, endpoint)
        except (Conflict, NotFound):
            continue
        return WriteResult(await resource.show(value))
    raise modified(resource.group, resource.plural, name)


async def _made(new: Object | Awaitable[Object]) -> Object:
    return new if isinstance(new, dict) else await new


async def _create(
    api: Api, call: Call, obj: Object, options: WriteOptions, endpoint: Endpoint
) -> WriteResult | None:
    """None when another request created it first. The user of the update needs the right to create, too."""
    api.access.authorize(call.user, call.action._replace(verb="create"))
    obj["metadata"].pop("resourceVersion", None)
    try:
        value = await store_new(api, call, obj, options, tracked=not endpoint.applies)
    except StatusError as error:
        if error.reason == "AlreadyExists":
            return None
        raise
    return WriteResult(value, created=True)


def _check_uid(call: Call, endpoint: Endpoint, uid: str, options: WriteOptions) -> None:
    if not endpoint.uid or endpoint.uid == uid:
        return
    resource, path = call.resource, call.path
    why = failed_storage_precondition(
        resource, path.namespace, path.name, {"uid": endpoint.uid}, {"uid": uid}, dry_run=options.dry_run
    )
    raise conflict(resource.group, resource.plural, path.name, why)


def _check_version(call: Call, new: Object, old: Object) -> None:
    """A resourceVersion in the new object must be the stored one's."""
    resource, name = call.resource, call.path.name
    try:
        given = parse_unsigned(new["metadata"].get("resourceVersion") or "0")
    except ValueError as problem:
        raise unclassified(str(problem)) from None
    if not given:
        if not resource.strategy.allow_unconditional_update:
            error = invalid_field(
                Path("metadata").child("resourceVersion"), 0, "must be specified for an update"
            )
            raise invalid(resource.group, resource.plural, name, [error])
    elif given != int(old["metadata"]["resourceVersion"]):
        raise modified(resource.group, resource.plural, name)


async def _write(
    api: Api, call: Call, record: Record, new: Object, old: Object, options: WriteOptions, endpoint: Endpoint
) -> bytes:
    dedupe_owners(call, new["metadata"])
    if not endpoint.applies:
        await track(api, call, old, new, options)
    attributes = call.attributes("UPDATE", call.path.name, new, old, dry_run=options.dry_run)
    if (part := endpoint.part) is not None:
        attributes.object, attributes.old, attributes.object_kind = part.new, part.old, part.kind
    await api.admission.admit(attributes)
    if part is not None:
        part.take(new, part.new)
    dedupe_owners(call, new["metadata"], admitted=True)
    match_namespace(call, new["metadata"])
    api.access.check_write(call.user, call.action, new, old)
    reservation = _reserve(call, new, old, dry_run=options.dry_run)

    async def check_and_store() -> bytes:
        _prepare(call, new, old, endpoint)
        await _check(call, new, old, endpoint)
        if part is not None:
            attributes.object, attributes.old = part.view(new), part.view(old)
        await api.admission.validate(attributes)
        store = _store(api, call, record, new, old, dry_run=options.dry_run)
        return await (with_pending_admission(api, attributes, store) if attributes.pending else store)

    if reservation is None:
        return await check_and_store()
    return await with_reservation(api, reservation, check_and_store(), dry_run=options.dry_run)


def _reserve(call: Call, new: Object, old: Object, *, dry_run: bool) -> Reservation | None:
    allocator = call.resource.allocator
    if allocator is None or call.path.subresource:
        return None
    allocator.carry_over(new, old)
    call.resource.strategy.prepare_update(new, old)
    return allocator.reserve(new, old, dry_run=dry_run)


def _prepare(call: Call, new: Object, old: Object, endpoint: Endpoint) -> None:
    """Restore what this endpoint and no client may change."""
    metadata, before = new["metadata"], old["metadata"]
    strategy = call.resource.strategy
    (endpoint.prepare or strategy.prepare_update)(new, old)
    metadata.pop("selfLink", None)
    if strategy.counts_empty and gives_empty_spec(call, new):
        next_generation(new, old)
    metadata["uid"] = metadata.get("uid") or before["uid"]
    metadata["resourceVersion"] = before["resourceVersion"]
    metadata["creationTimestamp"] = before["creationTimestamp"]
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])


async def _check(call: Call, new: Object, old: Object, endpoint: Endpoint) -> None:
    resource, subresource = call.resource, call.path.subresource
    strategy, warnings = resource.strategy, call.warnings
    kind, before = resource.kind, resource.checked(old)
    errors = kind.check_update(resource.checked(new), before, subresource, warnings)
    if not isinstance(errors, list):
        errors = await errors
    if errors:
        errors = explained(call, new, errors, lambda obj: kind.check_update(obj, before, subresource, []))
        group, distinct = resource.stored.group, kind.distinct_errors
        name = new["metadata"].get("name", "")
        raise invalid(group, resource.type.kind, name, errors, distinct=distinct)
    if endpoint.part is not None:
        # Another shape of the main endpoint.
        warnings.extend(strategy.warnings_on_update(new, old))
    elif not subresource or subresource in strategy.subresources:
        warnings.extend(strategy.warnings_on_update(new, old, subresource))
        if resource.effect_warnings is not None and not subresource:
            warnings.extend(resource.effect_warnings(new, old))


async def _store(api: Api, call: Call, record: Record, new: Object, old: Object, *, dry_run: bool) -> bytes:
    """Write; or delete, when the last finalizer of a deleted object went; nothing when nothing changed, not
    even the version it is stored in."""
    _keep_times(new, old)
    if new == old and call.resource.is_current(record.value):
        return record.value
    value = await call.resource.encoded(new)
    if dry_run:
        return stamped_like(record, value)
    if _deletes(call, new, old):
        event = await api.store.delete(record.key, expected=record.revision)
        if call.resource.allocator is not None:
            call.resource.allocator.release(old)
        return stamped_like(record, value, event.revision)
    return (await api.store.put(record.key, value, expected=record.revision)).value


def _keep_times(new: Object, old: Object) -> None:
    """The time of an ownership entry is no change by itself: a client may write what normalizing undoes."""
    entries, before = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not entries or not before or len(entries) != len(before) or entries == before:
        return
    timed = [entry | {"time": was.get("time")} for entry, was in zip(entries, before, strict=True)]
    if all(entry == {"time": None} | was for entry, was in zip(timed, before, strict=True)):
        same = {**new, "metadata": {**new["metadata"], "managedFields": before}}
        if same == old:
            new["metadata"]["managedFields"] = before


def stamped_like(record: Record, value: bytes, revision: int = 0) -> bytes:
    """Bytes that were not stored, shown with the revision they would be based on."""
    return stamp(value, revision or record.revision)


def _deletes(call: Call, new: Object, old: Object) -> bool:
    """Whether this update takes away the last thing that kept a deleted object alive."""
    before = old["metadata"]
    if "deletionTimestamp" not in before or new["metadata"].get("finalizers"):
        return False
    termination = call.resource.strategy.termination
    if termination is not None and termination.is_kept is not None:
        return not termination.is_kept(new)
    return not before.get("deletionGracePeriodSeconds")
