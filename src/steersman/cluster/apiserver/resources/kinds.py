"""`Kind`: how objects of a kind are read, checked and shown.

Built-in kinds answer from the schema table and hand-written rules; custom kinds from their definition.
A verb never asks which of the two it has.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import orjson

from steersman.cluster.apiserver.resources.strategies import apply_scale, scale_of
from steersman.cluster.codec import FieldValidation, decode_body, kind_error
from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.defaults import apply_defaults
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.resources import GVK, ResourceType
from steersman.cluster.schema.shapes import schema_of
from steersman.cluster.schema.unstructured import conversion_error
from steersman.cluster.schema.validation import (
    rules_for,
    validate_create,
    validate_status_update,
    validate_subresource_update,
    validate_update,
)
from steersman.objects.fields import FieldError
from steersman.objects.kinds import Object
from steersman.objects.schemas import Schema

if TYPE_CHECKING:
    from steersman.cluster.apiserver.resources.columns import ColumnDefinition, Row

__all__ = [
    "BuiltInKind",
    "BuiltInShape",
    "Decoded",
    "Errors",
    "Kind",
    "ReadBody",
    "accept_built_in",
    "read_built_in",
]

_TYPE_META: Final = {"apiVersion", "kind"}
#: Definitions with more bytes than this are checked beside the loop.
_LARGE: Final = 16 << 10
#: An object in normal form with its defaults, and what strict decoding found.
Decoded = tuple[Object, list[str]]


class ReadBody(NamedTuple):
    """A request's body as an object in normal form with its defaults, and strict findings that are
    warnings."""

    obj: Object
    findings: list[str]
    #: The body as it was parsed, not to be changed; None where nothing needs it.
    parsed: Object | None


#: What is wrong with an object; awaitable where finding out takes long.
Errors = list[FieldError] | Awaitable[list[FieldError]]


class Kind(Protocol):
    @property
    def schema(self) -> Schema:
        """Its shape, for patches and field ownership."""

    @property
    def empty(self) -> Object | None:
        """The object without any fields set (not to be changed); None where there is no fixed form."""

    def read(self, content_type: str, body: bytes, validation: FieldValidation) -> ReadBody:
        """A request's body. Raises CodecError, also for strict findings that are errors."""

    def accept(self, value: Object, *, applied: bool = False) -> Decoded:
        """A value made by a patch, or by server-side apply (`applied`), which wants every null that it has.
        Raises DecodeError; strict findings are the caller's to judge."""

    def accept_patched(self, value: Object, name: str, *, strategic: bool) -> Decoded:
        """A value that a patch made of the object `name`, read like a body. What strict reading finds is in
        the order of Go's sorted fields. Raises DecodeError, StatusError."""

    def list_error(self, value: list[Any]) -> str:
        """What is wrong with a list in place of the object; empty where that is not looked at."""

    def conversion_failure(self, value: Object, error: DecodeError) -> str:
        """Why server-side apply could not bring a value into this kind."""

    def is_complete(self, value: bytes) -> bool:
        """Whether stored bytes are what this version serves; else `complete` makes an object so."""

    def complete(self, obj: Object) -> None:
        """Give an object from the store what it lacks since its kind changed."""

    @property
    def distinct_errors(self) -> bool:
        """Whether an error that is found twice is reported once."""

    @property
    def drops_empty(self) -> bool:
        """Whether the normal form lacks empty lists and maps that a client gave."""

    def check_new(self, obj: Object) -> Errors: ...

    def check_update(self, new: Object, old: Object, subresource: str, warnings: list[str]) -> Errors:
        """What is wrong; what was wrong before and did not change is added to the warnings."""

    def scale_of(self, obj: Object) -> Object:
        """The Scale of an object whose resource has that subresource."""

    def without_replicas(self, obj: Object) -> str:
        """Where an object should say how many replicas it wants and does not; empty when it does."""

    def set_replicas(self, obj: Object, replicas: int) -> None: ...

    @property
    def replicas_paths(self) -> Mapping[str, str | None]:
        """Where each of its apiVersions keeps the replicas; None where there is no scale."""

    def columns(self) -> list[ColumnDefinition]: ...

    def rows(self, objects: Iterable[Object], now: float, *, listed: bool = True) -> list[Row] | None:
        """What a Table shows of objects, which are a list unless said otherwise."""


def read_built_in(gvk: GVK, content_type: str, body: bytes, validation: FieldValidation) -> ReadBody:
    """A body of a built-in kind, which need not be a resource (Scale, Binding, Eviction)."""
    obj, _, warnings, parsed = decode_body(content_type, body, gvk, validation)
    apply_defaults(*gvk, obj)
    obj.setdefault("metadata", {})
    return ReadBody(obj, warnings, parsed)


def accept_built_in(gvk: GVK, value: Object) -> Decoded:
    obj, findings = decode(gvk, value)
    apply_defaults(*gvk, obj)
    obj["kind"], obj["apiVersion"] = gvk.kind, gvk.api_version
    return obj, findings


