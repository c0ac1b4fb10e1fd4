"""delete and deletecollection: immediate, graceful, or when the last finalizer is removed."""

from __future__ import annotations

from steersman.cluster.apiserver.pipeline.bodies import read_delete_options
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import DeleteOptions, ListOptions
from steersman.cluster.apiserver.reading.get import find
from steersman.cluster.apiserver.reading.lists import page_of
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.storage_encoding import encode, stamp
from steersman.cluster.apiserver.resources.strategies import grace_period_s
from steersman.cluster.apiserver.resources.system_fields import timestamp
from steersman.cluster.apiserver.responses.render import respond_list, respond_object, success
from steersman.cluster.apiserver.verbs.preconditions import failed_precondition
from steersman.cluster.store import Conflict, NotFound, Record
from steersman.http import Response
from steersman.objects.kinds import Object
from steersman.objects.status import StatusError, conflict, forbidden, modified
from steersman.objects.times import parse_time

__all__ = ["delete", "delete_collection", "remove"]

_OPTIONS = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
_GC_FINALIZERS = ("orphan", "foregroundDeletion")


async def delete(api: Api, call: Call) -> Response:
    options = DeleteOptions.parse(call.query, read_delete_options(call))
    _warn_of_orphans(call, options)
    refusal = call.resource.strategy.deletion_refusal
    if refusal is not None and (why := refusal(call.path.name)):
        raise forbidden(call.resource.group, call.resource.plural, call.path.name, why)
    find(api, call.resource, call.path.namespace, call.path.name)
    value, gone = await remove(api, call, call.path.name, options)
    code = 202 if not gone and options.orphan_dependents is False else 200
    resource = call.resource
    if gone and not resource.strategy.returns_deleted:
        metadata = resource.read(value)["metadata"]
        details = {"name": metadata["name"], "kind": resource.plural, "uid": metadata["uid"]}
        if resource.group:
            details["group"] = resource.group
        return success(call, code, details)
    return respond_object(api, call, await resource.show(value), code)


def _warn_of_orphans(call: Call, options: DeleteOptions) -> None:
    warning = call.resource.strategy.orphan_warning
    if warning and options.propagation is None and options.orphan_dependents is None:
        call.warnings.append(warning)


async def delete_collection(api: Api, call: Call) -> Response:
    options = DeleteOptions.parse(call.query, read_delete_options(call))
    page = await page_of(api, call, ListOptions.parse(call.query))
    _warn_of_orphans(call, options)
    for record in page.records:
        name = record.key.rpartition("/")[2]
        namespace = call.resource.read(record.value)["metadata"].get("namespace", "")
        one = call.on(namespace, name)
        try:
            await remove(api, one, name, options)
        except StatusError as error:
            if error.code != 404:
                raise
    return respond_list(api, call, page.values, page.metadata)


async def remove(
    api: Api, call: Call, name: str, options: DeleteOptions, *, admitted: bool = False
) -> tuple[bytes, bool]:
    """Delete an object, or start its deletion. Its last bytes, and whether it is gone. What was `admitted`
    as something else is not looked at as a deletion."""
    resource = call.resource
    while True:
        record = find(api, resource, call.path.namespace, name)
        obj = resource.read(record.value)
        if options.unsafe:
            raise _readable(resource, call.path.namespace, name)
        _check_preconditions(resource, obj, options)
        old = obj if resource.conversion is None else resource.read(await resource.show(record.value))
        if not admitted:
            # A collection's deletion is admitted object by object, but under no name.
            shown = "" if call.action.verb == "deletecollection" else name
            attributes = call.attributes("DELETE", shown, None, old, dry_run=options.dry_run)
            if options.given:
                attributes.options = {**_OPTIONS, **options.given}
            await api.admission.admit(attributes)
            await api.admission.validate(attributes)
        before = dict(obj["metadata"])
        decision = _mark(api, resource, obj, options)
        try:
            if decision == "pending" or (decision == "marked" and obj["metadata"] == before):
                return record.value, False
            if decision == "marked":
                return await _store_marked(api, resource, record, obj, options), False
            if options.dry_run:
                return (_marked(resource, record, obj) if decision == "ended" else record.value), True
            if decision == "ended":
                record = await api.store.put(
                    record.key, encode(resource.to_stored(obj)), expected=record.revision
                )
            event = await api.store.delete(record.key, expected=record.revision)
        except (Conflict, NotFound):
            if options.resource_version is not None:
                raise modified(resource.group, resource.plural, name) from None
            continue
        if resource.allocator is not None:
            resource.allocator.release(obj)
        return event.value, True


async def _store_marked(
    api: Api, resource: Resource, record: Record, obj: Object, options: DeleteOptions
) -> bytes:
    if resource.handover is not None:
        await resource.wait_for_handover()
    if options.dry_run:
        return _marked(resource, record, obj)
    value = encode(resource.to_stored(obj))
    return (await api.store.put(record.key, value, expected=record.revision)).value


