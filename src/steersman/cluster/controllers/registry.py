"""The built-in controllers by name, and the module of each, which is imported when the controller is
added.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.cluster.controllers.setup import Setup

__all__ = ["CLOUD", "CONTROLLERS", "IN_SERVER", "SCHEDULER", "add_controllers", "chosen"]

#: Name → module below this package that has `add(setup)`.
CONTROLLERS: dict[str, str] = {
    "attachdetach": "volumes.attach_detach",
    "certificatesigningrequest-approving": "certificate_approver",
    "certificatesigningrequest-cleaner": "certificate_cleaner",
    "cronjob": "cronjob.controller",
    "daemonset": "daemonset.controller",
    "deployment": "deployment.controller",
    "disruption": "disruption.controller",
    "endpoints": "endpoints.endpoints",
    "endpointslice": "endpoints.endpointslice",
    "endpointslicemirroring": "endpoints.mirroring",
    "ephemeral-volume": "volumes.ephemeral",
    "garbagecollector": "garbagecollector.controller",
    "horizontal-pod-autoscaling": "autoscaling.controller",
    "job": "job.controller",
    "legacy-serviceaccount-token-cleaner": "legacy_tokens",
    "local-path-provisioner": "volumes.local_path",
    "namespace": "namespace.controller",
    "nodeipam": "nodeipam.controller",
    "nodelifecycle": "nodelifecycle.controller",
    "persistentvolume-binder": "volumes.binder",
    "persistentvolume-expander": "volumes.expander",
    "podcertificaterequest-cleaner": "pod_certificate_cleaner",
    "podgc": "podgc",
    "pv-protection": "pv_protection",
    "pvc-protection": "pvc_protection",
    "replicaset": "replicaset",
    "replicationcontroller": "replicationcontroller",
    "root-ca-certificate-publisher": "root_certificate",
    "serviceaccount": "serviceaccount",
    "serviceaccount-token": "serviceaccount_token",
    "statefulset": "statefulset.controller",
    "taint-eviction": "taint_eviction",
    "ttl": "node_ttl",
    "ttl-after-finished": "ttl_after_finished",
    "volumeattributesclass-protection": "attributes_class_protection",
}


#: Controllers that are part of the API server.
IN_SERVER = (
    "certificatesigningrequest-signing",
    "clusterrole-aggregation",
    "resourcequota",
    "validatingadmissionpolicy-status",
)
#: Chosen by name like a controller.
SCHEDULER = "scheduler"
#: Controllers that speak to the provider of machines and load balancers (`cluster.cloud`).
CLOUD = ("cloud-node", "cloud-node-lifecycle", "node-route", "service-lb")


def chosen(asked: Collection[str]) -> frozenset[str]:
    """The controllers meant by names, `all`, `none` and `-name`. Raises ValueError for an unknown name."""
    names = {*CONTROLLERS, *IN_SERVER, *CLOUD, SCHEDULER}
    without = {name[1:] for name in asked if name.startswith("-")}
    wanted = {name for name in asked if not name.startswith("-")} - {"none"}
    if unknown := (without | wanted) - names - {"all"}:
        raise ValueError(f"there is no controller {', '.join(sorted(unknown))}")
    if "all" in wanted or (without and not wanted):
        wanted = names
    return frozenset(wanted - without)


def add_controllers(setup: Setup, names: Collection[str]) -> None:
    """Make the named controllers; those that share a module are made once."""
    modules = [module for name, module in CONTROLLERS.items() if name in names]
    for module in dict.fromkeys(modules):
        import_module(f"steersman.cluster.controllers.{module}").add(setup)
