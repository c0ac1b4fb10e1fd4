"""get: one stored object."""

from __future__ import annotations

from collections.abc import Awaitable

from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import parse_resource_version
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.responses.render import respond_object
from steersman.cluster.store import Record
from steersman.http import Response
from steersman.objects.fields import quote
from steersman.objects.names import is_path_segment_name
from steersman.objects.status import bad_request, not_found, revision_too_large

__all__ = ["check_fresh", "check_path_name", "find", "get"]


def find(api: Api, resource: Resource, namespace: str, name: str) -> Record:
    """The stored record, or 404; 400 for what cannot be a name."""
    record = api.store.get(resource.key(namespace, name))
    if record is None:
        check_path_name(name)
        raise not_found(resource.group, resource.plural, name)
    return record


def check_path_name(name: str) -> None:
    """Raises 400 for what cannot be a name."""
    if problems := is_path_segment_name(name):
        raise bad_request(f"Name parameter invalid: {quote(name)}: {';'.join(problems)}")


def get(api: Api, call: Call) -> Response | Awaitable[Response]:
    if call.query:
        check_fresh(api, parse_resource_version((call.query.get("resourceVersion") or [""])[0]))
    record = find(api, call.resource, call.path.namespace, call.path.name)
    if call.resource.conversion is not None:
        return _get_converted(api, call, record)
    return respond_object(api, call, record.value)


async def _get_converted(api: Api, call: Call, record: Record) -> Response:
    return respond_object(api, call, await call.resource.show(record.value))


def check_fresh(api: Api, asked: int | None) -> None:
    """Raises 504 for a resourceVersion that the store has not reached."""
    if asked is not None and asked > api.store.revision:
        raise revision_too_large(asked, api.store.revision)