def _marked(resource: Resource, record: Record, obj: Object) -> bytes:
    """What is shown of a mark that was not stored."""
    return stamp(encode(resource.to_stored(obj)), record.revision)


def _readable(resource: Resource, namespace: str, name: str) -> StatusError:
    """Everything that is stored here can be read."""
    why = (
        f"StorageError: invalid object, Code: 4, Key: {resource.registry_key(namespace, name)}, "
        "ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not allowed because the object is "
        "decodable from storage"
    )
    return conflict(resource.group, resource.plural, name, why)


def _check_preconditions(resource: Resource, obj: Object, options: DeleteOptions) -> None:
    metadata = obj["metadata"]
    kind, name = resource.type.kind, metadata["name"]
    if (termination := resource.strategy.termination) is not None:
        wanted = {"uid": options.uid, "resourceVersion": options.resource_version}
        if why := failed_precondition(wanted, metadata):
            raise conflict(resource.group, resource.plural, name, termination.word_precondition(why))
        return
    if options.uid is not None and options.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated"
        )
        raise conflict(resource.stored.group, kind, name, why)
    if options.resource_version is not None and options.resource_version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
            f"ResourceVersion in record ({metadata['resourceVersion']}). The object might have been modified"
        )
        raise conflict(resource.stored.group, kind, name, why)


def _mark(api: Api, resource: Resource, obj: Object, options: DeleteOptions) -> str:
    """Prepare an object for its deletion, in place: "now", "ended" (store it, then
    delete it: watchers see its end coming), "marked" (store it) or "pending" (leave it)."""
    metadata = obj["metadata"]
    if (termination := resource.strategy.termination) is not None:
        if "deletionTimestamp" not in metadata:
            metadata["deletionTimestamp"] = timestamp(api.now())
            termination.mark(obj, metadata["deletionTimestamp"])
            if termination.propagates:
                _renew_finalizers(resource, metadata, options)
            return "marked"
        if termination.is_kept is not None:
            return "pending" if termination.is_kept(obj) or metadata.get("finalizers") else "now"
    graceful = False
    if resource.strategy.graceful:
        if "deletionTimestamp" in metadata and metadata.get("deletionGracePeriodSeconds"):
            if not _shorten(api, metadata, options):
                return "pending"
            graceful = True
        elif "deletionTimestamp" not in metadata:
            grace = grace_period_s(obj, options.grace_period_s)
            _set_deletion(api, metadata, grace)
            graceful = True
    finalizers = _renew_finalizers(resource, metadata, options)
    if graceful and (finalizers or metadata["deletionGracePeriodSeconds"] > 0):
        return "marked"
    if not finalizers:
        return "ended" if graceful else "now"
    if "deletionTimestamp" not in metadata:
        _set_deletion(api, metadata, 0)
    metadata["deletionGracePeriodSeconds"] = 0
    return "marked"


def _set_deletion(api: Api, metadata: Object, grace_s: int) -> None:
    metadata["deletionTimestamp"] = timestamp(api.now() + grace_s)
    metadata["deletionGracePeriodSeconds"] = grace_s
    if metadata.get("generation"):
        metadata["generation"] += 1


def _shorten(api: Api, metadata: Object, options: DeleteOptions) -> bool:
    """A deletion under way may only become shorter."""
    asked, current = options.grace_period_s, metadata["deletionGracePeriodSeconds"]
    if asked is None or asked >= current:
        return False
    end = parse_time(metadata["deletionTimestamp"]).timestamp() - current + asked
    if end < api.now():
        end = api.now()
        asked = 1 if asked else 0
    metadata["deletionTimestamp"] = timestamp(end)
    metadata["deletionGracePeriodSeconds"] = asked
    return True


def _renew_finalizers(resource: Resource, metadata: Object, options: DeleteOptions) -> list[str]:
    """Add the request's wish for its dependents, in place: the finalizers there are now."""
    finalizers = _finalizers(resource, metadata, options)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    return finalizers


def _finalizers(resource: Resource, metadata: Object, options: DeleteOptions) -> list[str]:
    """The finalizers after the request's wish for its dependents is added."""
    existing: list[str] = metadata.get("finalizers") or []
    if resource.strategy.default_propagation is None:
        return existing
    wish = options.propagation
    if options.orphan_dependents is not None:
        wish = "Orphan" if options.orphan_dependents else "Background"
    if wish is None:
        if "orphan" in existing:
            wish = "Orphan"
        elif "foregroundDeletion" in existing:
            wish = "Foreground"
        else:
            wish = resource.strategy.default_propagation
    kept = [name for name in existing if name not in _GC_FINALIZERS]
    if wish == "Orphan":
        kept.append("orphan")
    elif wish == "Foreground":
        kept.append("foregroundDeletion")
    return existing if set(kept) == set(existing) else kept
