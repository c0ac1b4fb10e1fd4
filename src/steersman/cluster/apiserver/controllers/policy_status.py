"""`status.typeChecking` of ValidatingAdmissionPolicies (validatingadmissionpolicystatus).

A policy whose generation has not been checked yet is checked once against the schemas of the kinds it names.
It is a loop of the server, not of `steersman.runtime` (see this package's docstring): the schemas are the
server's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from steersman.cluster.apiserver.controllers.following import follow_each, replace_unchanged
from steersman.cluster.apiserver.pipeline.call import Api, StoreReader
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.server_managed_fields import applied
from steersman.cluster.cel import Declaration, declare, declare_builtin
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.shapes import schema_of
from steersman.cluster.schema.table import table, type_name
from steersman.objects.kinds import Object

__all__ = ["PolicyStatus", "ServedKinds"]


_GROUP: Final = "admissionregistration.k8s.io"
_MANAGER: Final = "validatingadmissionpolicy-status"
_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class ServedKinds:
    """The kinds that are served now, as expressions see them."""

    def __init__(self, api: Api) -> None:
        self._catalog = api.catalog
        self._reader = StoreReader(api.store, api.catalog)

    def kinds(self, group: str, version: str, plural: str) -> Sequence[GVK]:
        return [
            resource.type.gvk
            for resource in self._catalog
            if (resource.type.version, resource.plural) == (version, plural)
            and (not group or resource.group == group)
        ]

    def declaration(self, kind: GVK) -> Declaration | None:
        if type_name(kind) is not None:
            return declare_builtin(schema_of(kind))
        for definition in self._reader.list("apiextensions.k8s.io", "customresourcedefinitions"):
            spec = definition["spec"]
            if (spec["group"], spec["names"]["kind"]) != (kind.group, kind.kind):
                continue
            for version in spec["versions"]:
                if version["name"] == kind.version and version["served"]:
                    return declare(_whole(version), kind.kind, resource=True)
        return None


def _whole(version: Mapping[str, Any]) -> Object:
    """A custom kind's schema with what every object has."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
    text = {"type": "string"}
    always = {"apiVersion": text, "kind": text, "metadata": _resolved(_OBJECT_META)}
    return {**schema, "properties": {**schema.get("properties", {}), **always}}


def _resolved(name: str) -> Object:
    """A built-in type with those it refers to in place. Only for types that do not contain themselves."""

    def within(node: Any) -> Any:
        if isinstance(node, list):
            return [within(child) for child in node]
        if not isinstance(node, dict):
            return node
        if isinstance(reference := node.get("$ref"), str):
            return _resolved(reference)
        return {key: within(child) for key, child in node.items()}

    resolved: Object = within(table()[name])
    return resolved


class PolicyStatus:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._kinds = ServedKinds(api)
        resource = api.catalog.find(_GROUP, "v1", "validatingadmissionpolicies")
        assert resource is not None
        self._resource: Resource = resource

    async def run(self) -> None:
        """Follow the policies until cancelled."""
        await follow_each(self._api, self._resource, _is_new, self._check)

    async def _check(self, policy: Object) -> None:
        from steersman.cluster.admission.policies.typechecking import expression_warnings

        metadata = policy["metadata"]
        warnings = expression_warnings(policy["spec"], self._kinds)
        checking = {"expressionWarnings": warnings} if warnings else {}
        status = {
            **(policy.get("status") or {}),
            "observedGeneration": metadata["generation"],
            "typeChecking": checking,
        }
        fields: Object = {
            "f:observedGeneration": {},
            "f:typeChecking": {f"f:{name}": {} for name in checking},
        }
        new = applied(
            self._api,
            self._resource,
            {**policy, "status": status},
            {"f:status": fields},
            manager=_MANAGER,
            subresource="status",
        )
        await replace_unchanged(self._api, self._resource, new)


def _is_new(policy: Mapping[str, Any]) -> bool:
    """Whether the policy says something that has not been looked at."""
    seen: int = (policy.get("status") or {}).get("observedGeneration", 0)
    generation: int = policy["metadata"].get("generation", 0)
    return generation > seen
