"""Defaults of services and of the endpoints behind them."""

from __future__ import annotations

from steersman.cluster.schema.defaults.filling import unset, zero
from steersman.objects.kinds import Object

__all__ = ["default_endpoint_slice", "default_endpoints", "default_service"]

_CLIENT_IP_SECONDS = 10800


def default_service(service: Object) -> None:
    spec: Object = service["spec"]
    zero(spec, "type", "ClusterIP")
    _default_affinity(spec)
    for port in spec.get("ports") or ():
        zero(port, "protocol", "TCP")
        zero(port, "targetPort", port.get("port", 0))
    kind = spec["type"]
    if kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs")):
        zero(spec, "externalTrafficPolicy", "Cluster")
    if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        unset(spec, "internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        unset(spec, "allocateLoadBalancerNodePorts", True)
        for ingress in service["status"]["loadBalancer"].get("ingress") or ():
            if ingress.get("ip"):
                unset(ingress, "ipMode", "VIP")


def _default_affinity(spec: Object) -> None:
    zero(spec, "sessionAffinity", "None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if config.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _CLIENT_IP_SECONDS}}


def default_endpoints(endpoints: Object) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            zero(port, "protocol", "TCP")


def default_endpoint_slice(endpoint_slice: Object) -> None:
    for port in endpoint_slice.get("ports") or ():
        unset(port, "name", "")
        unset(port, "protocol", "TCP")