class BuiltInShape:
    """A type of the schema table, which need not be a resource: how bodies and patches of it are read."""

    def __init__(self, gvk: GVK) -> None:
        self._gvk = gvk
        self._schema: Schema | None = None
        self._empty: Object | None = None

    @property
    def schema(self) -> Schema:
        if self._schema is None:
            self._schema = schema_of(self._gvk)
        return self._schema

    @property
    def empty(self) -> Object:
        if self._empty is None:
            self._empty = decode(self._gvk, {}).obj
        return self._empty

    def read(self, content_type: str, body: bytes, validation: FieldValidation) -> ReadBody:
        return read_built_in(self._gvk, content_type, body, validation)

    def accept(self, value: Object, *, applied: bool = False) -> Decoded:
        return accept_built_in(self._gvk, value)

    def accept_patched(self, value: Object, name: str, *, strategic: bool) -> Decoded:
        unknown: list[str] = []
        if not strategic:
            if why := kind_error(value, self._gvk):
                raise DecodeError(why)
            if not value.get("apiVersion"):
                unknown = [f'unknown field "{key}"' for key in sorted(value.keys() - _TYPE_META)]
                value = {}  # read as no version's: nothing of it is known
        try:
            obj, found = self.accept(value)
        except DecodeError as error:
            why = conversion_error(self._gvk, value) if strategic else self._first_error(value)
            raise DecodeError(why or str(error)) from None
        if len(found) > 1:
            # Patching sorts the fields of what it touches.
            found = sorted(found) if strategic else self.accept(_sorted(value))[1]
        return obj, [*unknown, *found]

    def _first_error(self, value: Object) -> str:
        """What reading stumbles over first, in the order of sorted fields."""
        try:
            self.accept(_sorted(value))
        except DecodeError as error:
            return str(error)
        return ""

    def list_error(self, value: list[Any]) -> str:
        return kind_error(value, self._gvk)

    def conversion_failure(self, value: Object, error: DecodeError) -> str:
        shown = f"{self._gvk.group}/{self._gvk.version}, Kind={self._gvk.kind}"
        why = conversion_error(self._gvk, value) or str(error)
        return f"unable to convert unstructured object to {shown}: {why}"


def _sorted(value: Object) -> Object:
    copied: Object = orjson.loads(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    return copied


class BuiltInKind(BuiltInShape):
    """A kind of the schema table. Objects are checked in the form they are stored in, by the rules of the
    group they are asked for in."""

    drops_empty = True

    def __init__(self, resource_type: ResourceType) -> None:
        super().__init__(resource_type.gvk)
        self._type = resource_type
        self._stored = resource_type.storage or resource_type.gvk
        #: Checking one can take long enough to be noticed by others.
        self._is_definition = self._stored.kind == "CustomResourceDefinition"

    def is_complete(self, value: bytes) -> bool:
        return True

    def complete(self, obj: Object) -> None:
        return None

    def scale_of(self, obj: Object) -> Object:
        return scale_of(self._type.group, self._type.plural, obj)

    def without_replicas(self, obj: Object) -> str:
        return ""

    def set_replicas(self, obj: Object, replicas: int) -> None:
        apply_scale(obj, replicas)

    @property
    def replicas_paths(self) -> Mapping[str, str | None]:
        return {self._type.api_version: "spec.replicas"}

    @property
    def distinct_errors(self) -> bool:
        return rules_for(self._stored.group, self._stored.kind).distinct

    def check_new(self, obj: Object) -> Errors:
        group, kind, namespaced = self._type.group, self._type.kind, self._type.namespaced
        if self._is_definition and _is_large(obj):
            return _in_thread(lambda: validate_create(group, kind, namespaced, obj))
        return validate_create(group, kind, namespaced, obj)

    def check_update(self, new: Object, old: Object, subresource: str, warnings: list[str]) -> Errors:
        if self._is_definition and _is_large(new):
            return _in_thread(lambda: self._check_update(new, old, subresource))
        return self._check_update(new, old, subresource)

    def _check_update(self, new: Object, old: Object, subresource: str) -> list[FieldError]:
        group, kind, namespaced = self._type.group, self._type.kind, self._type.namespaced
        if not subresource or subresource == "scale":
            return validate_update(group, kind, namespaced, new, old)
        if subresource == "status":
            return validate_status_update(group, kind, namespaced, new, old)
        return validate_subresource_update(group, kind, subresource, namespaced, new, old)

    def columns(self) -> list[ColumnDefinition]:
        from steersman.cluster.apiserver.resources.columns import columns_for

        stored = self._type.storage or self._type.gvk
        return columns_for(stored.group, stored.version, self._type.plural)

    def rows(self, objects: Iterable[Object], now: float, *, listed: bool = True) -> list[Row] | None:
        from steersman.cluster.apiserver.resources.columns import rows

        stored = self._type.storage or self._type.gvk
        return rows(stored.group, stored.version, self._type.plural, objects, now, listed=listed)


def _is_large(obj: Object) -> bool:
    return len(orjson.dumps(obj)) > _LARGE


def _in_thread(check: Callable[[], list[FieldError]]) -> Awaitable[list[FieldError]]:
    # What checks definitions has loaded this too; a start without definitions need not.
    from steersman.cluster.cel import in_worker_thread

    return in_worker_thread(check)
