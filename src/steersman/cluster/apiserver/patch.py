"""patch: change an object by a description of the change.

JSON patch, merge patch and strategic merge patch; server-side apply has its own module, `apply`. The patch
is applied to the object as the client sees it (its version, its form), the result is read like a body, and
then it is an update. Without a resourceVersion in it, a patch that lost a race is applied again to what won.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steersman.cluster.apiserver.apply import APPLY, apply
from steersman.cluster.apiserver.bodies import accept_patched
from steersman.cluster.apiserver.call import Api, Call, Object
from steersman.cluster.apiserver.kinds import BuiltInKind
from steersman.cluster.apiserver.options import WriteOptions
from steersman.cluster.apiserver.render import respond_object
from steersman.cluster.apiserver.update import endpoint_of, replace
from steersman.cluster.codec.errors import Malformed
from steersman.cluster.codec.json import parse
from steersman.http import Response
from steersman.objects.patches import json as json_patch
from steersman.objects.patches import merge as merge_patch
from steersman.objects.patches import strategic as strategic_patch
from steersman.objects.patches.errors import PatchError
from steersman.objects.schemas import Schema
from steersman.objects.status import (
    StatusError,
    bad_request,
    internal_error,
    not_found,
    payload_too_large,
    unprocessable_patch,
    unsupported_custom_patch,
    unsupported_patch_type,
)

__all__ = ["PATCH_TYPES", "apply_patch", "patch", "patch_type", "read_patch"]

#: Only built-in kinds say how their lists are merged.
STRATEGIC = "application/strategic-merge-patch+json"
#: (object, patch, schema) → new object.
_APPLY: dict[str, Callable[[Any, Any, Schema], Any]] = {
    "application/json-patch+json": lambda obj, patch, _: json_patch.apply(obj, patch),
    "application/merge-patch+json": lambda obj, patch, _: merge_patch.apply(obj, patch),
    STRATEGIC: strategic_patch.apply,
}
PATCH_TYPES = (*_APPLY, APPLY)
#: A patch that lost this many races is refused.
_TRIES = 5


async def patch(api: Api, call: Call) -> Response:
    kind = patch_type(call)
    if kind == APPLY:
        return await apply(api, call)
    options = WriteOptions.parse(call.query, "PatchOptions")
    change = read_patch(call)
    schema = call.resource.kind.schema

    def transform(old: Object) -> Object:
        if not old:
            # Kinds that an update may create; a patch has nothing to be applied to.
            raise not_found(call.resource.group, call.resource.plural, call.path.name)
        patched = apply_patch(kind, old, change, schema)
        return accept_patched(call, patched, options, call.resource.kind.accept)

    written = await replace(api, call, transform, options, endpoint_of(call), tries=_TRIES)
    return respond_object(api, call, written.value)


def patch_type(call: Call) -> str:
    content_type = (call.request.headers.get("content-type") or "").partition(";")[0].strip().lower()
    if content_type not in PATCH_TYPES:
        raise unsupported_patch_type()
    if content_type == STRATEGIC and not isinstance(call.resource.kind, BuiltInKind):
        raise unsupported_custom_patch()
    return content_type


def read_patch(call: Call) -> Any:
    try:
        return parse(call.request.content)
    except Malformed as error:
        raise bad_request(f"error decoding patch: {error}") from None


def apply_patch(kind: str, obj: Object, change: Any, schema: Schema) -> Object:
    try:
        patched = _APPLY[kind](obj, change, schema)
    except PatchError as error:
        raise _refused(error) from None
    if not isinstance(patched, dict):
        raise unprocessable_patch()
    return patched


def _refused(error: PatchError) -> StatusError:
    if error.code == 400:
        return bad_request(str(error))
    if error.code == 413:
        return payload_too_large(str(error))
    if error.code == 422:
        return unprocessable_patch()
    return internal_error(str(error))
