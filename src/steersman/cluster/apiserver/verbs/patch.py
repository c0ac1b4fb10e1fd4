"""patch: JSON patch, merge patch and strategic merge patch.

JSON patch, merge patch and strategic merge patch; server-side apply has its own module, `apply`. The patch
is applied to the object as the client sees it (its version, its form), the result is read like a body, and
then it is an update. Without a resourceVersion in it, a patch that lost a race is applied again to what won.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import orjson

from steersman.cluster.apiserver.pipeline.bodies import match_name, match_namespace, resets_owners
from steersman.cluster.apiserver.pipeline.call import Api, Call
from steersman.cluster.apiserver.pipeline.options import WriteOptions
from steersman.cluster.apiserver.resources.handling import (
    APPLY,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
)
from steersman.cluster.apiserver.resources.kinds import Decoded
from steersman.cluster.apiserver.responses.render import respond_object
from steersman.cluster.apiserver.verbs.apply import apply
from steersman.cluster.apiserver.verbs.update import endpoint_of, replace
from steersman.cluster.codec import strict_error
from steersman.cluster.codec.errors import Malformed
from steersman.cluster.codec.json import parse, repeated_fields
from steersman.cluster.schema.errors import DecodeError
from steersman.http import Response
from steersman.objects.fields import Path
from steersman.objects.fields import invalid as invalid_field
from steersman.objects.kinds import Object
from steersman.objects.patches import json as json_patch
from steersman.objects.patches import merge as merge_patch
from steersman.objects.patches import strategic as strategic_patch
from steersman.objects.patches.errors import BadPatch, PatchError
from steersman.objects.patches.gotext import go_kind, go_value
from steersman.objects.schemas import Schema
from steersman.objects.status import (
    StatusError,
    bad_request,
    invalid,
    not_found,
    payload_too_large,
    unclassified,
    unprocessable_patch,
)

__all__ = ["Change", "patch", "patch_type"]

_OPERATION_FIELDS: Final = ("op", "path", "from", "value")
#: (object, patch, schema) → new object.
_APPLY: dict[str, Callable[[Any, Any, Schema], Any]] = {
    JSON_PATCH: lambda obj, patch, _: json_patch.apply(obj, patch),
    MERGE_PATCH: lambda obj, patch, _: merge_patch.apply(obj, patch),
    STRATEGIC_MERGE_PATCH: strategic_patch.apply,
}
#: A patch that lost this many races is refused.
_TRIES = 5


async def patch(api: Api, call: Call) -> Response:
    kind = patch_type(call)
    if kind == APPLY:
        return await apply(api, call)
    options = WriteOptions.parse(call.query, "PatchOptions")
    change = Change(call, options, kind, call.resource.kind)

    def transform(old: Object) -> Object:
        if not old:
            # Kinds that an update may create; a patch has nothing to be applied to.
            raise not_found(call.resource.group, call.resource.plural, call.path.name)
        return change.applied_to(old)

    written = await replace(api, call, transform, options, endpoint_of(call), tries=_TRIES)
    return respond_object(api, call, written.value)


class PatchedKind(Protocol):
    """What a patch must know of the kind it is applied to (see `kinds.Kind`)."""

    @property
    def schema(self) -> Schema: ...

    def accept_patched(self, value: Object, name: str, *, strategic: bool) -> Decoded: ...

    def list_error(self, value: list[Any]) -> str: ...


@dataclass(slots=True)
class Change:
    """What a request's patch does to an object. That it is JSON is seen at once, all else once there is an
    object to apply it to. Raises StatusError."""

    call: Call
    options: WriteOptions
    media_type: str
    #: Of what is patched: the resource's own, or that of a Scale.
    kind: PatchedKind
    #: The patch, and what strict reading says about how it was written.
    _read: tuple[Any, list[str]] = field(init=False)
    #: What it was last applied to.
    _old: Object = field(init=False)

    def __post_init__(self) -> None:
        self._read = self._parse()

    def applied_to(self, old: Object) -> Object:
        self._old = old
        patch, found = self._read
        replaced = isinstance(patch, list) and self.media_type == MERGE_PATCH and not self._strict
        if replaced and (why := self.kind.list_error(patch)):
            raise self._bad(patch, patch, why)
        try:
            if not self._strict:
                _check_form(self.media_type, patch)
            patched = _APPLY[self.media_type](old, patch, self.kind.schema)
        except PatchError as error:
            raise _refused(error) from None
        if not isinstance(patched, dict):
            raise unprocessable_patch()
        self.call.submitted = patched
        if b"[]" in self.call.request.content:
            self.call.with_empty_lists = patched
        obj = self._accepted(patched, patch, found)
        match_namespace(self.call, obj["metadata"])
        match_name(self.call, obj["metadata"])
        return obj

    def _parse(self) -> tuple[Any, list[str]]:
        content = self.call.request.content
        strict = self._strict
        try:
            value = parse(content, duplicates=strict)
            found = repeated_fields(value) if strict else []
            if found:
                value = parse(content)
        except Malformed:
            raise bad_request("invalid JSON patch") from None
        if strict and self.media_type == JSON_PATCH:
            found = [f"json patch {text}" for text in [*found, *_unknown_fields(value)]]
        return value, found

    @property
    def _strict(self) -> bool:
        return self.options.field_validation != "Ignore"

    def _accepted(self, patched: Object, patch: Any, found: list[str]) -> Object:
        """The patched object read like a body; what does not decode is the patch's fault."""
        resets = resets_owners(patched)
        strategic = self.media_type == STRATEGIC_MERGE_PATCH
        try:
            obj, unknown = self.kind.accept_patched(patched, self.call.path.name, strategic=strategic)
        except DecodeError as error:
            raise self._bad(patched, patch, str(error)) from None
        if resets:
            obj["metadata"]["managedFields"] = []
        self._note([*found, *unknown], patched, patch)
        return obj

    def _note(self, findings: list[str], patched: Object, patch: Any) -> None:
        """What strict reading found is an error or a warning."""
        if findings and self.options.field_validation == "Strict":
            raise self._bad(patched, patch, strict_error(findings))
        if findings and self.options.field_validation == "Warn":
            self.call.warnings.extend(findings)

    def _bad(self, patched: Any, patch: Any, why: str) -> StatusError:
        if self.media_type == STRATEGIC_MERGE_PATCH:
            schema = self.kind.schema
            shown = go_value(strategic_patch.left_over(self._old, patch, schema) if patch else patch)
        else:
            shown = orjson.dumps(patched).decode()
        return invalid("", "", "", [invalid_field(Path("patch"), shown, why)])


