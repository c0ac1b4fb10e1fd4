"""create: from the body of a request to a stored object."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from steersman.cluster.admission import Attributes
from steersman.cluster.apiserver.pipeline.bodies import dedupe_owners, match_namespace, read_object
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import WriteOptions, parse_unsigned
from steersman.cluster.apiserver.resources.allocation import Reservation
from steersman.cluster.apiserver.resources.storage_encoding import envelope, stamp_text
from steersman.cluster.apiserver.resources.system_fields import new_uid, timestamp
from steersman.cluster.apiserver.responses.render import respond_object
from steersman.cluster.apiserver.verbs.empty_values import explained
from steersman.cluster.apiserver.verbs.managed_fields import track
from steersman.cluster.store import Conflict
from steersman.http import Response
from steersman.objects.kinds import Object
from steersman.objects.names import generate_name
from steersman.objects.status import (
    StatusError,
    already_exists,
    generate_name_conflict,
    invalid,
    unclassified,
)

__all__ = ["create", "store_new", "with_pending_admission", "with_reservation"]

_GENERATE_NAME_TRIES = 8
_SYSTEM_FIELDS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


async def create(api: Api, call: Call) -> Response:
    options = WriteOptions.parse(call.query, "CreateOptions")
    obj = read_object(call, options)
    value = await store_new(api, call, obj, options)
    return respond_object(api, call, value, 201)


_TERMINATING = "create not allowed while custom resource definition is terminating"


async def store_new(
    api: Api, call: Call, obj: Object, options: WriteOptions, *, tracked: bool = True
) -> bytes:
    """Admit, complete, check and store a new object. Its bytes as its version shows it (without revision
    when dry run). One that is not `tracked` brings its managedFields itself."""
    metadata = obj["metadata"]
    for name in _SYSTEM_FIELDS:
        metadata.pop(name, None)
    match_namespace(call, metadata)
    version = metadata.pop("resourceVersion", "")
    dedupe_owners(call, metadata)
    now = api.now()
    if tracked:
        await track(api, call, None, obj, options)
    attributes = call.attributes("CREATE", metadata.get("name", ""), obj, None, dry_run=options.dry_run)
    if call.resource.terminating:
        raise attributes.refusal(_TERMINATING)
    await api.admission.admit(attributes)
    match_namespace(call, metadata)
    api.access.check_write(call.user, call.action, obj, None)
    dedupe_owners(call, metadata, admitted=True)
    metadata["creationTimestamp"] = timestamp(now)
    metadata["uid"] = new_uid()
    generated = bool(metadata.get("generateName")) and not metadata.get("name")
    if generated:
        metadata["name"] = attributes.name = generate_name(metadata["generateName"])
    if (allocator := call.resource.allocator) is not None:
        reservation = allocator.reserve(obj, None, dry_run=options.dry_run)
        write = _check_and_put(api, call, attributes, obj, options, generated=generated, version=version)
        return await with_reservation(api, reservation, write, dry_run=options.dry_run)
    value = await _check_and_put(api, call, attributes, obj, options, generated=generated, version=version)
    return value if call.resource.conversion is None else await call.resource.show(value)


def _has_version(text: str) -> bool:
    try:
        return parse_unsigned(text) != 0
    except ValueError:
        return False


async def with_pending_admission(
    api: Api, attributes: Attributes, write: Coroutine[Any, Any, bytes]
) -> bytes:
    """A write that admission plugins did something for (charged a quota); they learn how it ended, even
    when the client does not wait for it."""

    async def decide() -> bytes:
        stored = False
        try:
            value = await write
            stored = not attributes.dry_run
        finally:
            await attributes.settle(stored=stored)
        return value

    return await asyncio.shield(api.scope.start(decide(), name="admitted write"))


async def with_reservation(
    api: Api, reservation: Reservation, write: Coroutine[Any, Any, bytes], *, dry_run: bool
) -> bytes:
    """A write whose success decides over a reservation. It goes on if its client leaves: only its own
    outcome may say whether the addresses are taken."""

    async def decide() -> bytes:
        try:
            value = await write
        except BaseException:
            reservation.cancel()
            raise
        (reservation.cancel if dry_run else reservation.keep)()
        return value

    return await asyncio.shield(api.scope.start(decide(), name="service write"))


async def _check_and_put(
    api: Api,
    call: Call,
    attributes: Attributes,
    obj: Object,
    options: WriteOptions,
    *,
    generated: bool,
    version: str,
) -> bytes:
    await _complete_and_check(call, obj)
    await api.admission.validate(attributes)
    put = _put(api, call, obj, options, generated=generated, version=version)
    return await (with_pending_admission(api, attributes, put) if attributes.pending else put)


async def _complete_and_check(call: Call, obj: Object) -> None:
    kind, strategy = call.resource.type, call.resource.strategy
    call.warnings.extend(strategy.prepare_create(obj))
    if strategy.record_user is not None:
        strategy.record_user(obj, call.user)
    resource = call.resource
    errors = resource.kind.check_new(resource.checked(obj))
    if not isinstance(errors, list):
        errors = await errors
    if errors:
        errors = explained(call, obj, errors, resource.kind.check_new)
        raise invalid(resource.stored.group, kind.kind, obj["metadata"].get("name", ""), errors)
    strategy.complete_create(obj)
    call.warnings.extend(strategy.warnings_on_create(obj))
    if resource.effect_warnings is not None:
        call.warnings.extend(resource.effect_warnings(obj, None))


async def _put(
    api: Api, call: Call, obj: Object, options: WriteOptions, *, generated: bool, version: str
) -> bytes:
    """Store, under another generated name if the first is taken."""
    if version and not options.dry_run and _has_version(version):
        raise unclassified("resourceVersion should not be set on objects to be created")
    resource = call.resource
    metadata = obj["metadata"]
    for _ in range(_GENERATE_NAME_TRIES):
        key = resource.key(metadata.get("namespace", ""), metadata["name"])
        value = await resource.encoded(obj)
        if options.dry_run:
            if api.store.get(key) is None:
                # Only storing takes a version away that a client gave.
                return stamp_text(value, version) if version else value
        else:
            try:
                return (await api.store.put(key, value, expected=0)).value
            except Conflict:
                pass
        if not generated:
            raise _exists(api, call, key, metadata["name"])
        metadata["name"] = generate_name(metadata["generateName"])
        resource.strategy.prepare_create(obj)
    raise generate_name_conflict(resource.group, resource.plural, metadata["name"])


def _exists(api: Api, call: Call, key: str, name: str) -> StatusError:
    error = already_exists(call.resource.group, call.resource.plural, name)
    record = api.store.get(key)
    if record is not None and envelope(record.value).deletionTimestamp:
        error.message = f"object is being deleted: {error.message}"
    return error
