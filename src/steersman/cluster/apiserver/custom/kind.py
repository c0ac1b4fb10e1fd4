"""One version of a CustomResourceDefinition as a `Kind`: reads, checks and shows objects by its schema."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from steersman.cluster.apiserver.resources.columns.custom import table_for
from steersman.cluster.apiserver.resources.kinds import Decoded, Errors, ReadBody
from steersman.cluster.apiserver.resources.storage_encoding import revision_of
from steersman.cluster.cel import run_within_loop_budget
from steersman.cluster.codec import (
    BodyRejected,
    FieldValidation,
    claimed_kind,
    parse_body,
    repeated_fields,
    strict_error,
    unrecognized,
)
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.structural import MetadataError, StructuralSchema, compile_schema
from steersman.cluster.schema.structural.engine import rule_engine
from steersman.cluster.schema.structural.paths import get_path, set_path
from steersman.cluster.schema.structural.schema import Verdict
from steersman.objects.fields import FieldError, Path
from steersman.objects.fields import invalid as invalid_field
from steersman.objects.kinds import Object
from steersman.objects.metadata import validate_object_meta, validate_object_meta_update
from steersman.objects.names import name_is_dns_subdomain
from steersman.objects.schemas import Schema
from steersman.objects.status import internal_error, invalid

if TYPE_CHECKING:
    from steersman.cluster.apiserver.resources.columns import ColumnDefinition, Row

__all__ = ["CustomKind", "ShapeRevision"]


_SCALE = GVK("autoscaling", "v1", "Scale")


@dataclass(slots=True)
class ShapeRevision:
    """The revision from which on stored objects are known to have the shape of a definition's schemas."""

    revision: int = sys.maxsize


