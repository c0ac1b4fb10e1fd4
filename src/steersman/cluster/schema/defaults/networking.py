"""Defaults of network policies and ingress classes."""

from __future__ import annotations

from steersman.cluster.schema.defaults.filling import unset
from steersman.objects.kinds import Object

__all__ = ["default_ingress_class", "default_network_policy"]


def default_network_policy(policy: Object) -> None:
    spec: Object = policy["spec"]
    if not spec.get("policyTypes"):
        # A policy always speaks about ingress; about egress only if it says something of it.
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for direction in ("ingress", "egress"):
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                unset(port, "protocol", "TCP")


def default_ingress_class(ingress_class: Object) -> None:
    if (parameters := ingress_class["spec"].get("parameters")) is not None:
        unset(parameters, "scope", "Cluster")
