"""From a CustomResourceDefinition to its resources, one for each served version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from steersman.cluster.apiserver.custom.kind import CustomKind, ShapeRevision
from steersman.cluster.apiserver.custom.resource import CustomResource
from steersman.cluster.apiserver.resources.deprecation import deprecation_of
from steersman.cluster.apiserver.resources.strategies import Strategy, Subresource
from steersman.cluster.schema.resources import GVK, ResourceType, SubresourceType
from steersman.cluster.schema.structural.finalizers import finalizer_warnings
from steersman.cluster.schema.structural.selectable import compile_selectable_fields
from steersman.objects.kinds import Object

if TYPE_CHECKING:
    from steersman.cluster.admission.webhooks import WebhookClients
    from steersman.cluster.apiserver.custom.conversion import WebhookConversion

__all__ = ["custom_resources"]


#: As the server lists them for custom resources.
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SCALE = GVK("autoscaling", "v1", "Scale")


def custom_resources(
    definition: Object, since: ShapeRevision, clients: Callable[[], WebhookClients]
) -> list[CustomResource]:
    """The served versions. `clients` is asked for only where there is a webhook to call."""
    spec = definition["spec"]
    names = (definition.get("status") or {}).get("acceptedNames") or spec["names"]
    group, namespaced = spec["group"], spec["scope"] == "Namespaced"
    conversion = spec.get("conversion") or {}
    by_webhook = conversion.get("strategy") == "Webhook"
    paths = {f"{group}/{version['name']}": _replicas_path(version) for version in spec["versions"]}
    kinds = {
        version["name"]: CustomKind(
            GVK(group, version["name"], names["kind"]), version, namespaced, since, paths
        )
        for version in spec["versions"]
    }
    webhook = _webhook(clients(), group, conversion["webhook"], kinds) if by_webhook else None
    resources = []
    for version in spec["versions"]:
        if version["served"]:
            resource_type = _type(spec, names, version)
            strategy = _strategy(resource_type, version, namespaced)
            warning = deprecation_of(spec, version)
            others = {} if by_webhook else _of_other_schemas(spec, version, kinds)
            kind = kinds[version["name"]]
            resources.append(CustomResource(resource_type, kind, strategy, webhook, others, warning))
    return resources


def _of_other_schemas(spec: Object, version: Object, kinds: dict[str, CustomKind]) -> dict[str, CustomKind]:
    return {
        each["name"]: kinds[each["name"]]
        for each in spec["versions"]
        if each.get("schema") != version.get("schema")
    }


def _replicas_path(version: Object) -> str | None:
    scale: Object | None = (version.get("subresources") or {}).get("scale")
    return None if scale is None else str(scale["specReplicasPath"]).removeprefix(".")


def _webhook(
    clients: WebhookClients, group: str, webhook: Object, kinds: dict[str, CustomKind]
) -> WebhookConversion:
    # Calling webhooks is code that a start without them need not load.
    from steersman.cluster.apiserver.custom.conversion import WebhookConversion

    return WebhookConversion(clients, group, webhook, kinds)


def _type(spec: Object, names: Object, version: Object) -> ResourceType:
    gvk = GVK(spec["group"], version["name"], names["kind"])
    stored = next(each["name"] for each in spec["versions"] if each["storage"])
    asked = version.get("subresources") or {}
    parts = {}
    if "status" in asked:
        parts["status"] = SubresourceType("status", gvk, ("get", "patch", "update"))
    if "scale" in asked:
        parts["scale"] = SubresourceType("scale", _SCALE, ("get", "patch", "update"))
    return ResourceType(
        spec["group"],
        version["name"],
        names["plural"],
        names["kind"],
        spec["scope"] == "Namespaced",
        verbs=_VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=parts,
        singular=names.get("singular") or names["kind"].lower(),
        list_kind=names.get("listKind") or names["kind"] + "List",
        storage=gvk._replace(version=stored),
    )


def _strategy(resource_type: ResourceType, version: Object, namespaced: bool) -> Strategy:
    has_status = "status" in resource_type.subresources
    fields = compile_selectable_fields(version, namespaced=namespaced)
    labels = [each["jsonPath"].removeprefix(".") for each in version.get("selectableFields") or ()]
    return Strategy(
        resource_type.group,
        resource_type.plural,
        generation=_generation_of(("metadata", "status") if has_status else ("metadata",)),
        on_create=_drop_status if has_status else None,
        create_warnings=finalizer_warnings,
        update_warnings=finalizer_warnings,
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