def _check_form(media_type: str, patch: Any) -> None:
    """The error about a patch of another form without strict field validation."""
    if media_type == JSON_PATCH and patch is not None and not isinstance(patch, list):
        raise BadPatch(f"json: cannot unmarshal {go_kind(patch)} into Go value of type jsonpatch.Patch")
    if media_type == JSON_PATCH and isinstance(patch, list):
        for operation in patch:
            if operation is not None and not isinstance(operation, dict):
                into = "Go value of type jsonpatch.Operation"
                raise BadPatch(f"json: cannot unmarshal {go_kind(operation)} into {into}")
    if media_type == MERGE_PATCH and not isinstance(patch, dict):
        raise BadPatch("Invalid JSON Patch")


def _unknown(name: str) -> str:
    return f'unknown field "{name}"'


def _unknown_fields(operations: Any) -> list[str]:
    """What strict reading says about members that no operation has."""
    return [
        _unknown(f"[{index}].{name}")
        for index, operation in enumerate(operations if isinstance(operations, list) else ())
        for name in (operation if isinstance(operation, dict) else ())
        if name not in _OPERATION_FIELDS
    ]


def patch_type(call: Call) -> str:
    """The patch's media type. Raises 415."""
    return call.resource.handling.patch_type(call.request.headers.get("content-type") or "")


def _refused(error: PatchError) -> StatusError:
    if error.code == 400:
        return bad_request(str(error))
    if error.code == 413:
        return payload_too_large(str(error))
    if error.code == 422:
        return unprocessable_patch()
    return unclassified(str(error))
