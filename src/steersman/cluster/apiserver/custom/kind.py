"""One version of a custom resource definition, as the verbs see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from steersman.cluster.apiserver.atrest import revision_of
from steersman.cluster.apiserver.columns.custom import table_for
from steersman.cluster.apiserver.kinds import Decoded
from steersman.cluster.apiserver.resource import Resource
from steersman.cluster.apiserver.strategies import Strategy, Subresource
from steersman.cluster.codec import BodyRejected, FieldValidation, parse_body, repeated_fields, strict_error
from steersman.cluster.schema.errors import DecodeError
from steersman.cluster.schema.resources import GVK, ResourceType, SubresourceType
from steersman.cluster.schema.structural import MetadataError, StructuralSchema, compile_schema
from steersman.cluster.schema.structural.engine import rule_engine
from steersman.cluster.schema.structural.paths import get_path, set_path
from steersman.cluster.schema.structural.selectable import compile_selectable_fields
from steersman.objects.fields import FieldError
from steersman.objects.metadata import validate_object_meta, validate_object_meta_update
from steersman.objects.names import name_is_dns_subdomain
from steersman.objects.schemas import Schema

if TYPE_CHECKING:
    from steersman.cluster.apiserver.columns import ColumnDefinition, Row

__all__ = ["CustomKind", "custom_resource"]

Object = dict[str, Any]

#: As the server lists them for custom resources.
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SCALE = GVK("autoscaling", "v1", "Scale")


class CustomKind:
    """Reads, checks and shows objects by the version's structural schema."""

    empty = None

    def __init__(self, gvk: GVK, version: Object, namespaced: bool, since: int) -> None:
        """`since` is the revision from which on stored objects have this schema's defaults."""
        self._gvk = gvk
        self._namespaced = namespaced
        self._since = since
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

    def read(self, content_type: str, body: bytes, validation: FieldValidation) -> Decoded:
        strict = validation != "Ignore"
        value, claimed, found = parse_body(content_type, body, self._gvk, duplicates=strict)
        if claimed != self._gvk:
            raise BodyRejected(self._mismatch(claimed))
        repeated = repeated_fields(value) if strict else []
        try:
            obj, unknown = self.accept(value)
        except DecodeError as error:
            raise self._rejected(str(error)) from None
        findings = [*found, *repeated, *unknown]
        if findings and validation == "Strict":
            raise self._rejected(strict_error(findings))
        obj.setdefault("metadata", {})
        return obj, findings if strict else []

    def _mismatch(self, claimed: GVK) -> str:
        if claimed.kind == self._gvk.kind:
            return (
                f"the API version in the data ({claimed.api_version}) does not match the expected API "
                f"version ({self._gvk.api_version})"
            )
        return (
            f'{claimed.kind} in version "{claimed.version}" cannot be handled as a {self._gvk.kind}: '
            f"converting to {self._gvk.kind}: unknown conversion"
        )

    def _rejected(self, why: str) -> BodyRejected:
        kind, version = self._gvk.kind, self._gvk.version
        return BodyRejected(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')

    def accept(self, value: Object) -> Decoded:
        value["kind"], value["apiVersion"] = self._gvk.kind, self._gvk.api_version
        try:
            unknown = self._structure.coerce(value)
        except MetadataError as error:
            raise DecodeError(str(error)) from None
        self._structure.default(value)
        return value, unknown

    def complete(self, obj: Object) -> None:
        """Give an object from the store the defaults that came after it was written."""
        self._structure.default(obj)

    def is_complete(self, value: bytes) -> bool:
        return revision_of(value) >= self._since

    def check_new(self, obj: Object) -> list[FieldError]:
        return self._structure.validate_create(obj, self._metadata_errors(obj)).errors

    def check_update(self, new: Object, old: Object, subresource: str) -> list[FieldError]:
        earlier = self._metadata_errors(new)
        earlier += validate_object_meta_update(new["metadata"], old["metadata"])
        if subresource == "status":
            return self._structure.validate_status(new, old, earlier).errors
        return self._structure.validate_update(new, old, earlier).errors

    def _metadata_errors(self, obj: Object) -> list[FieldError]:
        return validate_object_meta(
            obj["metadata"], namespaced=self._namespaced, name_check=name_is_dns_subdomain
        )

    def columns(self) -> list[ColumnDefinition]:
        return list(self._table.columns)

    def rows(self, objects: Iterable[Object], now: float) -> list[Row]:
        from steersman.cluster.apiserver.columns import Row

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
        if path := self._scale.get("labelSelectorPath"):
            status["selector"] = get_path(obj, path, str) or ""
        spec = {} if replicas is None else {"replicas": replicas}
        scale = {"kind": _SCALE.kind, "apiVersion": _SCALE.api_version, "metadata": metadata}
        return {**scale, "spec": spec, "status": status}

    def set_replicas(self, obj: Object, replicas: int) -> None:
        assert self._scale is not None
        set_path(obj, self._scale["specReplicasPath"], replicas)

    @property
    def replicas_path(self) -> tuple[str, ...]:
        assert self._scale is not None
        return tuple(self._scale["specReplicasPath"].removeprefix(".").split("."))


def custom_resource(definition: Object, version: Object, since: int) -> Resource:
    """The resource that one served version of a definition makes."""
    spec = definition["spec"]
    names = (definition.get("status") or {}).get("acceptedNames") or spec["names"]
    group, namespaced = spec["group"], spec["scope"] == "Namespaced"
    gvk = GVK(group, version["name"], names["kind"])
    stored = next(each["name"] for each in spec["versions"] if each["storage"])
    asked = version.get("subresources") or {}
    parts = {}
    if "status" in asked:
        parts["status"] = SubresourceType("status", gvk, ("get", "patch", "update"))
    if "scale" in asked:
        parts["scale"] = SubresourceType("scale", _SCALE, ("get", "patch", "update"))
    resource_type = ResourceType(
        group,
        version["name"],
        names["plural"],
        names["kind"],
        namespaced,
        verbs=_VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=parts,
        singular=names.get("singular") or names["kind"].lower(),
        list_kind=names.get("listKind") or names["kind"] + "List",
        storage=gvk._replace(version=stored),
    )
    kind = CustomKind(gvk, version, namespaced, since)
    return Resource(resource_type, kind, _strategy(resource_type, version, namespaced))


def _strategy(resource_type: ResourceType, version: Object, namespaced: bool) -> Strategy:
    has_status = "status" in resource_type.subresources
    fields = compile_selectable_fields(version, namespaced=namespaced)
    labels = [each["jsonPath"].removeprefix(".") for each in version.get("selectableFields") or ()]
    return Strategy(
        resource_type.group,
        resource_type.plural,
        generation=_generation_of(("metadata", "status") if has_status else ("metadata",)),
        on_create=_drop_status if has_status else None,
        reset_fields=("status",) if has_status else (),
        subresources={"status": _STATUS} if has_status else {},
        allow_unconditional_update=False,
        fields={label: _reader(fields, label) for label in labels},
        selects_namespace=namespaced,
        field_refusal="field label not supported: %s",
    )


def _keep_all_but_status(new: Object, old: Object) -> None:
    """Through /status only the status changes, and of the metadata what the server itself keeps there."""
    status = new.get("status")
    metadata = {**old["metadata"]}
    if "managedFields" in new["metadata"]:
        metadata["managedFields"] = new["metadata"]["managedFields"]
    new.clear()
    new.update({key: value for key, value in old.items() if key != "status"})
    new["metadata"] = metadata
    if status is not None:
        new["status"] = status


_STATUS = Subresource(_keep_all_but_status, owned_fields=("status",))


def _reader(read: Callable[[Object], dict[str, str]], label: str) -> Callable[[Object], str]:
    return lambda obj: read(obj)[label]


def _generation_of(ignored: Sequence[str]) -> Callable[[Object], object]:
    return lambda obj: {key: value for key, value in obj.items() if key not in ignored}


def _drop_status(obj: Object) -> None:
    obj.pop("status", None)
