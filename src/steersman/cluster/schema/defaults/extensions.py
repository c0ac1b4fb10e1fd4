"""Defaults of what extends the API: custom resource definitions and API services."""

from __future__ import annotations

from steersman.cluster.schema.defaults.admission import default_service_port
from steersman.cluster.schema.defaults.filling import unset
from steersman.objects.kinds import Object

__all__ = ["default_api_service", "default_custom_resource_definition"]


def default_custom_resource_definition(definition: Object) -> None:
    spec: Object = definition["spec"]
    names: Object = spec["names"]
    if kind := names.get("kind"):
        names["singular"] = names.get("singular") or kind.lower()
        names["listKind"] = names.get("listKind") or kind + "List"
    unset(spec, "conversion", {"strategy": "None"})
    if webhook := spec["conversion"].get("webhook"):
        default_service_port(webhook.get("clientConfig"))
    if not definition["status"].get("storedVersions"):
        stored = [version["name"] for version in spec.get("versions") or () if version.get("storage")]
        if stored:
            definition["status"]["storedVersions"] = stored[:1]


def default_api_service(api_service: Object) -> None:
    default_service_port(api_service["spec"])
