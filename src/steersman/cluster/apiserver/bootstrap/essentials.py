"""Namespaces, PriorityClasses, the `kubernetes` Service and its endpoints, created at the first start."""

from __future__ import annotations

from typing import Any

from steersman.cluster.apiserver.controllers.legacy_token_tracking import TRACKING, today
from steersman.cluster.apiserver.pipeline.call import Api
from steersman.cluster.apiserver.resources.resource import Resource
from steersman.cluster.apiserver.resources.server_managed_fields import applied, owned
from steersman.cluster.apiserver.resources.storage_encoding import encode
from steersman.cluster.apiserver.resources.system_fields import new_uid, timestamp
from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.defaults import apply_defaults
from steersman.cluster.store import Conflict
from steersman.objects.kinds import Object

__all__ = ["ensure", "install_essentials"]

_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITY_CLASSES = {
    "system-cluster-critical": (
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if "
        "necessary.",
    ),
    "system-node-critical": (
        2000001000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}


async def install_essentials(api: Api, host: str, port: int) -> None:
    """Create what is missing; what is there stays, except the API service's address, which follows us."""
    for name in _NAMESPACES:
        await ensure(api, "", "namespaces", {"metadata": {"name": name}})
    for name, (value, description) in _PRIORITY_CLASSES.items():
        await ensure(
            api,
            "scheduling.k8s.io",
            "priorityclasses",
            {"metadata": {"name": name}, "value": value, "description": description},
        )
    tracking = {
        "metadata": {"name": TRACKING, "namespace": "kube-system"},
        "data": {"since": today(api.now())},
    }
    await ensure(api, "", "configmaps", tracking)
    await _ensure_ranges(api)
    labels = {"component": "apiserver", "provider": "kubernetes"}
    metadata = {"name": "kubernetes", "namespace": "default", "labels": labels}
    address = api.services.first_address
    spec: Object = {
        "type": "ClusterIP",
        "clusterIP": address,
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
    }
    service = {"metadata": metadata, "spec": spec}
    allocated = {"clusterIPs": [address], "ipFamilies": [api.services.family]}
    await ensure(api, "", "services", service, follow="spec", allocated=allocated)
    api.services.load([service | {"spec": spec | allocated}])
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    subsets = [{"addresses": [{"ip": host}], "ports": ports}]
    unmirrored = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    endpoints = {
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": unmirrored},
        "subsets": subsets,
    }
    await ensure(api, "", "endpoints", endpoints, follow="subsets")
    slice_metadata = {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"kubernetes.io/service-name": "kubernetes"},
    }
    family = "IPv6" if ":" in host else "IPv4"
    endpoint_slice = {
        "metadata": slice_metadata,
        "addressType": family,
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
        "ports": ports,
    }
    await ensure(api, "discovery.k8s.io", "endpointslices", endpoint_slice, follow="ports")


async def _ensure_ranges(api: Api) -> None:
    """The range of service addresses, which is ready from the start."""
    resource = api.catalog.stored("networking.k8s.io", "servicecidrs")
    assert resource is not None
    given = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": [str(api.services.network)]}}
    key = resource.key("", "kubernetes")
    if api.store.get(key) is not None:
        return
    condition = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": timestamp(api.now()),
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    ranges = _complete(api, resource, given) | {"status": {"conditions": [condition]}}
    names = (".", "f:type", "f:status", "f:lastTransitionTime", "f:message")
    fields: Object = {"f:status": {"f:conditions": {'k:{"type":"Ready"}': {name: {} for name in names}}}}
    manager = "kubernetes-service-cidr-controller"
    ranges = applied(api, resource, ranges, fields, manager=manager, subresource="status")
    try:
        await api.store.put(key, encode(ranges), expected=0)
    except Conflict:
        return


async def ensure(
    api: Api, group: str, plural: str, given: Object, follow: str = "", allocated: Object | None = None
) -> None:
    """Make an object exist. Of one that is there, the field `follow` is set to what is given.
    `allocated` is what of its spec was chosen, not given, and therefore has no owner."""
    resource = api.catalog.stored(group, plural)
    assert resource is not None
    key = resource.key(given["metadata"].get("namespace", ""), given["metadata"]["name"])
    record = api.store.get(key)
    obj = _complete(api, resource, given)
    if allocated is not None:
        obj["spec"] |= allocated
    if record is not None:
        existing = resource.read(record.value)
        if not follow or existing.get(follow) == obj.get(follow):
            return
        obj = owned(api, resource, existing, {**existing, follow: obj[follow]})
    try:
        await api.store.put(key, encode(obj), expected=record.revision if record is not None else 0)
    except Conflict:
        # Another write came first, and stands.
        return


def _complete(api: Api, resource: Resource, given: dict[str, Any]) -> Object:
    obj = decode(resource.type.gvk, given).obj
    apply_defaults(*resource.type.gvk, obj)
    obj = owned(api, resource, None, obj)
    resource.strategy.prepare_create(obj)
    metadata = obj["metadata"]
    metadata["uid"] = new_uid()
    metadata["creationTimestamp"] = timestamp(api.now())
    return obj
