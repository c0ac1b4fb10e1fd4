"""Strategies of networking.k8s.io and of EndpointSlices."""

from __future__ import annotations

from typing import Final

from steersman.cluster.apiserver.resources.strategies.services import load_balancer_warnings
from steersman.cluster.apiserver.resources.strategies.strategy import (
    Strategy,
    next_generation,
    spec_of,
    status_endpoint,
)
from steersman.objects.addresses import cidr_warnings, ip_warnings
from steersman.objects.fields import Path, quote
from steersman.objects.kinds import Object

__all__ = ["NETWORKING"]

_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_ENDPOINT_CONTROLLERS: Final = (
    "endpointslice-controller.k8s.io",
    "endpointslicemirroring-controller.k8s.io",
)


def _ingress_warnings(ingress: Object) -> list[str]:
    annotated = _INGRESS_CLASS in (ingress["metadata"].get("annotations") or ())
    if not annotated or ingress["spec"].get("ingressClassName") is not None:
        return []
    return [f"annotation {quote(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"]


def _network_policy_warnings(policy: Object) -> list[str]:
    warnings: list[str] = []
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(policy["spec"].get(direction) or ()):
            for position, peer in enumerate(rule.get(side) or ()):
                if block := peer.get("ipBlock"):
                    place = (
                        Path("spec")
                        .child(direction)
                        .index(index)
                        .child(side)
                        .index(position)
                        .child("ipBlock")
                    )
                    warnings += cidr_warnings(place.child("cidr"), block.get("cidr", ""))
                    for number, cidr in enumerate(block.get("except") or ()):
                        warnings += cidr_warnings(place.child("except").index(number), cidr)
    return warnings


def _endpoint_slice_generation(endpoint_slice: Object) -> object:
    content = {key: value for key, value in endpoint_slice.items() if key != "metadata"}
    return content, endpoint_slice["metadata"].get("labels") or {}


def _endpoint_slice_addresses(endpoint_slice: Object) -> list[str]:
    labels = endpoint_slice["metadata"].get("labels") or {}
    if labels.get("endpointslice.kubernetes.io/managed-by") in _ENDPOINT_CONTROLLERS:
        return []
    return [
        warning
        for index, endpoint in enumerate(endpoint_slice.get("endpoints") or ())
        for position, address in enumerate(endpoint.get("addresses") or ())
        for warning in ip_warnings(Path("endpoints").index(index).child("addresses").index(position), address)
    ]


def _endpoint_slice_warnings(endpoint_slice: Object) -> list[str]:
    fqdn = endpoint_slice.get("addressType") == "FQDN"
    deprecated = ["spec.addressType: FQDN endpoints are deprecated"] if fqdn else []
    return deprecated + _endpoint_slice_addresses(endpoint_slice)


def _drop_topology(new: Object, old: Object | None = None) -> None:
    """v1 says where an endpoint is with nodeName and zone; labels of the older kind are dropped."""
    if old is not None and old.get("endpoints") == new.get("endpoints"):
        return
    dropped = [
        endpoint.pop("deprecatedTopology", None) is not None for endpoint in new.get("endpoints") or ()
    ]
    if old is not None and any(dropped):
        # Counted as a change, since it is dropped only when changes are counted already.
        next_generation(new, old)


NETWORKING: Final = (
    Strategy(
        "networking.k8s.io",
        "ingresses",
        zero_status={"loadBalancer": {}},
        generation=spec_of,
        create_warnings=_ingress_warnings,
        reset_fields=("status",),
        subresources={"status": status_endpoint(warnings=load_balancer_warnings)},
    ),
    Strategy("networking.k8s.io", "ingressclasses", generation=spec_of),
    Strategy("networking.k8s.io", "ipaddresses"),
    Strategy(
        "networking.k8s.io",
        "networkpolicies",
        generation=spec_of,
        counts_empty=True,
        create_warnings=_network_policy_warnings,
        update_warnings=lambda new, old: _network_policy_warnings(new),
    ),
    Strategy(
        "networking.k8s.io",
        "servicecidrs",
        zero_status={},
        reset_fields=("status",),
        subresources={"status": status_endpoint("metadata")},
    ),
    Strategy(
        "discovery.k8s.io",
        "endpointslices",
        generation=_endpoint_slice_generation,
        on_create=_drop_topology,
        on_update=_drop_topology,
        create_warnings=_endpoint_slice_warnings,
        update_warnings=lambda new, old: _endpoint_slice_addresses(new),
    ),
)
