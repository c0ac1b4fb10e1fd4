"""patch: change an object by a description of the change.

JSON patch, merge patch and strategic merge patch; server-side apply has its own module, `apply`. The patch
is applied to the object as the client sees it (its version, its form), the result is read like a body, and
then it is an update. Without a resourceVersion in it, a patch that lost a race is applied again to what won.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from steersman.cluster.apiserver.pipeline.bodies import match_name, match_namespace, resets_owners
from steersman.cluster.apiserver.pipeline.call import Api, Call, Object
from steersman.cluster.apiserver.pipeline.options import WriteOptions
from steersman.cluster.apiserver.resources.kinds import BuiltInKind, Decoded
from steersman.cluster.apiserver.responses.render import respond_object
from steersman.cluster.apiserver.verbs.apply import APPLY, apply
from steersman.cluster.apiserver.verbs.update import endpoint_of, replace
from steersman.cluster.codec import BodyRejected, claimed_kind, kind_error, strict_error
from steersman.cluster.codec.errors import Malformed
from steersman.cluster.codec.json import parse, repeated_fields
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.unstructured import conversion_error
from steersman.http import Response
from steersman.objects.fields import Path
from steersman.objects.fields import invalid as invalid_field
from steersman.objects.patches import json as json_patch
from steersman.objects.patches import merge as merge_patch
from steersman.objects.patches import strategic as strategic_patch
from steersman.objects.patches.errors import BadPatch, PatchError
from steersman.objects.patches.gotext import go_kind, go_value
from steersman.objects.schemas import Schema
from steersman.objects.status import (
    StatusError,
    bad_request,
    internal_error,
    invalid,
    not_found,
    payload_too_large,
    unclassified,
    unprocessable_patch,
    unrouted_patch_type,
    unsupported_patch_type,
)

__all__ = ["PATCH_TYPES", "Change", "patch", "patch_type"]

#: Only built-in kinds say how their lists are merged.
STRATEGIC = "application/strategic-merge-patch+json"
_MERGE: Final = "application/merge-patch+json"
_OPERATIONS: Final = "application/json-patch+json"
_TYPE_META: Final = {"apiVersion", "kind"}
_OPERATION_FIELDS: Final = ("op", "path", "from", "value")
#: (object, patch, schema) → new object.
_APPLY: dict[str, Callable[[Any, Any, Schema], Any]] = {
    _OPERATIONS: lambda obj, patch, _: json_patch.apply(obj, patch),
    _MERGE: lambda obj, patch, _: merge_patch.apply(obj, patch),
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
    shape = call.resource.kind
    change = Change(
        call,
        options,
        kind,
        shape.schema,
        shape.accept,
        call.resource.type.gvk,
        isinstance(shape, BuiltInKind),
    )

    def transform(old: Object) -> Object:
        if not old:
            # Kinds that an update may create; a patch has nothing to be applied to.
            raise not_found(call.resource.group, call.resource.plural, call.path.name)
        return change.applied_to(old)

    written = await replace(api, call, transform, options, endpoint_of(call), tries=_TRIES)
    return respond_object(api, call, written.value)


@dataclass(slots=True)
class Change:
    """What a request's patch does to an object. That it is JSON is seen at once, all else once there is an
    object to apply it to. Raises StatusError."""

    call: Call
    options: WriteOptions
    media_type: str
    schema: Schema
    accept: Callable[[Object], Decoded]
    gvk: GVK
    built_in: bool = True
    #: The patch, and what strict reading says about how it was written.
    _read: tuple[Any, list[str]] = field(init=False)
    #: What it was last applied to.
    _old: Object = field(init=False)

    def __post_init__(self) -> None:
        self._read = self._parse()

    def applied_to(self, old: Object) -> Object:
        self._old = old
        patch, found = self._read
        if self.built_in and isinstance(patch, list) and self.media_type == _MERGE and not self._strict:
            # It takes the object's place.
            raise self._bad(patch, patch, kind_error(patch, self.gvk))
        try:
            if not self._strict:
                _check_form(self.media_type, patch)
            patched = _APPLY[self.media_type](old, patch, self.schema)
        except PatchError as error:
            raise _refused(error) from None
        if not isinstance(patched, dict):
            raise unprocessable_patch()
        self.call.patched = patched
        if b"[]" in self.call.request.content:
            self.call.given = patched
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
        if strict and self.media_type == _OPERATIONS:
            found = [f"json patch {text}" for text in [*found, *_unknown_fields(value)]]
        return value, found

    @property
    def _strict(self) -> bool:
        return self.options.field_validation != "Ignore"

    def _accepted(self, patched: Object, patch: Any, found: list[str]) -> Object:
        """The patched object read like a body; what does not decode is the patch's fault."""
        if not self.built_in:
            self._check_custom_kind(patched, patch)
        elif self.media_type != STRATEGIC:
            if why := kind_error(patched, self.gvk):
                raise self._bad(patched, patch, why)
            if not patched.get("apiVersion"):
                self._note([*found, *map(_unknown, sorted(patched.keys() - _TYPE_META))], patched, patch)
                patched = {}  # read as no version's: nothing of it is known
        resets = resets_owners(patched)
        try:
            # Custom kinds are completed in place, and the patched object shares parts with the old one.
            obj, unknown = self.accept(patched if self.built_in else _copied(patched))
        except DecodeError as error:
            why = str(error)
            if self.media_type == STRATEGIC:
                why = conversion_error(self.gvk, patched) or why
            elif self.built_in:
                why = self._first_error(patched) or why
            raise self._bad(patched, patch, why) from None
        if resets:
            obj["metadata"]["managedFields"] = []
        self._note([*found, *self._in_order(patched, unknown)], patched, patch)
        return obj

    def _note(self, findings: list[str], patched: Object, patch: Any) -> None:
        """What strict reading found is an error or a warning."""
        if findings and self.options.field_validation == "Strict":
            raise self._bad(patched, patch, strict_error(findings))
        if findings and self.options.field_validation == "Warn":
            self.call.warnings.extend(findings)

    def _in_order(self, patched: Object, unknown: list[str]) -> list[str]:
        """Unknown fields as reading finds them: patching sorts the fields of what it touches."""
        if len(unknown) < 2 or not self.built_in:
            return unknown
        if self.media_type == STRATEGIC:
            return sorted(unknown)
        return self.accept(_sorted(patched))[1]

    def _first_error(self, patched: Object) -> str:
        """What reading stumbles over first, in that order."""
        try:
            self.accept(_sorted(patched))
        except DecodeError as error:
            return str(error)
        return ""

    def _check_custom_kind(self, patched: Object, patch: Any) -> None:
        """Custom objects must say what they are."""
        try:
            claimed = claimed_kind(patched)
        except BodyRejected as fault:
            raise self._bad(patched, patch, str(fault)) from None
        if not claimed.kind:
            why = f"Object 'Kind' is missing in '{orjson.dumps(patched).decode()}'"
            raise self._bad(patched, patch, why)
        if not claimed.version:
            raise internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")
        errors = [
            invalid_field(Path(name), said, f"must be {wanted}")
            for name, said, wanted in (
                ("kind", claimed.kind, self.gvk.kind),
                ("apiVersion", claimed.api_version, self.gvk.api_version),
            )
            if said != wanted
        ]
        if errors:
            raise invalid(claimed.group, claimed.kind, self.call.path.name, errors)
        if patched.get("metadata") is None:
            patched["metadata"] = {}

    def _bad(self, patched: Any, patch: Any, why: str) -> StatusError:
        if self.media_type == STRATEGIC:
            shown = go_value(strategic_patch.left_over(self._old, patch, self.schema) if patch else patch)
        else:
            shown = orjson.dumps(patched).decode()
        return invalid("", "", "", [invalid_field(Path("patch"), shown, why)])


