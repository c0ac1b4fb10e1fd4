"""Defaults of the core group's remaining kinds: namespaces, nodes, secrets, quotas, limits, controllers."""

from __future__ import annotations

from base64 import b64encode
from typing import Final

from steersman.cluster.schema.defaults.filling import round_resources, unset, zero
from steersman.cluster.schema.defaults.pods import default_template
from steersman.objects.kinds import Object

__all__ = [
    "default_limit_range",
    "default_namespace",
    "default_node",
    "default_pod_template",
    "default_replication_controller",
    "default_resource_quota",
    "default_secret",
]

_LIMIT_LISTS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def default_namespace(namespace: Object) -> None:
    metadata: Object = namespace["metadata"]
    # A generated name is not known yet: the strategy adds the label once it is.
    if metadata.get("name"):
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata["name"]
    zero(namespace["status"], "phase", "Active")


def default_node(node: Object) -> None:
    spec, status = node["spec"], node["status"]
    # podCIDR is the first of podCIDRs; where they differ the single one is right.
    single, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if single and (not many or many[0] != single):
        spec["podCIDRs"] = [single]
    elif many:
        spec["podCIDR"] = many[0]
    if status.get("capacity") and status.get("allocatable") is None:
        status["allocatable"] = dict(status["capacity"])
    round_resources(status, ("capacity", "allocatable"))


def default_secret(secret: Object) -> None:
    """`stringData` is a way to write only: it goes into `data` and is never kept."""
    for key, text in (secret.pop("stringData", None) or {}).items():
        secret.setdefault("data", {})[key] = b64encode(text.encode()).decode()
    zero(secret, "type", "Opaque")


def default_limit_range(limit_range: Object) -> None:
    for item in limit_range["spec"].get("limits") or ():
        if item.get("type") == "Container":
            default = dict(item.get("max") or {}) | (item.get("default") or {})
            request = dict(item.get("min") or {}) | default | (item.get("defaultRequest") or {})
            item.update({k: v for k, v in (("default", default), ("defaultRequest", request)) if v})
        round_resources(item, _LIMIT_LISTS)


def default_resource_quota(quota: Object) -> None:
    round_resources(quota["spec"], ("hard",))
    round_resources(quota["status"], ("hard", "used"))


def default_replication_controller(controller: Object) -> None:
    spec, metadata = controller["spec"], controller["metadata"]
    template = spec.get("template")
    if template is not None and (labels := template["metadata"].get("labels")):
        zero(spec, "selector", dict(labels))
        zero(metadata, "labels", dict(labels))
    unset(spec, "replicas", 1)
    default_template(template)


def default_pod_template(pod_template: Object) -> None:
    default_template(pod_template["template"])