class CustomKind:
    """Reads, checks and shows objects by the version's structural schema."""

    empty = None
    distinct_errors = False
    drops_empty = False

    def __init__(
        self,
        gvk: GVK,
        version: Object,
        namespaced: bool,
        since: ShapeRevision,
        replicas_paths: Mapping[str, str | None],
    ) -> None:
        self._gvk = gvk
        self._namespaced = namespaced
        self._since = since
        self.replicas_paths = replicas_paths
        self._scale: Object | None = (version.get("subresources") or {}).get("scale")
        self._structure: StructuralSchema = compile_schema(
            (version.get("schema") or {}).get("openAPIV3Schema"), rules=rule_engine(), scale=self._scale
        )
        self._table = table_for(version)
        self._schema: Schema | None = None

    @property
    def schema(self) -> Schema:
        if self._schema is None:
            self._schema = self._structure.to_schema()
        return self._schema

    def read(self, content_type: str, body: bytes, validation: FieldValidation) -> ReadBody:
        strict = validation != "Ignore"
        value, _, found = parse_body(content_type, body, self._gvk, duplicates=strict)
        self._check_claim(value, body, strict)
        repeated = repeated_fields(value) if strict else []
        if repeated:
            # Without a type to decode both into, the last one counts.
            value, _, _ = parse_body(content_type, body, self._gvk)
        # Reading changes the value; the body itself matters only with these in it.
        parsed = _copied(value) if b"[]" in body or b"managedFields" in body else None
        try:
            obj, unknown = self.accept(value)
        except DecodeError as error:
            raise self._rejected(str(error)) from None
        findings = [*found, *repeated, *unknown]
        if findings and validation == "Strict":
            raise self._rejected(strict_error(findings))
        obj.setdefault("metadata", {})
        return ReadBody(obj, findings if strict else [], parsed)

    def _check_claim(self, value: Object, body: bytes, strict: bool) -> None:
        """Unlike built-in kinds, custom ones must say what they are."""
        kind, api_version = value.get("kind") or "", value.get("apiVersion") or ""
        if not kind:
            why = f"Object 'Kind' is missing in '{body.decode(errors='replace').strip()}'"
            raise unrecognized(why, self._gvk, body) if strict else self._rejected(why)
        if api_version != self._gvk.api_version:
            raise BodyRejected(
                f"the API version in the data ({api_version}) does not match the expected API version "
                f"({self._gvk.api_version})"
            )
        if kind != self._gvk.kind:
            metadata = value.get("metadata")
            name = metadata.get("name", "") if isinstance(metadata, dict) else ""
            error = invalid_field(Path("kind"), kind, f"must be {self._gvk.kind}")
            raise invalid(self._gvk.group, kind, name, [error])

    def _rejected(self, why: str) -> BodyRejected:
        kind, version = self._gvk.kind, self._gvk.version
        return BodyRejected(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')

    def accept(self, value: Object, *, applied: bool = False) -> Decoded:
        value["kind"], value["apiVersion"] = self._gvk.kind, self._gvk.api_version
        try:
            unknown = self._structure.coerce(value, keep_nulls=applied)
        except MetadataError as error:
            raise DecodeError(str(error)) from None
        self._structure.default(value)
        return value, unknown

    def accept_patched(self, value: Object, name: str, *, strategic: bool) -> Decoded:
        self._check_patched(value, name)
        # Objects are completed in place, and the patched one shares parts with the one it was made of.
        return self.accept(_copied(value))

    def _check_patched(self, value: Object, name: str) -> None:
        """Custom objects must say what they are."""
        try:
            claimed = claimed_kind(value)
        except BodyRejected as fault:
            raise DecodeError(str(fault)) from None
        if not claimed.kind:
            raise DecodeError(f"Object 'Kind' is missing in '{orjson.dumps(value).decode()}'")
        if not claimed.version:
            raise internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")
        errors = [
            invalid_field(Path(field), said, f"must be {wanted}")
            for field, said, wanted in (
                ("kind", claimed.kind, self._gvk.kind),
                ("apiVersion", claimed.api_version, self._gvk.api_version),
            )
            if said != wanted
        ]
        if errors:
            raise invalid(claimed.group, claimed.kind, name, errors)
        if value.get("metadata") is None:
            value["metadata"] = {}

    def list_error(self, value: list[Any]) -> str:
        return ""

    def conversion_failure(self, value: Object, error: DecodeError) -> str:
        return str(error)

    def prune(self, obj: Object) -> None:
        """Bring what a conversion made into this version's shape, in place. Raises DecodeError."""
        try:
            self._structure.coerce(obj)
        except MetadataError as error:
            raise DecodeError(str(error)) from None

    def complete(self, obj: Object) -> None:
        """Give an object from the store the shape of now: fields that went after it was written go, defaults
        that came come."""
        with suppress(MetadataError):
            self._structure.coerce(obj)
        self._structure.default(obj)

    def is_complete(self, value: bytes) -> bool:
        return revision_of(value) >= self._since.revision

    def check_new(self, obj: Object) -> Errors:
        earlier = self._metadata_errors(obj)
        return _errors(run_within_loop_budget(lambda: self._structure.validate_create(obj, earlier)), [])

    def check_update(self, new: Object, old: Object, subresource: str, warnings: list[str]) -> Errors:
        earlier = self._metadata_errors(new)
        # What holds for updates of everything, and once more for those of custom resources.
        earlier += validate_object_meta_update(new["metadata"], old["metadata"]) * 2
        status = subresource == "status"
        validate = self._structure.validate_status if status else self._structure.validate_update
        return _errors(run_within_loop_budget(lambda: validate(new, old, earlier)), warnings)

    def _metadata_errors(self, obj: Object) -> list[FieldError]:
        return validate_object_meta(
            obj["metadata"], namespaced=self._namespaced, name_check=name_is_dns_subdomain
        )

    def columns(self) -> list[ColumnDefinition]:
        return list(self._table.columns)

    def rows(self, objects: Iterable[Object], now: float, *, listed: bool = True) -> list[Row]:
        from steersman.cluster.apiserver.resources.columns import Row

        return [Row(obj, self._table.cells(obj, now)) for obj in objects]

    def scale_of(self, obj: Object) -> Object:
        assert self._scale is not None
        metadata = {
            key: obj["metadata"][key]
            for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
            if key in obj["metadata"]
        }
        replicas = get_path(obj, self._scale["specReplicasPath"], int)
        status: Object = {"replicas": get_path(obj, self._scale["statusReplicasPath"], int) or 0}
        path = self._scale.get("labelSelectorPath")
        if path and (selector := get_path(obj, path, str)):
            status["selector"] = selector
        spec = {"replicas": replicas} if replicas else {}
        scale = {"kind": _SCALE.kind, "apiVersion": _SCALE.api_version, "metadata": metadata}
        return {**scale, "spec": spec, "status": status}

    def without_replicas(self, obj: Object) -> str:
        assert self._scale is not None
        path: str = self._scale["specReplicasPath"]
        return path if get_path(obj, path, int) is None else ""

    def set_replicas(self, obj: Object, replicas: int) -> None:
        assert self._scale is not None
        set_path(obj, self._scale["specReplicasPath"], replicas)


def _copied(value: Any) -> Any:
    """JSON that shares no containers with what it is made of."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _errors(verdict: Verdict | Awaitable[Verdict], warnings: list[str]) -> Errors:
    if isinstance(verdict, Verdict):
        warnings += verdict.warnings
        return verdict.errors

    async def later() -> list[FieldError]:
        found = await verdict
        warnings.extend(found.warnings)
        return found.errors

    return later()
