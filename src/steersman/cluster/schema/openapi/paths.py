"""The operations of `operations`, written down as OpenAPI version 2 or 3."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from steersman.cluster.schema.openapi.definitions import PREFIX
from steersman.cluster.schema.openapi.operations import PATCH, Endpoint, Operation, Parameter, endpoints
from steersman.cluster.schema.resources import GVK, ResourceType, find

__all__ = ["paths"]

TypeNames = Callable[[GVK], str | None]

_CODES: Final = {200: "OK", 201: "Created", 202: "Accepted"}
_PRODUCES: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_PATCHES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
#: kubectl patches strategically where it reads that it may; custom resources cannot be.
_BUILT_IN_PATCHES: Final = (*_PATCHES, "application/strategic-merge-patch+json")
_PATCH_TYPE: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"


def paths(resources: Iterable[ResourceType], type_name: TypeNames, version: int) -> dict[str, Any]:
    """Every path of these resources."""
    writer = _Writer(type_name, version)
    return {
        endpoint.path: writer.path_item(endpoint, resource)
        for resource in resources
        for endpoint in endpoints(resource)
    }


class _Writer:
    def __init__(self, type_name: TypeNames, version: int) -> None:
        self._type_name = type_name
        self._version = version

    def path_item(self, endpoint: Endpoint, resource: ResourceType) -> dict[str, Any]:
        item: dict[str, Any] = {"parameters": [self._parameter(each) for each in endpoint.parameters]}
        group = resource.group.partition(".")[0] or "core"
        built_in = find(resource.group, resource.version, resource.plural) is not None
        patches = _BUILT_IN_PATCHES if built_in else _PATCHES
        for operation in endpoint.operations:
            item[operation.method] = self._operation(operation, f"{group}_{resource.version}", patches)
        return item

    def _operation(self, operation: Operation, tag: str, patches: tuple[str, ...]) -> dict[str, Any]:
        written: dict[str, Any] = {
            "description": operation.description,
            "operationId": operation.operation_id,
            "tags": [tag],
            "parameters": [self._parameter(each) for each in operation.parameters],
            "responses": self._responses(operation),
            "x-kubernetes-action": operation.action,
            "x-kubernetes-group-version-kind": operation.gvk._asdict(),
        }
        body = self._schema(operation.body)
        consumes = patches if operation.body == PATCH else ("*/*",)
        if self._version == 2:
            written |= {"consumes": list(consumes), "produces": list(_PRODUCES), "schemes": ["https"]}
        if body is None:
            return written
        required = operation.method != "delete"
        if self._version == 2:
            parameter = {"name": "body", "in": "body", "schema": body} | (
                {"required": True} if required else {}
            )
            written["parameters"].insert(0, parameter)
        else:
            content = {media_type: {"schema": body} for media_type in consumes}
            written["requestBody"] = {"content": content} | ({"required": True} if required else {})
        return written

    def _parameter(self, parameter: Parameter) -> dict[str, Any]:
        written: dict[str, Any] = {
            "name": parameter.name,
            "in": parameter.place,
            "description": parameter.description,
        }
        if parameter.place == "path":
            written["required"] = True
        kind = {"type": parameter.type, "uniqueItems": True}
        return written | (kind if self._version == 2 else {"schema": kind})

    def _responses(self, operation: Operation) -> dict[str, Any]:
        answer = self._schema(operation.answer) or {"type": "string"}
        responses: dict[str, Any] = {}
        for code in operation.codes:
            written: dict[str, Any] = {"description": _CODES[code]}
            if self._version == 2:
                written["schema"] = answer
            else:
                written["content"] = {media_type: {"schema": answer} for media_type in _PRODUCES}
            responses[str(code)] = written
        responses["401"] = {"description": "Unauthorized"}
        return responses

    def _schema(self, gvk: GVK | None) -> dict[str, Any] | None:
        if gvk is None:
            return None
        name = _PATCH_TYPE if gvk == PATCH else self._type_name(gvk)
        return {"$ref": PREFIX[self._version] + name} if name else None