def _check_form(media_type: str, patch: Any) -> None:
    """What is said about a patch of another form when nobody asked for strict reading."""
    if media_type == _OPERATIONS and patch is not None and not isinstance(patch, list):
        raise BadPatch(f"json: cannot unmarshal {go_kind(patch)} into Go value of type jsonpatch.Patch")
    if media_type == _OPERATIONS and isinstance(patch, list):
        for operation in patch:
            if operation is not None and not isinstance(operation, dict):
                into = "Go value of type jsonpatch.Operation"
                raise BadPatch(f"json: cannot unmarshal {go_kind(operation)} into {into}")
    if media_type == _MERGE and not isinstance(patch, dict):
        raise BadPatch("Invalid JSON Patch")


def _copied(value: Any) -> Any:
    """JSON that shares no containers with what it is made of."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _sorted(value: Object) -> Object:
    copied: Object = orjson.loads(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    return copied


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
    """The patch's media type. Built-in kinds have a route that takes a list of types of which it knows one;
    what reads the patch knows none but a single type."""
    content_type = call.request.headers.get("content-type") or ""
    given = content_type.partition(";")[0]
    if not isinstance(call.resource.kind, BuiltInKind):
        accepted = tuple(kind for kind in PATCH_TYPES if kind != STRATEGIC)
    else:
        accepted = PATCH_TYPES
        parts = (part.partition(";")[0].strip() for part in content_type.split(","))
        if given not in accepted and not any(part in accepted for part in parts):
            raise unrouted_patch_type()
    if given not in accepted:
        raise unsupported_patch_type(accepted)
    return given


def _refused(error: PatchError) -> StatusError:
    if error.code == 400:
        return bad_request(str(error))
    if error.code == 413:
        return payload_too_large(str(error))
    if error.code == 422:
        return unprocessable_patch()
    return unclassified(str(error))
